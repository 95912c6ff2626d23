"""Every kind draws the library's numbers, on any names, on given Axes, the same bytes each time."""

import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
import surefoot_lab
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from surefoot_lab.agreement.normality import normality
from surefoot_lab.agreement.rankings import value_agreement
from surefoot_lab.cli.figures import AGREEMENT

import surefoot
from surefoot import risk
from surefoot.analysis.cross import cross
from surefoot.analysis.evaluate import evaluate
from surefoot.analysis.intervals import intervals
from surefoot.cli.figure import FIGURES
from surefoot.errors import SurefootError
from surefoot.plots.style import ENDINGS, label_points, label_text, names_to_show, spread
from surefoot.risk.values import Linear, Monotone, Smooth, fences
from surefoot.scores import Scores
from surefoot.stats.inference import critical_value, topic_inference
from surefoot.stats.principal_axes import pca

HOSTILE = ["$x_1$", "<script>alert(1)</script>", "n" * 300, "_ünï 漢字 \\$\n\x1b[31m", "b$", " ", "%s {x} ^_"]
SMALL = {"n_resamples": 200}


def scores_of(names: list[str], topics: int = 20) -> Scores:
    values = np.random.default_rng(7).beta(0.6, 1.4, (len(names), topics)).round(3)
    values[1, :3] = values[0, :3]
    return Scores(values, names, [f"$q_{topic}$" for topic in range(topics)], measure="m_1$")


SCORES = scores_of(list("abcdefg"))
LONG = scores_of([f"a-system-whose-name-goes-on-and-on-{letter}" for letter in "abcdefg"])

DRAW: dict[str, Callable[..., Axes]] = {
    "shape": lambda s, **k: surefoot.plots.score_shapes(s, **k),
    "profile": lambda s, **k: surefoot.plots.profile(s, **k),
    "alpha": lambda s, **k: surefoot.plots.alpha_curves(s, s.systems[0], **k),
    "topics": lambda s, **k: surefoot.plots.topic_bars(s, s.systems[1], s.systems[0], **k),
    "pca": lambda s, **k: surefoot.plots.pca_map(s, **k),
    "correlation": lambda s, **k: surefoot_lab.correlation_map(s, s.systems[0], **k),
    "paired": lambda s, **k: surefoot.plots.paired_scores(s, s.systems[1], s.systems[0], **k),
    "sorted": lambda s, **k: surefoot.plots.sorted_values(s, s.systems[0], systems=s.systems[1:], **k),
    "differences": lambda s, **k: surefoot.plots.difference_boxes(s, s.systems[0], **k),
    "values": lambda s, **k: surefoot.plots.value_functions(**k),
    "qq": lambda s, **k: surefoot_lab.qq_lines(s, s.systems[1], s.systems[0], **SMALL, **k),
    "rbo": lambda s, **k: surefoot_lab.rbo_bars(value_agreement(s, s.systems[0], value=Smooth), **k),
    "helped": lambda s, **k: surefoot.plots.helped_hurt(s, s.systems[1], s.systems[0], **k),
    "cross": lambda s, **k: surefoot.plots.cross_map(s, **k),
    "plane": lambda s, **k: surefoot.plots.risk_reward(s, s.systems[0], **SMALL, **k),
    "forest": lambda s, **k: surefoot.plots.forest(s, s.systems[0], of="urisk", **SMALL, **k),
}


def saved(axes: Axes, path: Path) -> bytes:
    surefoot.plots.save_plot(axes, path)
    return path.read_bytes()


def lines(axes: Axes) -> dict[str, np.ndarray]:
    return {str(line.get_label()): np.asarray(line.get_ydata()) for line in axes.lines}


def test_every_kind_is_tested() -> None:
    assert set(DRAW) == {*FIGURES, *AGREEMENT}


@pytest.mark.parametrize("kind", DRAW)
def test_names_are_data_bytes_the_same_and_settings_untouched(kind: str, tmp_path: Path) -> None:
    before = dict(mpl.rcParams)
    first, second = (saved(DRAW[kind](scores_of(HOSTILE)), tmp_path / f"{number}.svg") for number in (1, 2))
    assert first == second
    assert b"dc:date" not in first
    assert not [element for element in ElementTree.fromstring(first).iter() if element.tag.endswith("script")]
    assert dict(mpl.rcParams) == before


