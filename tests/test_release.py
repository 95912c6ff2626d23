"""Files of a release agree: versions, the bill of materials, the container, the recipe, the workflows."""

import json
import re
import subprocess
import sys
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
    assert f'skip: match(python, "{oldest[1].replace(">=", "<")}")\n' in recipe


@pytest.mark.parametrize(
    "path", ["packaging/Dockerfile", ".github/workflows/release.yml", ".github/workflows/docs.yml"]
)
def test_files_that_are_named_exist(path: str) -> None:
    named = re.findall(r"(?:requirements|tools|docs|tests)/[\w./-]+\w", text(path))
    named += [f"{name.replace('.', '/')}.py" for name in re.findall(r"-m (tools\.\w+)", text(path))]
    assert named
    for name in named:
        assert (ROOT / name).exists(), name
