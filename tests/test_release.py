"""Files of a release agree: versions, the bill of materials, the container, the recipe, the workflows."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import surefoot_lab

import surefoot
from tools.sbom import bill

ROOT = Path(__file__).parents[1]
RELEASED = "dev" not in surefoot.__version__


def text(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def test_one_version_everywhere() -> None:
    version = surefoot.__version__.removesuffix(".dev0")
    assert surefoot_lab.__version__ == surefoot.__version__
    heading = re.search(r"^## ([\d.]+) \((.+)\)$", text("CHANGELOG.md"), re.MULTILINE)
    assert heading is not None
    assert heading[1] == version
    assert f'version: "{version}"' in text("packaging/conda/recipe.yaml")
    if RELEASED:
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", heading[2])
        assert f"\nversion: {version}\n" in text("CITATION.cff")
        assert f'date-released: "{heading[2]}"' in text("CITATION.cff")


def test_the_lab_needs_the_core_of_its_version_and_has_its_licence() -> None:
    needed = tomllib.loads(text("lab/pyproject.toml"))["project"]["dependencies"]
    minor = surefoot.__version__.rpartition(".")[0] if RELEASED else surefoot.__version__.rsplit(".", 2)[0]
    assert [one.partition("==")[2] for one in needed if one.startswith("surefoot")] == [f"{minor}.*"]
    assert text("lab/LICENSE") == text("LICENSE")


def test_the_sdist_has_what_its_tests_need() -> None:
    targets = tomllib.loads(text("pyproject.toml"))["tool"]["hatch"]["build"]["targets"]
    included = targets["sdist"]["include"]
    assert all((ROOT / name.strip("/")).exists() for name in included)
    assert {"/src", "/lab", "/hatch_build.py", "/tests", "/conftest.py", "/tools", "/.github"} <= set(included)


@pytest.mark.parametrize("lock", ["run", "dev", "oldest"])
def test_the_bill_has_every_package_of_the_lock(lock: str) -> None:
    path = ROOT / "requirements" / f"{lock}.lock"
    pinned = re.findall(r"^([\w.-]+)(?:\[.*\])?==([^\s;\\]+)", path.read_text(), re.MULTILINE)
    found = bill(path)["components"]
    assert [(one["name"], one["version"]) for one in found] == [(name.lower(), version) for name, version in pinned]
    assert all(len(digest["content"]) == 64 for one in found for digest in one["hashes"])
    assert len({one["bom-ref"] for one in found}) == len(found) > 20


def test_the_bill_is_json() -> None:
    command = [sys.executable, "-m", "tools.sbom", "requirements/run.lock"]
    made = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert json.loads(made)["metadata"]["component"]["version"] == surefoot.__version__


def test_the_recipe_has_the_requirements_of_the_package() -> None:
    pyproject = text("pyproject.toml")
    needed = re.search(r'^dependencies = \["(.+)"\]$', pyproject, re.MULTILINE)
    oldest = re.search(r'^requires-python = "(.+)"$', pyproject, re.MULTILINE)
    assert needed is not None
    assert oldest is not None
    recipe = text("packaging/conda/recipe.yaml")
    assert f"- {needed[1].replace('>=', ' >=')}\n" in recipe
    assert f'- match(python, "{oldest[1].replace(">=", "<")}")\n' in recipe


@pytest.mark.parametrize(
    "path", ["packaging/Dockerfile", ".github/workflows/release.yml", ".github/workflows/docs.yml"]
)
def test_files_that_are_named_exist(path: str) -> None:
    named = re.findall(r"(?:requirements|tools|docs|tests)/[\w./-]+\w", text(path))
    named += [f"{name.replace('.', '/')}.py" for name in re.findall(r"-m (tools\.\w+)", text(path))]
    assert named
    for name in named:
        assert (ROOT / name).exists(), name


def test_the_container_is_built_from_what_it_needs() -> None:
    everything, *others = [line for line in text(".dockerignore").splitlines() if not line.startswith("#")]
    assert everything == "*"
    kept = {line[1:] for line in others if line.startswith("!")}
    assert kept == {"LICENSE", "README.md", "hatch_build.py", "lab", "pyproject.toml", "requirements", "src"}


def test_the_manual_names_the_report_that_the_site_links() -> None:
    (words,) = re.findall(
        r"markdown\.replace\(\"(.+?)\", '<a href=\"\.\./demo/report\.html\">", text("docs/site_hooks.py")
    )
    assert words in text("docs/start.md")


@pytest.mark.parametrize(
    "path", [*(ROOT / ".github/workflows").glob("*.yml"), ROOT / "action.yml"], ids=lambda path: path.stem
)
def test_actions_are_pinned_to_a_commit(path: Path) -> None:
    used = re.findall(r"^ +(?:- )?uses: (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    assert used
    for one in used:
        assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v[\d.]+", one), one