@pytest.mark.parametrize("kind", DRAW)
def test_given_axes_are_used(kind: str) -> None:
    left, right = Figure(figsize=(7, 3)).subplots(1, 2)
    assert DRAW[kind](SCORES, axes=right) is right
    assert right.has_data()
    assert not left.has_data()


@pytest.mark.parametrize("kind", DRAW)
def test_nothing_reaches_beyond_the_page(kind: str) -> None:
    axes = DRAW[kind](LONG)
    with surefoot.plots.paper_style():
        figure = axes.get_figure(root=True)
        figure.draw_without_rendering()
        box, page = axes.get_tightbbox(), figure.bbox.padded(1)
    assert page.containsx(box.x0)
    assert page.containsx(box.x1)
    assert page.containsy(box.y0)
    assert page.containsy(box.y1)


@pytest.mark.parametrize(("ending", "start"), [("svg", b"<?xml"), ("png", b"\x89PNG"), ("pdf", b"%PDF")])
def test_each_ending(ending: str, start: bytes, tmp_path: Path) -> None:
    data = [saved(surefoot.plots.profile(SCORES), tmp_path / f"{number}.{ending.upper()}") for number in (1, 2)]
    assert data[0].startswith(start)
    assert data[0] == data[1]
    assert b"CreationDate" not in data[0]
    assert ending in ENDINGS


def test_pdf_embeds_its_font(tmp_path: Path) -> None:
    assert b"/FontFile2" in saved(surefoot.plots.profile(SCORES), tmp_path / "f.pdf")


def test_an_unknown_ending_lists_the_known(tmp_path: Path) -> None:
    with pytest.raises(SurefootError, match="svg, png, pdf"):
        surefoot.plots.save_plot(surefoot.plots.profile(SCORES), tmp_path / "f.jpg")


def test_a_users_settings_do_not_show(tmp_path: Path) -> None:
    ours = saved(surefoot.plots.profile(SCORES), tmp_path / "ours.svg")
    with mpl.rc_context({"text.usetex": True, "font.size": 30, "axes.facecolor": "red"}):
        assert saved(surefoot.plots.profile(SCORES), tmp_path / "theirs.svg") == ours


# What is drawn is what the library computes.


def test_profile_is_the_share_of_topics_at_or_above_a_score() -> None:
    axes = surefoot.plots.profile(SCORES, label=["a", "b"])
    curve = next(line for line in axes.lines if line.get_label() == "a")
    x, y = curve.get_data()
    for level in np.unique(SCORES["a"]):
        assert y[x == level].max() == pytest.approx(np.mean(SCORES["a"] >= level))
    assert np.diff(x) @ y[1:] == pytest.approx(SCORES["a"].mean())
    assert [text.get_text().strip() for text in axes.get_legend().get_texts()] == ["a", "b"]


@pytest.mark.parametrize("of", ["trisk", "urisk", "zrisk", "georisk"])
def test_alpha_curves_are_those_of_evaluate(of: str) -> None:
    drawn = lines(surefoot.plots.alpha_curves(SCORES, "a", of=of, alpha=(0, 5)))
    expected = evaluate(SCORES, "a", np.linspace(0, 5, 101))
    for name in "bcdefg":
        np.testing.assert_array_equal(drawn[name], expected[of][expected["system"] == name])
    if of == "trisk":
        assert drawn["critical"][0] == pytest.approx(critical_value(20))


def test_alpha_curves_of_an_evaluation() -> None:
    result = evaluate(SCORES, "a", [5, 0, 1])
    drawn = lines(surefoot.plots.alpha_curves(result, of="georisk"))
    matrix = risk.georisk(SCORES.values, [0, 1, 5])
    np.testing.assert_allclose(drawn["c"], matrix[:, 2])


def test_topic_bars_are_tj() -> None:
    axes = surefoot.plots.topic_bars(SCORES, "b", "a", alpha=[0, 5])
    order = np.argsort(topic_inference(SCORES["b"], SCORES["a"], 0).tj, kind="stable")
    for bars, alpha in zip(axes.containers, (0, 5), strict=True):
        heights = [bar.get_height() for bar in bars]
        np.testing.assert_allclose(heights, topic_inference(SCORES["b"], SCORES["a"], alpha).tj[order])
    assert [text.get_text() for text in axes.get_xticklabels()] == [label_text(SCORES.topics[place]) for place in order]


