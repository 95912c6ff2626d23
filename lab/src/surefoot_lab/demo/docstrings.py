"""Every docstring of the Python standard library, read without executing it.

Modules written in Python are parsed, not imported, so that no module has side effects on import. Extension modules
have no source to parse; their docstrings are read from a few modules that every interpreter has loaded, or can load
without side effects.
"""

from __future__ import annotations

import ast
import inspect
import os
import sys
import sysconfig
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import (
    BuiltinFunctionType,
    ClassMethodDescriptorType,
    GetSetDescriptorType,
    MethodDescriptorType,
    ModuleType,
)

from surefoot.errors import SurefootError

# Not part of the library's own documentation: tests, applications, boilerplate, and packages that some
# distributions leave out or that later versions of Python removed.
EXCLUDED = """
    __pycache__ antigravity distutils encodings ensurepip idlelib lib2to3 msilib pydoc_data site-packages
    test tests this tkinter turtledemo __main__
"""

# Python implementations of modules written in C, and the names by which they are imported.
PUBLIC_NAMES = {
    "_collections_abc": "collections.abc",
    "_pydatetime": "datetime",
    "_pydecimal": "decimal",
    "_pyio": "io",
}

# Not sys: programs add hooks to it, and the result must not depend on the program.
C_MODULES = """
    builtins array atexit binascii cmath collections errno faulthandler functools gc itertools marshal math
    operator os select signal struct time unicodedata zlib
"""

C_MEMBERS = (MethodDescriptorType, ClassMethodDescriptorType, GetSetDescriptorType, staticmethod)


@dataclass(frozen=True)
class Docstring:
    """The docstring of one object: its qualified name, its cleaned text, the class it belongs to, if any."""

    name: str
    text: str
    owner: str | None = None


def docstrings() -> dict[str, Docstring]:
    """Every docstring of the standard library by qualified name, sorted."""
    found: dict[str, Docstring] = {}
    for docstring in (*_of_source(), *_of_c_modules()):
        found.setdefault(docstring.name, docstring)
    return dict(sorted(found.items()))


def _of_source() -> Iterator[Docstring]:
    library = Path(sysconfig.get_path("stdlib"))
    files = sorted(_source_files(library))
    if not files:
        raise SurefootError(
            f"the demo reads the source of Python's standard library, and there is none in {library}; "
            "run it with a Python that was installed with its library's source"
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # invalid escapes in the library's own strings
        for path in files:
            yield from of_module(_module_name(path.relative_to(library)), path)


def _source_files(library: Path) -> Iterator[Path]:
    for folder, folders, files in os.walk(library):
        at_top = Path(folder) == library
        folders[:] = [name for name in folders if _wanted(name, at_top)]
        yield from (Path(folder, name) for name in files if name.endswith(".py") and _wanted(name[:-3], at_top))


def _wanted(name: str, at_top: bool) -> bool:
    return name not in EXCLUDED.split() and (not at_top or name in sys.stdlib_module_names)


def _module_name(path: Path) -> str:
    first, *others = path.with_suffix("").parts
    # Objects of a private module of a package (and of its __init__) are known under the package's name.
    return ".".join([PUBLIC_NAMES.get(first, first), *(part for part in others if not part.startswith("_"))])


def of_module(name: str, path: Path) -> Iterator[Docstring]:
    """The docstrings of a module's source, under this name."""
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError):
        return  # a template, or a module meant for another version
    if text := ast.get_docstring(tree):
        yield Docstring(name, text)
    yield from _of_body(tree, name, owner=None)


def _of_body(node: ast.AST, prefix: str, owner: str | None) -> Iterator[Docstring]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            name = f"{prefix}.{child.name}"
            if text := ast.get_docstring(child):
                yield Docstring(name, text, owner)
            if isinstance(child, ast.ClassDef):
                yield from _of_body(child, name, owner=name)
        elif isinstance(child, ast.If | ast.Try | ast.ExceptHandler):
            yield from _of_body(child, prefix, owner)


def _of_c_modules() -> Iterator[Docstring]:
    for name in C_MODULES.split():
        try:
            module = import_module(name)
        except ImportError:
            continue  # not on this platform, or not in this build
        yield from _of_c_module(name, module)


def _of_c_module(name: str, module: ModuleType) -> Iterator[Docstring]:
    homes = {name, f"_{name}", "posix", "nt"}
    for label, value in sorted(vars(module).items()):
        if not isinstance(value, type | BuiltinFunctionType):
            continue
        if value.__module__ not in homes or value.__name__ != label:
            continue  # another module's, or an alias
        qualified = f"{name}.{label}"
        yield from _described(qualified, value, owner=None)
        if isinstance(value, type):
            for member, attribute in sorted(vars(value).items()):
                if isinstance(attribute, C_MEMBERS):
                    yield from _described(f"{qualified}.{member}", attribute, owner=qualified)


def _described(name: str, value: object, owner: str | None) -> Iterator[Docstring]:
    text = value.__doc__
    if isinstance(text, str) and text.strip():
        yield Docstring(name, inspect.cleandoc(text), owner)
