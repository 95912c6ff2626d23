"""Which modules are looked through for examples."""

from importlib.util import find_spec

# PyTorch is in no lock.
collect_ignore = [] if find_spec("torch") else ["src/surefoot/torch"]
