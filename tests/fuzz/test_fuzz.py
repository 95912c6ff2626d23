"""No input, however damaged, is read wrongly or answered by a traceback."""

import pytest

from tests.fuzz.fuzzer import SUBJECTS, outcomes


@pytest.mark.parametrize("name", SUBJECTS)
def test_damaged_input_is_read_rightly_or_refused_in_one_line(name, tmp_path):
    found = list(outcomes(name, 150, tmp_path))
    wrong = [(given, outcome) for given, outcome in found if outcome not in ("right", "refused")]
    assert not wrong, wrong[:3]
    assert {outcome for _, outcome in found} == {"right", "refused"}  # the fuzzer reaches both