def test_several_systems_share_the_order_of_topics() -> None:
    first = surefoot.plots.topic_bars(SCORES, ["b", "c"], "a", alpha=[0, 5])
    panels = first.figure.axes
    assert len(panels) == 2
    for panel, name in zip(panels, "bc", strict=True):
        heights = [bar.get_height() for bar in panel.containers[0]]
        np.testing.assert_allclose(heights, topic_inference(SCORES[name], SCORES["a"], 0).tj)
    shown = [text.get_text() for text in panels[1].get_xticklabels()]
    assert shown == [label_text(topic) for topic in SCORES.topics]
    with pytest.raises(SurefootError, match="one system to draw on the given axes"):
        surefoot.plots.topic_bars(SCORES, ["b", "c"], "a", axes=first)


def test_shapes_are_the_scores_and_their_mean() -> None:
    drawn = lines(surefoot.plots.score_shapes(SCORES, systems=["a", "b"]))
    np.testing.assert_array_equal(drawn["b"], SCORES["b"])
    np.testing.assert_allclose(drawn["MEAN"], (SCORES["a"] + SCORES["b"]) / 2)
    assert (np.diff(lines(surefoot.plots.score_shapes(SCORES, order="mean"))["MEAN"]) <= 0).all()


def test_of_many_topics_the_ends_are_drawn() -> None:
    axes = surefoot.plots.topic_bars(scores_of(["a", "b"], topics=300), "b", "a", alpha=1)
    assert len(axes.patches) == 80
    assert "40 worst and the 40 best of 300" in axes.get_xlabel()


def test_pca_points_are_its_coordinates() -> None:
    found = pca(SCORES)
    systems, virtual = surefoot.plots.pca_map(found).collections
    np.testing.assert_allclose(systems.get_offsets(), found.coordinates[:7])
    np.testing.assert_allclose(virtual.get_offsets(), found.coordinates[7:])
    included = pca(SCORES, include=True)
    assert included.shares[0] != found.shares[0]
    np.testing.assert_allclose(
        surefoot.plots.pca_map(SCORES, include=True).collections[0].get_offsets(), included.coordinates[:7]
    )


def test_paired_points_are_the_scores() -> None:
    axes = surefoot.plots.paired_scores(SCORES, "b", "a")
    points = np.concatenate([group.get_offsets() for group in axes.collections])
    assert {tuple(point) for point in points} == set(zip(SCORES["a"], SCORES["b"], strict=True))
    assert [text.get_text() for text in axes.get_legend().get_texts()][-1] == "3 topics equal"


def test_sorted_values_average_to_urisk() -> None:
    drawn = lines(surefoot.plots.sorted_values(SCORES, "a", systems=["b", "c"], alpha=5))
    assert drawn["b"].mean() == pytest.approx(float(risk.urisk(SCORES["b"], SCORES["a"], 5)))
    assert (np.diff(drawn["c"]) >= 0).all()
    both = lines(surefoot.plots.sorted_values(SCORES, "a", systems=["b"], alpha=[0, 5], mutual=True))
    assert list(both)[:4] == ["b against a, α = 0", "b against a, α = 5", "a against b, α = 0", "a against b, α = 5"]
    mean = both["a against b, α = 5"].mean()
    assert mean == pytest.approx(float(risk.urisk(SCORES["a"], SCORES["b"], 5)))


def test_difference_boxes_have_the_fences_of_all() -> None:
    axes = surefoot.plots.difference_boxes(SCORES, "a", systems=["c", "a", "b"])
    drawn = [line.get_xdata()[0] for line in axes.lines if line.get_label() == "fence"]
    assert tuple(drawn) == pytest.approx(fences(SCORES.values[1:] - SCORES["a"]))
    names = [text.get_text() for text in axes.get_yticklabels()]
    assert names == ["All", *sorted(["b", "c"], key=lambda name: SCORES[name].mean())]
    means = [line.get_xdata()[0] for line in axes.lines if line.get_marker() == "D"]
    assert means[0] == pytest.approx((SCORES.values[1:] - SCORES["a"]).mean())


def test_value_functions() -> None:
    drawn = lines(surefoot.plots.value_functions(alpha=1))
    d = np.linspace(-1, 1, 201)
    np.testing.assert_array_equal(drawn["linear"], Linear(1)(d))
    np.testing.assert_array_equal(drawn["smooth"], Smooth(1)(d))
    np.testing.assert_array_equal(drawn["monotone"], Monotone(1)(d))
    refused = surefoot.plots.value_functions(alpha=50)
    assert "smooth" not in lines(refused)
    assert "no smooth v" in refused.get_legend().get_title().get_text()


