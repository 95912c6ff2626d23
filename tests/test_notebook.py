"""Surefoot in a real Jupyter kernel: what each cell shows."""

import base64
from typing import Any

import pytest

nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")
nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
pytest.importorskip("ipykernel", reason="ipykernel is not installed")

CELLS = {
    "scores": """
from surefoot import evaluate, gate, Scores
from surefoot.plots import profile
scores = Scores([[0.2, 0.4, 0.4, 0.1], [0.3, 0.1, 0.5, 0.2]], ["old", "new"], ["q1", "q2", "q3", "q4"], "nDCG@10")
scores""",
    "evaluation": "result = evaluate(scores, 'old', [0, 5]); result",
    "printed": "print(result)",
    "gate": "gate(scores, 'old', candidate='new')",
    "plot": "profile(scores)",
    "nearest": "result['ursik']",
}


@pytest.fixture(scope="module")
def outputs() -> dict[str, Any]:
    """The one output of each cell."""
    cells = [nbformat.v4.new_code_cell(code.strip()) for code in CELLS.values()]
    notebook = nbformat.v4.new_notebook(cells=cells)
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("COLUMNS", raising=False)  # tables would be folded to it
        nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3", allow_errors=True).execute()
    return {name: cell.outputs[0] for name, cell in zip(CELLS, notebook.cells, strict=True)}


def test_a_bare_value_is_a_short_line_and_a_table(outputs: dict[str, Any]) -> None:
    for name, expected in {
        "scores": "Scores(2 systems × 4 topics of nDCG@10)",
        "evaluation": "Evaluation(4 rows × 16 columns of evaluate: "
        "system, baseline, alpha, mean, urisk, frisk and 10 more)",
    }.items():
        data = outputs[name].data
        assert data["text/plain"] == expected
        assert "<table>" in data["text/html"]
    assert "<b>0.2750</b>" in outputs["evaluation"].data["text/html"]
    assert "note" not in outputs["evaluation"].data["text/plain"]
    assert "GeoRisk at alpha &gt; 2" in outputs["evaluation"].data["text/html"]
    assert "evaluate|measure=nDCG@10" in outputs["evaluation"].data["text/html"]


def test_print_keeps_its_table(outputs: dict[str, Any]) -> None:
    lines = outputs["printed"].text.splitlines()
    assert lines[0].split()[:5] == ["system", "alpha", "mean", "urisk", "trisk"]
    assert lines[1].split()[:4] == ["old", "0", "0.2750", "0.0000"]


def test_a_gate_shows_its_rules(outputs: dict[str, Any]) -> None:
    assert "large-losses" in outputs["gate"].data["text/html"]
    assert "new against old, nDCG@10" in outputs["gate"].data["text/html"]


def test_a_plot_shows(outputs: dict[str, Any]) -> None:
    assert base64.b64decode(outputs["plot"].data["image/png"]).startswith(b"\x89PNG")
    assert outputs["plot"].metadata["image/png"]["width"] > 400


def test_an_unknown_column_names_the_nearest(outputs: dict[str, Any]) -> None:
    assert outputs["nearest"].evalue.startswith("no column 'ursik' (did you mean urisk?)")


TEN_LINES = """
import pandas
from surefoot import evaluate, gate, score_runs
from surefoot.plots import profile
from IPython.display import display
rows = [(f"q{q}", f"d{(d * 7 + q) % 10}", 10 - d) for q in range(60) for d in range(10)]
old = pandas.DataFrame(rows, columns=["qid", "docno", "score"])
new = old.assign(score=old["score"] + 4 * (old["docno"] == "d3"))
qrels = pandas.DataFrame([(f"q{q}", "d3", 1 + q % 2) for q in range(60)], columns=["qid", "docno", "label"])
scores = score_runs({"old": old, "new": new}, qrels, "nDCG@10")
result = evaluate(scores, "old", alpha=5)
display(result, profile(scores), gate(scores, "old", candidate="new"))
print(result.to_latex(["system", "mean", "urisk"], caption="Risk."))
"""


def test_frames_to_a_table_a_plot_a_verdict_and_latex_in_ten_lines() -> None:
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(TEN_LINES.strip())])
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    shown = [output.data for output in notebook.cells[0].outputs if output.output_type == "display_data"]
    assert "<b>" in shown[0]["text/html"]
    assert base64.b64decode(shown[1]["image/png"]).startswith(b"\x89PNG")
    assert "GateResult" in shown[2]["text/plain"]
    printed = "".join(one.text for one in notebook.cells[0].outputs if one.get("name") == "stdout")
    assert r"\caption{Risk.}" in printed
    assert r"$U_{\mathrm{Risk}}$" in printed
