"""No file, however damaged, is read wrongly or answered by a traceback."""

import pytest

from tests.fuzz.formats import FORMATS
from tests.fuzz.fuzzer import outcomes


@pytest.mark.parametrize("name", FORMATS)
def test_damaged_files_are_read_rightly_or_refused_in_one_line(name, tmp_path):
    found = list(outcomes(name, 150, tmp_path))
    wrong = [(data, outcome) for data, outcome in found if outcome not in ("right", "refused")]
    assert not wrong, wrong[:3]
    assert {outcome for _, outcome in found} == {"right", "refused"}  # the fuzzer reaches both
