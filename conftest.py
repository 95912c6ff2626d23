"""Which modules are looked through for examples."""

from importlib.util import find_spec

# PyTorch is in no lock, PyTerrier not in that of the oldest versions.
OPTIONAL = {"torch": "src/surefoot/torch", "pyterrier": "src/surefoot/integrations/pyterrier.py"}
collect_ignore = [path for module, path in OPTIONAL.items() if not find_spec(module)]
