"""Figures of a trade-off: what is drawn is what the library computes."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
import surefoot_lab
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from surefoot_lab.cli import figures
from surefoot_lab.tradeoff.churn import churn_counts, reward_by_churn
from surefoot_lab.tradeoff.files import write_choice, write_sweep
from surefoot_lab.tradeoff.recommendation import pareto_front
from surefoot_lab.tradeoff.search import Choice
from surefoot_lab.tradeoff.store import history_csv
from surefoot_lab.tradeoff.sweep import Sweep
from surefoot_lab.tradeoff.tables import best_fractions

import surefoot
from surefoot.analysis.explore import change_counts
from surefoot.cli import main
from surefoot.cli.figure import FIGURES
from surefoot.errors import SurefootError
from surefoot.scores import Scores

ALPHAS = [0.0, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0]


def sweep_of(objective: str = "ucro", baseline: str = "$b_1$", churn: bool = True, seed: int = 3) -> Sweep:
    random = np.random.default_rng(seed)
    topics = [f"q{topic}" for topic in range(60)]
    names = [f"alpha={alpha:g}" for alpha in ALPHAS]
    base = random.beta(2, 4, 60)
    steps = [random.normal(0.05, 0.15, 60) / (1 + place / 2) for place in range(len(ALPHAS))]
    rows = np.clip(np.stack([base, *(base + step for step in steps)]), 0, 1)
    rows[1, :4] = rows[0, :4]
    history = [[{"mean": 0.4 + 0.1 * (1 - np.exp(-(i + place) / 5)), "frisk": 0.01 * i, "freward": 0.02 * i}
                for i in range(30)]
               for place in range(len(ALPHAS))]  # fmt: skip
    far = Scores(random.beta(2, 5, (len(ALPHAS), 60)), names, topics, "value")
    feature = Scores([random.normal(size=60)], ["max:3"], topics, "value")
    scores = Scores(rows, [baseline, *names], topics, "ndcg@10")
    return Sweep(objective, np.array(ALPHAS), (30,) * 7, scores, scores, tuple(history), True, far if churn else None,
                 feature)  # fmt: skip


def choice_of() -> Choice:
    random = np.random.default_rng(4)
    mean, risk = random.uniform(0.4, 0.5, 20), random.uniform(0.01, 0.05, 20)
    columns = {"alpha": random.choice(ALPHAS, 20), "mean": mean, "frisk": risk}
    columns |= {"mean_low": mean - 0.02, "mean_high": mean + 0.02, "frisk_low": risk / 2, "frisk_high": 2 * risk}
    front = pareto_front(mean, risk)
    columns |= {"front": front, "recommended": np.arange(20) == np.flatnonzero(front)[0]}
    return Choice("search", columns, (), ("said",), "ndcg@10", "$b_1$")


SWEEP, CHOICE = sweep_of(), choice_of()
DRAW: dict[str, Callable[..., Axes]] = {
    "tradeoff": lambda **k: surefoot_lab.tradeoff_curves(SWEEP, n_resamples=100, **k),
    "convergence": lambda **k: surefoot_lab.convergence_curves(SWEEP, **k),
    "churn": lambda **k: surefoot_lab.churn_map(SWEEP, **k),
    "changes": lambda **k: surefoot_lab.change_map(SWEEP, **k),
    "reward-by-churn": lambda **k: surefoot_lab.reward_bars(SWEEP, **k),
    "best-alpha": lambda **k: surefoot_lab.best_alpha_bars(SWEEP, **k),
    "front": lambda **k: surefoot_lab.search_front(CHOICE, **k),
}


def lines(axes: Axes) -> dict[str, np.ndarray]:
    return {str(line.get_label()): np.column_stack(line.get_data()) for line in axes.lines}


def texts(axes: Axes) -> list[str]:
    return [text.get_text() for text in axes.texts]


def test_every_kind_is_tested() -> None:
    assert {*DRAW, *figures.AGREEMENT, "paper"} == {*figures.FIGURES}
    assert not set(figures.FIGURES) & set(FIGURES)


@pytest.mark.parametrize("kind", DRAW)
def test_bytes_are_the_same_each_time(kind: str, tmp_path: Path) -> None:
    for name in ("1.svg", "2.svg"):
        surefoot.plots.save_plot(DRAW[kind](), tmp_path / name)
    first = (tmp_path / "1.svg").read_bytes()
    assert first == (tmp_path / "2.svg").read_bytes()
    ElementTree.fromstring(first)


@pytest.mark.parametrize("kind", DRAW)
def test_given_axes_are_used(kind: str) -> None:
    left, right = Figure(figsize=(7, 3)).subplots(1, 2)
    assert DRAW[kind](axes=right) is right
    assert right.has_data()
    assert not left.has_data()


@pytest.mark.parametrize("kind", DRAW)
def test_nothing_reaches_beyond_the_page(kind: str) -> None:
    axes = DRAW[kind]()
    with surefoot.plots.paper_style():
        figure = axes.get_figure(root=True)
        figure.draw_without_rendering()
        box, page = axes.get_tightbbox(), figure.bbox.padded(1)
    assert page.containsx(box.x0)
    assert page.containsx(box.x1)
    assert page.containsy(box.y0)
    assert page.containsy(box.y1)


def test_the_plane_holds_the_curve_and_its_lines() -> None:
    drawn = lines(surefoot_lab.tradeoff_curves([SWEEP, sweep_of("saro")], alpha=[0.5, 3]))
    curve, hull = SWEEP.curve, SWEEP.hull
    np.testing.assert_array_equal(drawn["ucro, by α"], np.column_stack([curve.risk, curve.gain]))
    np.testing.assert_array_equal(drawn["near-optimal hull"], np.column_stack([hull.risk, hull.gain]))
    np.testing.assert_array_equal(drawn["coin flip from α = 0"], [[0, 0], [curve.risk[0], curve.gain[0]]])
    np.testing.assert_allclose(drawn["selective: max:3"][-1], [curve.risk[0], curve.gain[0]])
    assert drawn["break-even at α = 3"][1, 1] == pytest.approx(3 * drawn["break-even at α = 3"][1, 0])
    assert "saro, by α" in drawn


def test_planes_of_different_baselines_are_refused() -> None:
    with pytest.raises(SurefootError, match="same baseline"):
        surefoot_lab.tradeoff_curves([SWEEP, sweep_of(baseline="other")])
    with pytest.raises(SurefootError, match="at least one"):
        surefoot_lab.tradeoff_curves([])


def test_convergence_is_the_history() -> None:
    drawn = lines(surefoot_lab.convergence_curves(SWEEP, of="frisk", alpha=[0, 5]))
    assert list(drawn) == ["α = 0", "α = 5"]
    np.testing.assert_array_equal(drawn["α = 5"][:, 1], [figures["frisk"] for figures in SWEEP.histories[4]])
    chosen = surefoot_lab.convergence_curves(SWEEP, alpha=SWEEP.alphas[:2].tolist())
    marked = [line.get_xdata()[0] for line in chosen.lines if line.get_marker() == "o" and len(line.get_xdata())]
    assert marked == list(SWEEP.converged())[:2]
    with pytest.raises(SurefootError, match="of must be one of mean, frisk, freward"):
        surefoot_lab.convergence_curves(SWEEP, of="nonsense")


def test_pooled_histories_are_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fold that stopped early counts by its last iteration, up to the end of the longest."""
    from surefoot_lab.experiments import tradeoffs

    monkeypatch.setattr(tradeoffs, "_joined", lambda parts: parts[0] if parts else None)
    models, means = len(SWEEP.models), [0.2, 0.4, 0.6]
    curves = ([{"mean": mean} for mean in means[:length]] for length in (1, 3))
    short, long = (replace(SWEEP, histories=(curve,) * models, to95=(1.0,) * models) for curve in curves)
    for history in tradeoffs.pool([short, long]).histories:
        assert [point["mean"] for point in history] == pytest.approx([(0.2 + mean) / 2 for mean in means])


