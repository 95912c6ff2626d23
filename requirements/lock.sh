#!/bin/sh
# Makes the locks from pyproject.toml and lab/pyproject.toml: exact versions and hashes for every Python from 3.11 on, no
# index address. Needs uv (`pip install uv`). Commit the changes.
set -eu
cd "$(dirname "$0")/.."
lock() {
    out=$1
    shift
    uv pip compile "$@" --universal --python-version 3.11 --generate-hashes --no-header --no-emit-index-url --no-annotate \
        --no-emit-package surefoot --override requirements/overrides.txt --quiet --upgrade -o "requirements/$out"
}
lock run.lock pyproject.toml lab/pyproject.toml --group build
lock dev.lock pyproject.toml lab/pyproject.toml --extra all --group dev
lock bench.lock pyproject.toml lab/pyproject.toml --extra all --group bench --constraint requirements/dev.lock
lock docs.lock pyproject.toml lab/pyproject.toml --group build --group docs
lock oldest.lock pyproject.toml lab/pyproject.toml --extra all --group test --resolution lowest-direct
echo "ziglang>=0.14" | lock compiler.lock -  # where there is no C compiler
