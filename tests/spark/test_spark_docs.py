"""What the docs and the notebook show of Spark runs."""

from __future__ import annotations

import os
import re
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import webtable
from webtable import ALL, Page

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs"))
from make_notebooks import executed  # noqa: E402

pytestmark = [
    pytest.mark.spark,
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.timeout(900),
]
NOTEBOOK = ROOT / "examples" / "spark" / "crawl_in_spark.ipynb"


def test_the_snippets_of_the_docs_run_in_a_session(spark, tmp_path, capfd):
    webtable.create(tmp_path / "copy.db", indexes=["time"])
    with webtable.open(tmp_path / "crawl.db", create=True) as table:
        before = datetime.now(UTC) - timedelta(hours=1)
        page = Page(
            url="https://example.com/docs/a", status=404, language="eo", fetched_at=before, body=b"<a href=/b>b</a>"
        )
        table.put(page)
    namespace = {}

    for code in re.findall(r"```py\n(.*?)```", (ROOT / "docs" / "spark.md").read_text(), re.DOTALL):
        exec(code.replace("/data", str(tmp_path)), namespace)
    spark.conf.unset("spark.sql.python.filterPushdown.enabled")

    shown = capfd.readouterr().out
    assert "|      eo|    1|" in shown
    assert "|example.com|    1|" in shown
    assert "PushedFilters: [EqualTo(status,404)]" in shown
    with webtable.open(tmp_path / "copy.db") as copy:
        assert [page.url for page in copy.pages(ALL)] == ["https://example.com/docs/a", "https://example.com/new"]


def test_the_notebook_runs_on_the_sample_web_from_a_clean_kernel(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT / "src"), *filter(None, sys.path)]))
    monkeypatch.setenv("JUPYTER_PATH", str(Path(sys.prefix) / "share" / "jupyter"))
    monkeypatch.setenv("JUPYTER_PLATFORM_DIRS", "1")

    notebook = executed(NOTEBOOK, tmp_path)

    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    tables = [output["data"]["text/html"] for output in outputs if "text/html" in output.get("data", {})]
    assert len(tables) == 4
    assert all(table.count("<tr>") > 2 for table in tables)


def test_the_notebook_is_kept_without_outputs():
    import nbformat

    cells = nbformat.read(NOTEBOOK, as_version=4).cells

    assert all(not cell.get("outputs") and cell.get("execution_count") is None for cell in cells)
