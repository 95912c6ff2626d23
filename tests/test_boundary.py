"""The boundary of the package: its public names, and which package may import which."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import surefoot

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "surefoot"
MANUAL = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "examples").glob("*.py"))]
PUBLIC = r"surefoot|surefoot\.(learn|cluster|torch)(\.\w+)?"


def imports(path: Path) -> set[str]:
    """The modules that a file imports, anywhere in it, but for those that only type checkers import."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    typing_only = {
        child
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for child in ast.walk(node)
    }
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node not in typing_only:
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import) and node not in typing_only:
            found |= {alias.name for alias in node.names}
    return {name for name in found if name.startswith("surefoot.")}


def users_of(package: str) -> set[str]:
    """The packages and modules directly in surefoot that import one of them."""
    users = set()
    for path in SOURCE.rglob("*.py"):
        own = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        if own != package and any(name.split(".")[1] == package for name in imports(path)):
            users.add(own)
    return users


def test_every_public_name_loads_and_is_documented() -> None:
    assert surefoot.__all__ == dir(surefoot)
    undocumented = [name for name in surefoot.__all__ if not getattr(surefoot, name).__doc__]
    assert not undocumented
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        surefoot.nothing  # noqa: B018


def test_the_stub_lies_beside_the_package() -> None:
    assert (SOURCE / "__init__.pyi").exists()
    assert (SOURCE / "py.typed").exists()


def test_errors_import_nothing() -> None:
    assert not imports(SOURCE / "errors.py")


def test_the_command_line_imports_show() -> None:
    assert users_of("show") <= {"cli", "research"}  # the folder of an experiment has a report


def test_nothing_imports_the_command_line() -> None:
    assert users_of("cli") <= {"__main__"}


def test_io_does_not_depend_on_what_is_computed() -> None:
    for package in ("analysis", "stats", "risk", "research", "release_gate"):
        assert "io" not in users_of(package), package


def test_importing_surefoot_loads_nothing_heavy() -> None:
    heavy = "{'numpy', 'typing', 're', 'ast'}"
    code = (
        f"import sys; sys.path.insert(0, {str(SOURCE.parent)!r}); import surefoot; print(*{heavy} & set(sys.modules))"
    )
    found = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, check=True)
    assert not found.stdout.split()


@pytest.mark.parametrize("path", MANUAL, ids=lambda path: path.name)
def test_the_manual_imports_from_the_public_packages(path: Path) -> None:
    modules = re.findall(r"^\s*from (surefoot[.\w]*) import", path.read_text(encoding="utf-8"), re.MULTILINE)
    assert not [module for module in modules if not re.fullmatch(PUBLIC, module)]
