import pytest
from batch_path import batches, traced

import webtable


@pytest.mark.parametrize("kind", [0, 1], ids=["new", "repeated"])
def test_a_batch_passes_few_functions_in_three_modules(tmp_path, kind):
    webtable.create(tmp_path / "pages.db")
    with webtable.open(tmp_path / "pages.db") as table:
        traces = [traced(table, pages) for pages in batches()]

    steps = [function for _, function in traces[kind].functions if function.startswith("BatchWriter.")]
    assert len(traces[kind].functions) <= 15
    assert len(traces[kind].modules) == 3
    assert traces[kind].returns <= 4
    assert [step for step in steps if step in ("BatchWriter.prepare", "BatchWriter.store")] == [
        "BatchWriter.prepare",
        "BatchWriter.store",
    ]