def test_qq_lines_are_the_points_of_normality() -> None:
    found = normality(SCORES, "b", "a", n_resamples=300)
    axes = surefoot_lab.qq_lines(found)
    for kind, plot in found.plots.items():
        line = next(line for line in axes.lines if line.get_label() == kind)
        np.testing.assert_array_equal(line.get_xdata(), plot.theoretical)
        z = (plot.ordered - plot.ordered.mean()) / plot.ordered.std(ddof=1)
        np.testing.assert_allclose(line.get_ydata(), z)


def test_rbo_bars_are_minimum_and_residual() -> None:
    found = value_agreement(SCORES, "a", value=Smooth)
    minimum, residual = surefoot_lab.rbo_bars(found, of=["zrisk"]).containers
    rows = found["measure"] == "zrisk"
    np.testing.assert_allclose([bar.get_height() for bar in minimum], found["minimum"][rows])
    np.testing.assert_allclose([bar.get_height() for bar in residual], found["residual"][rows])


def test_helped_and_hurt_add_up_to_the_topics() -> None:
    scores = Scores([[0.4, 0.4, 0.4, 0.0, 0.0, 0.2], [0.3, 0.1, 0.41, 0.5, 0.0, 0.5]], ["a", "b"], range(6))
    relative, absolute = (
        surefoot.plots.helped_hurt(scores, "b", "a", change=change) for change in ("relative", "absolute")
    )
    # Lost a quarter and three quarters; one tie; up 2.5 %, 150 %, and from nothing.
    assert [bar.get_height() for bar in relative.patches] == [0, 1, 0, 1, 1, 1, 0, 0, 0, 2]
    assert [bar.get_height() for bar in absolute.patches] == [0, 0, 0, 1, 0, 1, 1, 1, 0, 1, 0, 1, 0]
    assert [text.get_text() for text in relative.texts][-2:] == ["2 hurt", "3 helped"]


def test_cross_map_is_the_matrix_with_the_safest_on_top() -> None:
    found = cross(SCORES, alpha=5)
    order = np.argsort(-found.urisk.mean(axis=1))
    axes = surefoot.plots.cross_map(found)
    np.testing.assert_array_equal(axes.images[0].get_array(), found.urisk[np.ix_(order, order)])


def test_plane_points_are_risk_and_reward() -> None:
    axes = surefoot.plots.risk_reward(SCORES, "a", label=["b"], **SMALL)
    points = next(group for group in axes.collections if group.get_label() == "systems").get_offsets()
    np.testing.assert_allclose(points[:, 0], risk.frisk(SCORES.values[1:], SCORES["a"]))
    np.testing.assert_allclose(points[:, 1], risk.freward(SCORES.values[1:], SCORES["a"]))


def test_forest_is_the_intervals() -> None:
    found = intervals(SCORES, "a", 5, measures=["trisk"], n_resamples=200)
    axes = surefoot.plots.forest(SCORES, "a", of="trisk", alpha=5, n_resamples=200)
    drawn = {str(line.get_label()): line.get_xdata()[0] for line in axes.lines}
    rows = {row["system"]: row for row in found.rows() if row["estimate"] is not None}
    assert {name: drawn[name] for name in rows} == {name: row["estimate"] for name, row in rows.items()}
    ends = [tuple(group.get_segments()[0][:, 0]) for group in axes.collections]
    assert ends == [(row["low"], row["high"]) for row in sorted(rows.values(), key=lambda row: row["estimate"])]
    assert "a" not in drawn


# Names, many and wrong.


def test_a_name_is_shown_as_it_is() -> None:
    figure = Figure()
    for name in ("$x_1$", "\\$", "a$b", "$$"):
        text = figure.text(0, 0, label_text(name))
        shown, math = text._preprocess_math(text.get_text())
        assert (shown, math) == (name, False)
    assert label_text("a\nb\x1b") == "a b\ufffd"


def test_of_many_systems_the_extremes_are_named() -> None:
    many = scores_of([f"s{number}" for number in range(49)])
    axes = surefoot.plots.alpha_curves(many, "s0", of="urisk")
    assert len([text for text in axes.texts if text.get_text()]) == 4
    assert len([line for line in axes.lines if str(line.get_label()).startswith("s")]) >= 49
    assert names_to_show(["a", "b"], [1, np.nan], None) == ["a"]


