"""A data source whose first task kills its process in the middle."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Any

from webtable.integrations._spark import WebTableSource
from webtable.integrations._spark.options import SparkQuestion
from webtable.integrations._spark.reading import AnswerReader
from webtable.integrations._spark.writing import PageWriter, RowStore


def die_once(flag: str) -> None:
    """Kill this process, if *flag* is no file yet; it is one then."""
    try:
        Path(flag).touch(exist_ok=False)
    except FileExistsError:
        return
    os.kill(os.getpid(), signal.SIGKILL)


class DyingReader(AnswerReader):
    """Dies after the first batch of the first task."""

    flag = ""

    def read(self, partition: Any) -> Iterator[Any]:
        batches = super().read(partition)
        yield from islice(batches, 1)
        die_once(self.flag)
        yield from batches


class DyingWriter(PageWriter):
    """Dies when a part of the rows of the first task is stored."""

    flag = ""

    def write(self, iterator: Any) -> Any:
        some = list(islice(iterator, 2))
        super().write(iter(some))
        die_once(self.flag)
        return super().write(chain(some, iterator))


class DyingSource(WebTableSource):
    """`format("dying")`, with the file `flag` that says whether it has died."""

    @classmethod
    def name(cls) -> str:
        return "dying"

    def schema(self) -> Any:
        without = {name: value for name, value in self.options.items() if name != "flag"}
        return WebTableSource(without).schema()

    def reader(self, schema: Any) -> DyingReader:
        reader = DyingReader(SparkQuestion.of(self.options, also=["flag"]), schema.names)
        reader.flag = self.options["flag"]
        return reader

    def writer(self, schema: Any, overwrite: bool) -> DyingWriter:
        without = {name: value for name, value in self.options.items() if name != "flag"}
        writer = DyingWriter(RowStore.of(without, schema, overwrite=overwrite))
        writer.flag = self.options["flag"]
        return writer
