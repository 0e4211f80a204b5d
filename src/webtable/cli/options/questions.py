"""The options that choose pages, for commands that are no listings: in the words of those that listings have."""

from __future__ import annotations

from typing import Annotated

import typer

from webtable.errors import InvalidArgument
from webtable.repository.questions.listing import DOMAIN, FULL_SCAN, HOST_ONLY, PATH

DomainArgument = Annotated[str | None, typer.Argument(help=DOMAIN.help, show_default=False)]
FullScanOption = Annotated[bool, typer.Option("--full-scan", help=FULL_SCAN.help)]
HostOnlyOption = Annotated[bool, typer.Option("--host-only", help=HOST_ONLY.help)]
PathOption = Annotated[str | None, typer.Option("--path", help=PATH.help, show_default=False)]


def check_scan(domain: str | None, full_scan: bool) -> None:
    """Raise `InvalidArgument` where the whole table would be read unasked."""
    if domain is None and not full_scan:
        raise InvalidArgument("without a domain the whole table is read: name a domain, or give --full-scan")
