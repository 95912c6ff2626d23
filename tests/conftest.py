"""Settings and fixtures of all tests."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

# The first call of a kernel may compile the library. A failure must come again when the test is run again.
settings.register_profile("surefoot", deadline=None, derandomize=True)
settings.load_profile("surefoot")


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of public collections."""
    if "SUREFOOT_DATA" not in os.environ:
        pytest.skip("SUREFOOT_DATA names no folder with the public collections")
    return Path(os.environ["SUREFOOT_DATA"])
