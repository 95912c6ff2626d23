"""The example notebooks run from the first cell to the last, and are kept with their output."""

import re
import shutil
from pathlib import Path

import pytest

nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
import nbformat  # noqa: E402

from surefoot import __version__  # noqa: E402

NOTEBOOKS = sorted((Path(__file__).parents[2] / "examples").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
@pytest.mark.filterwarnings("default")
def test_a_notebook_runs(path: Path, demo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MPLBACKEND", raising=False)
    shutil.copytree(demo, tmp_path / "demo")
    notebook = nbformat.read(path, as_version=4)
    assert all(cell.outputs for cell in notebook.cells if cell.cell_type == "code" and "import" not in cell.source)
    kept = re.findall(r"surefoot=([\w.]+)", path.read_text(encoding="utf-8"))
    assert set(kept) == {__version__}, "run the notebook again and keep its output"
    nbclient.NotebookClient(notebook, timeout=600, resources={"metadata": {"path": tmp_path}}).execute()
