"""How often the gate decides and how often it is wrong, on version pairs of real collections.

docs/studies/gate.md has the protocol: the definitions, how the defaults were chosen, on which collections, and which
were held back and looked at once. With `SUREFOOT_STUDIES` set, samples are kept there, and a stopped run resumes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, pairwise

import numpy as np

from studies import gate_cases, gate_probability, gate_ratchet, gate_repeats
from studies.gate_samples import FAIL, KINDS, PASS, SAMPLES, UNDECIDED, Sampled, interval, sampled
from studies.version_pairs import DEVELOPMENT, HEAVY, HELD_BACK, WORSE
from surefoot._typing import FloatArray
from surefoot.results import Result, by_column, signature

GATES = {
    "default": "default, as far as seen",
    "strict": "strict",
    "t test": "paired t, p < 0.05 either way",
    "fail if worse": "fail if significantly worse",
}
FEW_BEYOND = 5
"""A set with fewer pairs truly beyond has no say in the worst rate of wrong passes."""
MEASURES = {"rr": "RR", "RR@10": "RR", "P@1": "0/1", "Success@3": "0/1", "Success@10": "0/1"}
"""The kinds of measures; the others are graded."""
LOSSES = (-np.inf, -1, 0, 0.5, 1, 1.5, 2, 3, np.inf)
"""Edges of the true loss of the mean, in units of the tolerance."""

Found = dict[tuple[int, str], list[Sampled]]
"""The samples by number of queries and kind."""


def tables(less: int = 1) -> Iterator[tuple[str, Result]]:
    groups = (("development collections", DEVELOPMENT, 5000), ("collections held back", HELD_BACK, 1000))
    for title, collections, most in groups:
        sizes = [size for size in SAMPLES if size <= most]
        found = {(size, kind): sampled(collections, size, kind, less) for size in sizes for kind in KINDS}
        yield f"Verdicts on the {title}, in percent", _verdicts(found)
        yield f"Verdicts on the {title} by kind of truth: pass · undecided · fail, in percent", _by_truth(found)
        yield f"The default gate on the {title} by measure, in percent", _by_measure(found)
        yield f"The default gate on the {title} by set, 50 queries, in percent", _by_set(found[50, "real"])
        yield f"The default gate on the {title} by true loss of the mean, 50 queries, in percent", _by_loss(found)
        yield f"Undecided gates that lean on the {title}, in percent of all gates", _leaning(found)
        yield (
            f"Errors of the default gate on the {title} at {most:,} queries less those at 50, in percent",
            _growth(found),
        )
    yield from chain.from_iterable(
        part.tables(less) for part in (gate_probability, gate_repeats, gate_ratchet, gate_cases)
    )


def _verdict_rates(found: Sequence[Sampled], name: str, verdict: int, truth: str | None = None) -> FloatArray:
    """The rate of a verdict in each set, among all samples or those of a kind of truth; NaN where there are none."""
    rates = []
    for one in found:
        own = one.arrays[name]
        chosen = ~np.isnan(own)
        if truth is not None:
            chosen &= one.beyond if truth == "beyond" else one.truths()[truth]
        rates.append(np.mean(own[chosen] == verdict) if chosen.any() else np.nan)
    return np.array(rates)


def _percent(rates: FloatArray) -> str:
    return f"{100 * np.nanmean(rates):.1f}"


def _with_worst(rates: FloatArray) -> str:
    return f"{_percent(rates)} ({100 * np.nanmax(rates):.0f})"


def _three(found: Sequence[Sampled], name: str, truth: str | None = None) -> str:
    rates = [_verdict_rates(found, name, verdict, truth) for verdict in (PASS, UNDECIDED, FAIL)]
    return " · ".join(f"{100 * np.nanmean(one):.0f}" for one in rates)


def _wrong_passes(found: Sequence[Sampled], name: str) -> str:
    """The average, the worst set with enough pairs beyond, and the worst of all."""
    rates = _verdict_rates(found, name, PASS, "beyond")
    enough = np.array([one.pairs_beyond >= FEW_BEYOND for one in found])
    worst = f"{100 * np.nanmax(rates[enough]):.0f}" if enough.any() else "–"
    return f"{_percent(rates)} ({worst}; {100 * np.nanmax(rates):.0f})"


def _sizes(found: Found) -> list[int]:
    return sorted({size for size, _ in found})


def _verdicts(found: Found) -> Result:
    rows: list[dict[str, object]] = []
    for name, title in GATES.items():
        for size in _sizes(found):
            real, planted, swapped = (found[size, kind] for kind in KINDS)
            decided = 1 - _verdict_rates(real, name, UNDECIDED)
            low, high = interval(real, decided)
            not_passed = 1 - _verdict_rates(planted, name, PASS)
            rows.append(
                {
                    "gate": title,
                    "queries": size,
                    "pass · undecided · fail": _three(real, name),
                    "decided [95 %]": f"{_percent(decided)} [{100 * low:.0f}, {100 * high:.0f}]",
                    "wrong passes (worst set; of all)": _wrong_passes(real, name),
                    "wrong fails (worst set)": _with_worst(_verdict_rates(real, name, FAIL, "harmless")),
                    "planted: not passed / failed": f"{100 * np.nanmean(not_passed):.0f} / "
                    f"{100 * np.nanmean(_verdict_rates(planted, name, FAIL)):.0f}",
                    "exchangeable failed (worst set)": _with_worst(_verdict_rates(swapped, name, FAIL)),
                }
            )
    real = found[50, "real"]
    few = [f"{one.name} ({one.pairs_beyond})" for one in real if one.pairs_beyond < FEW_BEYOND]
    wrong = [(word, interval(real, _verdict_rates(real, "default", verdict, truth)))
             for word, verdict, truth in (("passes", PASS, "beyond"), ("fails", FAIL, "harmless"))]  # fmt: skip
    notes = (
        f"{len(real)} sets; fewer than {FEW_BEYOND} pairs beyond (at 50 queries): {', '.join(few) or 'none'}",
        *(
            f"wrong {word} at 50, default: 95 % interval {100 * low:.1f} to {100 * high:.1f}"
            for word, (low, high) in wrong
        ),
    )
    return Result(signature("gate", sets=len(real)), by_column(rows), notes)


def _by_truth(found: Found) -> Result:
    rows: list[dict[str, object]] = []
    for name, title in GATES.items():
        for size in _sizes(found):
            real, planted, _ = (found[size, kind] for kind in KINDS)
            kinds = {kind: _three(real, name, kind) for kind in ("harmless", "better", "worse")}
            rows.append({"gate": title, "queries": size, **kinds, "planted heavy": _three(planted, name)})
    return Result(signature("gate-truth"), by_column(rows))


def _by_measure(found: Found) -> Result:
    rows: list[dict[str, object]] = []
    for kind in ("graded", "RR", "0/1"):
        for size in _sizes(found):
            own = [one for one in found[size, "real"] if MEASURES.get(one.name.split(" ")[1], "graded") == kind]
            if own:
                rows.append({"measure": kind, "sets": len(own), "queries": size, **_default(own)})
    return Result(signature("gate-measures"), by_column(rows))


def _by_set(found: Sequence[Sampled]) -> Result:
    rows = [
        {
            "set": one.name,
            "pairs": len(np.unique(one.arrays["pair"])),
            "beyond": one.pairs_beyond,
            **_default([one]),
            "standard deviation of true means": round(float(np.std(one.arrays["mean"])), 3),
        }
        for one in found
    ]
    return Result(signature("gate-sets", queries=50), by_column(rows))


def _default(found: Sequence[Sampled]) -> dict[str, object]:
    wrong = {
        "wrong passes": _verdict_rates(found, "default", PASS, "beyond"),
        "wrong fails": _verdict_rates(found, "default", FAIL, "harmless"),
    }
    return {
        "pass · undecided · fail": _three(found, "default"),
        "decided": _percent(1 - _verdict_rates(found, "default", UNDECIDED)),
        **{name: "–" if np.isnan(rates).all() else _percent(rates) for name, rates in wrong.items()},
    }


def _by_loss(found: Found) -> Result:
    """All gates on pairs whose tail is within its limit, by true loss; every gate has the same weight."""
    loss, tail, verdict = (
        np.concatenate([one.arrays[name] for one in found[50, "real"]]) for name in ("mean", "tail", "default")
    )
    rows: list[dict[str, object]] = []
    for low, high in pairwise(LOSSES):
        own = verdict[(-loss / -WORSE > low) & (-loss / -WORSE <= high) & (tail <= HEAVY)]
        shares = [f"{100 * np.mean(own == one):.0f}" for one in (PASS, UNDECIDED, FAIL)]
        rows.append({"true loss / 0.02": f"{low:g} to {high:g}", "gates": own.size,
                     "pass · undecided · fail": " · ".join(shares)})  # fmt: skip
    return Result(signature("gate-losses", queries=50), by_column(rows))


def _leaning(found: Found) -> Result:
    """What `--undecided hold` stops beside the fails, and what it lets through with a warning."""
    rows: list[dict[str, object]] = []
    for size in _sizes(found):
        row: dict[str, object] = {"queries": size}
        for truth in ("harmless", "beyond"):
            for word, leans in (("for", 0), ("against", 1)):
                shares = []
                for one in found[size, "real"]:
                    chosen = one.beyond if truth == "beyond" else ~one.beyond
                    open_ = one.arrays["default"] == UNDECIDED
                    hit = open_ & (one.arrays["leans against"] == leans)
                    shares.append(np.mean(hit[chosen]) if chosen.any() else np.nan)
                row[f"{truth}: leans {word}"] = _percent(np.array(shares))
        rows.append(row)
    return Result(signature("gate-leaning"), by_column(rows))


def _growth(found: Found) -> Result:
    """Differences of the sets' rates; the standard error is that of a bootstrap over collections."""
    rows: list[dict[str, object]] = []
    most = _sizes(found)[-1]
    errors = (("wrong passes", "real", PASS, "beyond"), ("wrong fails", "real", FAIL, "harmless"),
              ("planted heavy tails passed", "planted", PASS, None),
              ("exchangeable failed", "exchangeable", FAIL, None))  # fmt: skip
    for word, kind, verdict, truth in errors:
        few, many = ({one.name: one for one in found[size, kind]} for size in (50, most))
        both = [name for name in few if name in many]
        rates = [_verdict_rates([own[name] for name in both], "default", verdict, truth) for own in (few, many)]
        rise = rates[1] - rates[0]
        low, high = interval([few[name] for name in both], rise)
        rows.append(
            {
                "error": word,
                "at 50": _percent(rates[0]),
                f"at {most:,}": _percent(rates[1]),
                "difference": _percent(rise),
                "standard error": f"{100 * (high - low) / 3.92:.1f}",
            }
        )
    return Result(signature("gate-growth"), by_column(rows))
