"""The boundary of the package: its public names, and which package may import which."""

import ast
import re
import subprocess
import sys
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest
import surefoot_lab

import surefoot
from surefoot.cli import main

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "surefoot"
MANUAL = [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md")), *sorted((ROOT / "examples").glob("*.py"))]
GROUPS = "analysis cluster effectiveness guard io judgments learn plots release_gate risk show stats torch".split()
LAYERS = """
    errors _version _typing _lazy _names _process _alignment native results scores risk effectiveness io stats analysis
    judgments release_gate lambdas guard learn cluster torch plots show integrations cli __main__
""".split()
"""Packages and modules of surefoot, each above those that it may import."""
UPWARD = {"results": {"show"}, "scores": {"risk", "io", "stats", "show"}, "effectiveness": {"io"}}
"""Methods of results and scores (`Scores.of(path)`, `to_latex`) forward to what is above them, by lazy imports."""
PUBLIC = rf"surefoot(_lab)?|surefoot\.({'|'.join(GROUPS)})"


@cache
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


@cache
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


def test_surefoot_never_imports_the_lab() -> None:
    """Not even lazily; only the forwarding of old names has the lab's name, as text."""
    naming = {path.name for path in SOURCE.rglob("*.py") if "surefoot_lab" in path.read_text(encoding="utf-8")}
    assert naming == {"_lazy.py"}


def test_both_packages_have_one_version() -> None:
    assert surefoot_lab.__version__ == surefoot.__version__


def test_names_of_groups_forward_with_a_warning() -> None:
    for package in ("analysis", "guard", "io", "judgments", "plots", "release_gate", "risk", "show", "stats"):
        for name in set(dir(import_module(f"surefoot.{package}"))) - set(dir(surefoot)):
            with pytest.warns(DeprecationWarning, match=rf"surefoot\.{name} is now surefoot\.\w+\.{name}"):
                getattr(surefoot, name)
    with pytest.warns(DeprecationWarning, match=r"surefoot\.normality is now surefoot_lab\.normality"):
        assert surefoot.normality is surefoot_lab.normality
    with pytest.warns(DeprecationWarning, match=r"surefoot\.learn\.Budget is now surefoot\.guard\.Budget"):
        import_module("surefoot.learn").Budget  # noqa: B018


def test_errors_name_the_lab_where_it_is_not_installed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for words in (["nothing"], ["figure", "nothing"]):
        with pytest.raises(SystemExit):
            main(words)
        assert "surefoot-lab" not in capsys.readouterr().err
    monkeypatch.setattr("surefoot._lazy.LAB", "surefoot_nowhere")
    with pytest.raises(AttributeError, match="no attribute 'rbo'; those for papers need pip install surefoot-lab"):
        surefoot.rbo  # noqa: B018
    for words in (["nothing"], ["figure", "nothing"]):
        with pytest.raises(SystemExit):
            main(words)
        assert "; those for papers need pip install surefoot-lab; see" in capsys.readouterr().err


def test_errors_import_nothing() -> None:
    assert not imports(SOURCE / "errors.py")


@pytest.mark.parametrize("user", LAYERS)
def test_packages_import_only_lower_ones(user: str) -> None:
    """Lazy imports too. `test_every_layer_is_named` sees that no package is left out."""
    higher = {used for used in LAYERS[LAYERS.index(user) + 1 :] if user in users_of(used)}
    assert higher <= UPWARD.get(user, set())


@pytest.mark.parametrize(
    ("package", "users"),
    [
        ("cli", {"__main__"}),
        ("show", {"cli", "integrations", "results", "scores"}),
        ("learn", {"cli", "cluster", "torch"}),
        ("guard", {"cli", "integrations", "learn"}),
        ("lambdas", {"cluster", "guard", "learn", "torch"}),
    ],
)
def test_packages_with_few_users_have_no_others(package: str, users: set[str]) -> None:
    assert users_of(package) <= users


def test_every_layer_is_named() -> None:
    names = {path.relative_to(SOURCE).parts[0].removesuffix(".py") for path in SOURCE.rglob("*.py")}
    assert names - {"__init__"} == set(LAYERS)


def test_names_of_measures_are_below_the_readers() -> None:
    """`io` compares names of measures; scoring, above it, reads runs."""
    used = {name for path in (SOURCE / "io").glob("*.py") for name in imports(path) if ".effectiveness" in name}
    assert used == {"surefoot.effectiveness.measures.canonical"}
    assert not {name for name in imports(SOURCE / "effectiveness" / "measures.py") if name.startswith("surefoot.io")}


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


def test_every_module_of_the_lab_can_be_the_first_import() -> None:
    """No circle of imports works only because a command happened to import another module before."""
    folder = Path(surefoot_lab.__path__[0])
    names = [".".join(path.relative_to(folder.parent).with_suffix("").parts) for path in folder.rglob("*.py")]
    code = """
import importlib, sys
for name in sys.argv[1:]:
    for loaded in [own for own in sys.modules if own.startswith("surefoot_lab")]:
        del sys.modules[loaded]
    importlib.import_module(name.removesuffix(".__init__"))
"""
    subprocess.run([sys.executable, "-c", code, *sorted(names)], check=True, timeout=300)
