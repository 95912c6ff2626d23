"""Elementary functions against the exact value, and the same bits at every level."""

import math
from decimal import Decimal, localcontext
from pathlib import Path

import numpy as np
import pytest

from surefoot.native import kernel
from tests.native.levels import RUNNABLE
from tools import tables

NUMBERS = np.random.default_rng(0)
SPECIAL = [0.0, -0.0, math.inf, -math.inf, 709.78, 709.79, -708.4, -745.1, -745.2, 1e-300, 1e300, -1e300]
X = {
    "expf": NUMBERS.uniform(-87, 88, 3000).astype(np.float32).astype(np.float64),
    "exp": np.concatenate([NUMBERS.uniform(-745, 709, 3000), NUMBERS.normal(size=1000), SPECIAL]),
    "exp2": np.concatenate([NUMBERS.uniform(-900, 900, 1000), np.arange(-100.0, 100), NUMBERS.uniform(0, 5, 1000)]),
    "log2": np.concatenate([np.arange(1.0, 2000), NUMBERS.uniform(1, 1.1, 1000), 2 ** NUMBERS.uniform(0, 900, 999)]),
}


def exact(name: str, x: float) -> Decimal:
    number = Decimal(x)
    if name == "log2":
        return number.ln() / Decimal(2).ln()
    return number.exp() if name.startswith("exp") and name != "exp2" else (number * Decimal(2).ln()).exp()


def computed(name: str, level: str) -> np.ndarray:
    out = np.empty_like(X[name])
    kernel(name, level)(X[name], out)
    return out.astype(np.float32) if name == "expf" else out


@pytest.mark.parametrize("name", X)
def test_values_are_within_a_unit_in_the_last_place(name):
    found = computed(name, "base")
    with localcontext() as context:
        context.prec = 40
        for x, value in zip(X[name].tolist(), found.tolist(), strict=True):
            if math.isfinite(x) and math.isfinite(value) and abs(x) < 1e5 and value != 0.0:
                unit = Decimal(float(np.spacing(found.dtype.type(abs(value)))))
                assert abs(Decimal(value) - exact(name, x)) < Decimal("0.6") * unit, x


def test_logarithms_of_ranks_are_rounded_right():
    x = np.concatenate([np.arange(1.0, 3000), np.arange(3000.0, 100_000, 37)])
    found = np.empty_like(x)
    kernel("log2")(x, found)
    with localcontext() as context:
        context.prec = 30
        two = Decimal(2).ln()
        assert found.tolist() == [float(Decimal(number).ln() / two) for number in x.tolist()]


def test_float_exponentials_are_rounded_right():
    with localcontext() as context:
        context.prec = 30
        right = np.array([float(exact("expf", x)) for x in X["expf"].tolist()], np.float32)
    assert computed("expf", "base").tolist() == right.tolist()


def test_the_tables_are_those_of_their_definitions():
    source = Path(__file__).parents[2] / "src/surefoot/native/tables.h"
    assert source.read_text() == tables.header()


@pytest.mark.parametrize("name", X)
def test_every_level_gives_the_same_bits(name):
    assert len({computed(name, level).tobytes() for level in RUNNABLE}) == 1


def test_the_ends_of_the_exponential():
    out = np.empty(len(SPECIAL))
    kernel("exp")(np.array(SPECIAL), out)
    normal = [math.exp(709.78), math.inf, math.exp(-708.4)]
    assert out.tolist() == pytest.approx([1, 1, math.inf, 0, *normal, 5e-324, 0, 1, math.inf, 0], rel=1e-15)
    nan = np.empty(1)
    kernel("exp")(np.array([math.nan]), nan)
    assert math.isnan(nan[0])


def test_whole_powers_of_two_are_exact():
    out = np.empty(200)
    kernel("exp2")(np.arange(-100.0, 100), out)
    assert out.tolist() == [2.0**power for power in range(-100, 100)]