def test_maps_hold_the_counts() -> None:
    churn = [churn_counts(row) for row in SWEEP.churn.values]
    assert texts(surefoot_lab.churn_map(SWEEP)) == [str(count) for count in np.ravel(churn)]
    coarse = [churn_counts(row, 4) for row in SWEEP.churn.values]
    assert texts(surefoot_lab.churn_map(SWEEP, bins=4)) == [str(count) for count in np.ravel(coarse)]
    with pytest.raises(SurefootError, match="bins"):
        surefoot_lab.churn_map(SWEEP, bins=0)
    changes = np.stack([change_counts(row, SWEEP.test.values[0]) for row in SWEEP.test.values[1:]])
    shown = texts(surefoot_lab.change_map(SWEEP))
    assert shown[: changes.size] == [str(count) for count in np.ravel(changes)]
    assert shown[changes.size] == f"{changes[0, :4].sum()} hurt, {changes[0, 5:].sum()} helped"


def test_reward_bars_are_the_means_of_the_bins() -> None:
    axes = surefoot_lab.reward_bars(SWEEP, alpha=[2.0])
    found = reward_by_churn(SWEEP.churn["alpha=2"], SWEEP.test["alpha=2"], SWEEP.test.values[0])
    heights = [[bar.get_height() for bar in bars] for bars in axes.containers]
    np.testing.assert_allclose(heights, [np.nan_to_num(found.reward), -np.nan_to_num(found.risk)])
    assert len(surefoot_lab.reward_bars(SWEEP).containers) == 6
    assert len(surefoot_lab.reward_bars(SWEEP, alpha=[2.0], bins=5).containers[0]) == 5
    with pytest.raises(SurefootError, match="got 3"):
        surefoot_lab.reward_bars(SWEEP, alpha=[3.0])