def test_spread_keeps_names_apart_and_inside() -> None:
    places = spread([5, 5, 5, 0, 10], 1.0, 0.0, 10.0)
    assert np.diff(np.sort(places)).min() >= 1 - 1e-9
    assert places.min() >= 0
    assert places.max() <= 10


def test_names_of_points_do_not_overlap() -> None:
    axes = Figure(figsize=(4, 4)).add_subplot()
    points = np.array([[0.5, 0.5], [0.51, 0.5], [0.5, 0.52], [0.0, 0.0], [1.0, 1.0]])
    axes.plot(*points.T, "o")
    label_points(axes, points, ["first", "second", "third", "d", "e"], [0, 1, 2])
    boxes = [text.get_window_extent() for text in axes.texts if text.get_text()]
    assert all(not one.overlaps(other) for one in boxes for other in boxes if one is not other)


@pytest.mark.parametrize(
    ("draw", "words"),
    [
        (lambda: surefoot.plots.alpha_curves(SCORES, of="trisk"), "trisk needs a baseline"),
        (lambda: surefoot.plots.alpha_curves(SCORES, "a", of="nonsense"), "of must be one of"),
        (lambda: surefoot.plots.alpha_curves(SCORES, "a", alpha=[1]), "needs a range"),
        (lambda: surefoot.plots.alpha_curves(SCORES, "a", label=["nobody"]), "can't name nobody"),
        (lambda: surefoot.plots.alpha_curves(evaluate(SCORES, "a", 1)), "two or more alphas"),
        (lambda: surefoot.plots.topic_bars(SCORES, "a", "a"), "T_J is undefined"),
        (lambda: surefoot.plots.topic_bars(SCORES, "b", "a", alpha=range(9)), "up to 5 alphas"),
        (lambda: surefoot.plots.cross_map(scores_of([f"s{n}" for n in range(81)])), "can show 80 systems, not 81"),
        (lambda: surefoot.plots.difference_boxes(SCORES, "a", systems=["a"]), "no system to show"),
        (lambda: surefoot.plots.risk_reward(SCORES, "a", systems=["a"]), "no system to show"),
        (lambda: surefoot_lab.rbo_bars(SCORES), "needs a baseline"),
        (lambda: surefoot_lab.rbo_bars(value_agreement(SCORES, "a", value=Smooth), of=["x"]), "of must be one of"),
        (lambda: surefoot_lab.qq_lines(SCORES), "a system and a baseline"),
        (lambda: surefoot.plots.value_functions(SCORES), "need a baseline"),
        (lambda: surefoot.plots.helped_hurt(SCORES, "b", "a", change="odd"), "change must be one of"),
        (lambda: surefoot.plots.forest(evaluate(SCORES)), "intervals at one alpha"),
        (lambda: surefoot.plots.forest(SCORES, of="urisk"), "needs a baseline"),
        (lambda: surefoot.plots.pca_map(Scores([[0.1], [0.2]], "ab", [1])), "two principal axes"),
        (lambda: surefoot.plots.sorted_values(SCORES, "a", systems=[]), "name the systems"),
        (lambda: surefoot.plots.profile(SCORES, systems=["nobody"]), "no system nobody"),
    ],
)
def test_what_cannot_be_drawn_is_said(draw: Callable[[], object], words: str) -> None:
    with pytest.raises(SurefootError, match=words):
        draw()


def test_scores_that_are_all_alike_can_be_drawn(tmp_path: Path) -> None:
    alike = Scores(np.zeros((3, 4)), "abc", range(4))
    for kind in ("profile", "alpha", "paired", "sorted", "differences", "helped", "cross", "plane", "forest"):
        assert saved(DRAW[kind](alike), tmp_path / f"{kind}.svg")


def test_negative_scores_have_no_relative_change() -> None:
    scores = Scores([[0.1, -0.2], [0.3, 0.1]], "ab", [1, 2])
    with pytest.raises(SurefootError, match="show the absolute change"):
        surefoot.plots.helped_hurt(scores, "b", "a")
    assert len(surefoot.plots.helped_hurt(scores, "b", "a", change="absolute").patches) == 13


def test_rbo_takes_monotone_values_where_smooth_ones_are_undefined():
    random = np.random.default_rng(1)
    values = np.where(random.random((8, 40)) < 0.5, 0.0, 1.0)
    axes = surefoot_lab.rbo_bars(Scores(values, "abcdefgh", range(40)), "a")
    assert axes.get_ylabel() == "RBO, linear against monotone"
