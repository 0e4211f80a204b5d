"""A build hook of hatchling: puts the text of the docs into the wheel, for `webtable help`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class IncludeDocs(BuildHookInterface):  # type: ignore[type-arg]
    """Includes the guides and the reference, without pictures; an editable installation reads them where they are."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the files to those of the wheel."""
        if version == "editable":
            return
        docs = Path(self.root, "docs")
        for path in (*docs.glob("*.md"), *docs.glob("api/*.md")):
            build_data["force_include"][str(path)] = f"webtable/_docs/{path.relative_to(docs)}"
