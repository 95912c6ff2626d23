"""From downloaded sources to the folder of a collection."""

from __future__ import annotations

import gzip
import json
import shutil
import subprocess
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path

from surefoot._version import __version__
from surefoot.errors import SurefootError
from surefoot_lab.datasets.download import digest_of
from surefoot_lab.datasets.registry import Collection, Source

RECEIPT = "surefoot.json"
"""A file in each finished folder, with the addresses and hashes of its sources."""

MOST_GROWTH = 100
"""How many times the size of an archive its content may be."""

UNPACKERS = {"unrar": ["x", "-idq"], "bsdtar": ["-xf"], "7z": ["x", "-bd"]}
"""Programs that unpack .rar archives, and their arguments."""


def build(collection: Collection, files: Mapping[Source, Path], folder: Path) -> None:
    """Fill an empty folder with a collection: sources copied or unpacked, converted, and a receipt."""
    for source, file in files.items():
        try:
            _place(source, file, folder)
        except (zipfile.BadZipFile, tarfile.TarError, EOFError, gzip.BadGzipFile, zlib.error) as error:
            file.unlink()
            raise SurefootError(f"{source.url}: damaged archive ({error}); it was deleted, run it again") from None
    notes = _converter(collection.maker)(folder) if collection.maker else ()
    receipt = {
        "name": collection.name,
        "surefoot": __version__,
        "sources": [_origin(source, file) for source, file in files.items()],
        "notes": list(notes),
    }
    (folder / RECEIPT).write_text(json.dumps(receipt, indent=1) + "\n", encoding="utf-8")


def _origin(source: Source, file: Path) -> dict[str, object]:
    # The hash of compressed files is that of the text, as in the registry: compressors differ.
    digest = digest_of(file, unpack=source.is_packed_here and file.suffix == ".gz")
    return {"path": source.path, "url": source.url, "sha256": digest, "was_known": source.hash is not None}


def _place(source: Source, file: Path, folder: Path) -> None:
    target = folder / source.path
    target.parent.mkdir(parents=True, exist_ok=True)
    if file.name.endswith(".zip"):
        with zipfile.ZipFile(file) as archive:
            _refuse_bomb(source, file, sum(member.file_size for member in archive.infolist()))
            archive.extractall(folder)
    elif file.name.endswith((".tar.gz", ".tgz")):
        with tarfile.open(file) as archive:
            _refuse_bomb(source, file, sum(member.size for member in archive.getmembers()))
            archive.extractall(folder, filter="data")
    elif file.name.endswith(".rar"):
        _unpack_rar(file, folder)
    elif target.suffix == ".gz" and file.suffix != ".gz":
        pack(file.read_bytes(), target)
    else:
        shutil.copyfile(file, target)


def _refuse_bomb(source: Source, file: Path, size: int) -> None:
    """Text shrinks to a tenth or a twentieth; what claims to grow far beyond that was made to fill the disk."""
    if size > MOST_GROWTH * max(file.stat().st_size, 1 << 20):
        file.unlink()
        raise SurefootError(f"{source.url}: the archive would unpack to {size:,} bytes, as no collection does; refused")


def pack(text: bytes, target: Path) -> None:
    """Compress deterministically."""
    target.write_bytes(gzip.compress(text, mtime=0))


def _unpack_rar(file: Path, folder: Path) -> None:
    program = next((program for program in map(shutil.which, UNPACKERS) if program), None)
    if program is None:
        raise SurefootError(
            f"{file} is a .rar archive and none of {', '.join(UNPACKERS)} is installed; install one and run this again"
        )
    command = [program, *UNPACKERS[Path(program).stem], str(file)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        reason = (done.stderr or done.stdout).strip().splitlines()[-1:]
        raise SurefootError(f"{program} can't unpack {file}: {''.join(reason)}; delete the file and run this again")


def _converter(name: str) -> Callable[[Path], tuple[str, ...]]:
    if name == "trec-web-2012":
        from surefoot_lab.datasets.trec_web_2012 import write_tables

        return write_tables
    if name == "numbered-scores":
        return number_topics
    if name == "mq2008":
        return parts_of_folds
    raise SurefootError(f"the registry names an unknown maker {name!r}")


def number_topics(folder: Path) -> tuple[str, ...]:
    """Score tables of unnamed runs and topics: a column of topics t1, t2 and so on, in the order of the rows."""
    for raw in sorted((folder / "raw").glob("*.csv")):
        header, *rows = raw.read_text(encoding="utf-8").splitlines()
        lines = [f"topic,{header}".replace('"', ""), *(f"t{number},{row}" for number, row in enumerate(rows, 1))]
        (folder / f"{raw.stem.rpartition('_')[2]}.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return ()


def parts_of_folds(folder: Path) -> tuple[str, ...]:
    """The five parts of a LETOR collection, each once: fold k is tested on part k - 1, and fold 1 on part 5."""
    for fold in range(1, 6):
        found = sorted(folder.glob(f"**/Fold{fold}/test.txt"))
        if not found:
            raise SurefootError(f"no Fold{fold}/test.txt in the archive; it is not LETOR 4.0 as it was published")
        pack(found[0].read_bytes(), folder / f"S{(fold - 2) % 5 + 1}.txt.gz")
    for leftover in [path for path in folder.iterdir() if path.is_dir()]:
        shutil.rmtree(leftover)
    return ()
