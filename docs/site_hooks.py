"""What the site makes of the manual: pages from the code, and code blocks without the words for the tests.

Every command with its options and every public name has its place in pages that are made from the code.
"""

import argparse
import ast
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
STUB = ROOT / "src" / "surefoot" / "__init__.pyi"
FENCE = re.compile(r"^(```\w+) [^`\n]*$", re.MULTILINE)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    files.append(File.generated(config, "reference-commands.md", content=commands()))
    files.append(File.generated(config, "reference-api.md", content=api()))
    return files


def on_page_markdown(markdown: str, **_: object) -> str:
    """Code blocks say after their language what tests are to know; the site's Markdown takes that for prose."""
    return FENCE.sub(r"\1", markdown)


def commands() -> str:
    """The help of every command."""
    from surefoot.cli import COMMANDS, build_parser

    parser = build_parser(COMMANDS)
    (choices,) = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    parts = [f"## surefoot {name}\n\n```text\n{_help(choices.choices[name])}```\n" for name in COMMANDS]
    return "\n".join(["# Every command and its options\n", *parts])


def _help(parser: argparse.ArgumentParser) -> str:
    parser.formatter_class = lambda prog: argparse.RawDescriptionHelpFormatter(prog, width=100)
    return parser.format_help()


def api() -> str:
    """The public names of surefoot, by the package that they come from."""
    rooms: dict[str, list[str]] = {}
    for node in ast.parse(STUB.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom) and node.module and not node.module.endswith("_version"):
            rooms.setdefault(node.module.split(".")[1], []).extend(alias.name for alias in node.names)
    parts = ["# The public names\n\nAll of them are importable from `surefoot`.\n"]
    for room, names in sorted(rooms.items()):
        parts.append(f"## {room}\n")
        parts.extend(f"::: surefoot.{name}\n" for name in sorted(names, key=str.lower))
    return "\n".join(parts)
