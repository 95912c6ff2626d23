"""Hooks of the site: pages made from the code, and code blocks without their options for the tests."""

import argparse
import ast
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
SOURCES = (ROOT / "src" / "surefoot", ROOT / "lab" / "src" / "surefoot_lab")
FENCE = re.compile(r"^(```\w+) [^`\n]*$", re.MULTILINE)
OUTSIDE = re.compile(r"\[([^\]]+)\]\((?:\.\./)+(examples/[^)]+)\)")


def groups() -> dict[str, list[str]]:
    """The public names of each package that has a stub, by the package's name."""
    stubs = {
        ".".join(stub.parent.relative_to(source.parent).parts): stub
        for source in SOURCES
        for stub in sorted(source.glob("**/__init__.pyi"))
    }
    return {package: names for package, stub in stubs.items() if (names := _names(stub))}


def _names(stub: Path) -> list[str]:
    imports = (node for node in ast.parse(stub.read_text(encoding="utf-8")).body if isinstance(node, ast.ImportFrom))
    names = (alias.asname or alias.name for node in imports for alias in node.names)
    return sorted({name for name in names if not name.startswith("_")}, key=str.lower)


GROUPS = groups()


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put the API pages where the navigation has a place for them."""
    reference = next(section["Reference"] for section in config.nav or [] if "Reference" in section)
    reference.append({"API": [{package: page_of(package)} for package in GROUPS]})
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    files.append(File.generated(config, "reference-commands.md", content=commands()))
    for package, names in GROUPS.items():
        parts = [f"# {package}\n", *(f"::: {package}.{name}\n" for name in names)]
        files.append(File.generated(config, page_of(package), content="\n".join(parts)))
    return files


def on_page_markdown(markdown: str, **_: object) -> str:
    """Drop the words after the language of a code block, which only tests read, and links that leave the site.

    The demo's report becomes a link: `tools.site` puts it beside the manual.
    """
    markdown = markdown.replace("`demo/report.html`", '<a href="../demo/report.html">the demo\'s report</a>')
    return OUTSIDE.sub(r"\1 (`\2`)", FENCE.sub(r"\1", markdown))


def page_of(package: str) -> str:
    return f"api/{package}.md"


def commands() -> str:
    """The help of every command."""
    from surefoot.cli import build_parser, installed_commands

    names = installed_commands()
    parser = build_parser(names)
    (choices,) = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    parts = [f"## surefoot {name}\n\n```text\n{_help(choices.choices[name])}```\n" for name in names]
    return "\n".join(["# Every command and its options\n", *parts])


def _help(parser: argparse.ArgumentParser) -> str:
    parser.formatter_class = lambda prog: argparse.RawDescriptionHelpFormatter(prog, width=100)
    return parser.format_help()