def test_best_alpha_bars_add_up() -> None:
    alone, tied = surefoot_lab.best_alpha_bars(SWEEP).containers
    totals = [one.get_height() + other.get_height() for one, other in zip(alone, tied, strict=True)]
    np.testing.assert_allclose(totals, 100 * best_fractions(SWEEP.test.values[1:]))
    assert sum(totals) == pytest.approx(100)


def test_the_front_rises_with_risk() -> None:
    drawn = lines(surefoot_lab.search_front(CHOICE))
    assert (np.diff(drawn["front"], axis=0) > 0).all()
    assert len(drawn["front"]) == CHOICE["front"].sum()
    np.testing.assert_array_equal(
        drawn["recommended"][0], [CHOICE["frisk"][CHOICE.chosen], CHOICE["mean"][CHOICE.chosen]]
    )


def test_churn_needs_a_ranking() -> None:
    for draw in (surefoot_lab.churn_map, surefoot_lab.reward_bars):
        with pytest.raises(SurefootError, match="one baseline that ranks documents"):
            draw(sweep_of(churn=False))


@pytest.mark.parametrize("kind", DRAW)
def test_each_kind_is_drawn_from_its_folder(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "kept"
    write_sweep(SWEEP, folder)
    write_choice(CHOICE, folder)
    for alpha, history in zip(ALPHAS, SWEEP.histories, strict=True):
        (folder / f"alpha-{alpha:g}").mkdir()
        (folder / f"alpha-{alpha:g}" / "history.csv").write_text(history_csv(history))
    words = {"tradeoff": [str(folder), "--alpha", "0,2", "--n-resamples", "50"], "convergence": ["--of", "frisk"],
             "reward-by-churn": ["--alpha", "0,5"]}.get(kind, [])  # fmt: skip
    assert main(["figure", kind, str(folder), *words, "-o", str(tmp_path / "f.svg")]) == 0
    assert (tmp_path / "f.svg").read_bytes().startswith(b"<?xml")
    assert capsys.readouterr() == ("", "")
    assert main(["figure", kind, str(tmp_path), "-o", str(tmp_path / "g.svg")]) == 2
    assert "make one with surefoot tradeoff" in capsys.readouterr().err
