"""Copying with asyncio: the same, awaited."""

from __future__ import annotations

import asyncio

from webtable import Page, aio


def test_a_table_is_copied_into_another_one_for_asyncio(tmp_path):
    async def copied():
        async with aio.open(tmp_path / "s.db", create=True) as source:
            await source.put(Page(url="https://copy.example/", body=b"x"))
            async with aio.copy_target(source, tmp_path / "t.db", names="short") as target:
                done = await source.maintenance.copy(target)
                return done, await source.maintenance.check_copy(target, full=True), target.layout.names

    done, check, names = asyncio.run(copied())

    assert (done.pages, check.is_sound, names) == (1, True, "short")
