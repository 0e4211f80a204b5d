"""Run the notebooks of `examples/notebooks`, each in a clean kernel, and write them as pages with what they show.

    python docs/make_notebooks.py [FOLDER]

Each begins in an empty folder of its own, so it asks the sample web. FOLDER is `build/notebooks` by default.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbconvert import HTMLExporter

NOTEBOOKS = Path(__file__).parent.parent / "examples" / "notebooks"


def executed(path: Path, folder: Path, **parameters: object) -> nbformat.NotebookNode:
    """Return the notebook at *path* with its outputs, run in *folder* by a kernel of its own.

    *parameters* take the place of what its cell "parameters" says.
    """
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        if parameters and "parameters" in cell.metadata.get("tags", ()):
            cell.source = "\n".join(f"{name} = {value!r}" for name, value in parameters.items())
    client = NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(folder)}})
    kernel = client.create_kernel_manager()
    with tempfile.TemporaryDirectory() as sockets:
        # By files in place of ports, which anybody on the machine could reach; their names may not be long.
        kernel.transport, kernel.ip = "ipc", f"{sockets}/kernel"
        # As in a notebook that is open, whose own folder has the modules that it imports.
        folders = [str(NOTEBOOKS), *filter(None, [os.environ.get("PYTHONPATH")])]
        client.execute(env={**os.environ, "PYTHONPATH": os.pathsep.join(folders)})
    return notebook


def main() -> None:
    """Write each notebook with its outputs as a page, and say where."""
    out = Path(sys.argv[1] if len(sys.argv) > 1 else "build/notebooks")
    out.mkdir(parents=True, exist_ok=True)
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        with tempfile.TemporaryDirectory() as folder:
            page, _ = HTMLExporter().from_notebook_node(executed(path, Path(folder)))
        (out / path.with_suffix(".html").name).write_text(page, encoding="utf-8")
        print(f"written: {out / path.with_suffix('.html').name}")


if __name__ == "__main__":
    main()
