"""Completion scripts, run by the shells themselves."""

import shutil
import subprocess
from pathlib import Path

import pytest

from surefoot.cli import COMMANDS, main

ASK = {
    "bash": 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))\n'
    '_surefoot surefoot "${COMP_WORDS[COMP_CWORD]}"; echo "${COMPREPLY[@]}"',
    "zsh": 'file=$1; shift; words=("$@"); CURRENT=$#; compadd() { shift; (($#)) && echo $@ }; _files() { :; }\n'
    'source "$file"',
}


@pytest.fixture(params=list(ASK))
def complete(request, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    if shutil.which(request.param) is None:
        pytest.skip(f"{request.param} is not installed")
    assert main(["completion", request.param]) == 0
    script = tmp_path / "script"
    script.write_text(capsys.readouterr().out)

    def ask(*words: str) -> list[str]:
        command = [request.param, "-c", ASK[request.param], "-", str(script), "surefoot", *words]
        found = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
        return [word for word in found if word.startswith(words[-1])]  # zsh itself drops the others

    return ask


def test_commands(complete):
    assert set(COMMANDS) <= set(complete(""))
    assert complete("eva") == ["evaluate"]
    assert complete("guard", "f") == ["fit"]


def test_options_and_their_values(complete):
    assert complete("evaluate", "--qr") == ["--qrels"]
    assert complete("guard", "apply", "--cand") == ["--candidate"]
    assert complete("gate", "--format", "j") == ["json"]


def test_files_are_left_to_the_shell(complete):
    assert complete("evaluate", "some") == []
