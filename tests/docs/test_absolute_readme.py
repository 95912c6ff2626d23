"""Links of the README for an index, which knows no files beside it."""

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

from surefoot import __version__

ROOT = Path(__file__).parents[2]


def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("absolute_readme", ROOT / "docs" / "absolute_readme.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_link_of_the_readme_becomes_absolute() -> None:
    module = script()
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    targets = [found["target"] for found in module.LINK.finditer(text)]
    assert len(targets) > 10
    assert all((ROOT / target.partition("#")[0]).exists() for target in targets)
    found = module.absolute(text, "https://host/we/it", "v1")
    assert not module.LINK.search(found)
    assert found.count("(https://host/we/it/") == len(targets)
    assert "](https://host/we/it/raw/v1/docs/picture.png)" in found


def test_a_release_needs_the_address(tmp_path: Path) -> None:
    for name in ("docs/absolute_readme.py", "src/surefoot/_version.py", "README.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    project = '[project]\nname = "x"\n'
    (tmp_path / "pyproject.toml").write_text(project)
    command = [sys.executable, str(tmp_path / "docs" / "absolute_readme.py")]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert found.returncode == 1
    assert found.stderr == "pyproject.toml has no address: add Repository to [project.urls] before a release\n"
    (tmp_path / "pyproject.toml").write_text(f'{project}[project.urls]\nRepository = "https://host/we/it/"\n')
    subprocess.run(command, check=True)
    text = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert f"](https://host/we/it/blob/v{__version__}/docs/start.md)" in text
    assert "\npip install surefoot surefoot-lab " in text
