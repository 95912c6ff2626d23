"""Downloads over a real connection: whole, broken off, resumed, tampered with, missing, from a mirror."""

import gzip
import io
import json
import random
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest
from surefoot_lab.datasets import download as download_module
from surefoot_lab.datasets import fetch, locate

from surefoot.errors import SurefootError
from surefoot.io.atomic import sole_writer

CONTENT = random.Random(7).randbytes(1_000_000)
HALF = len(CONTENT) // 2


def files_in(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_a_collection_arrives_whole_with_a_receipt(shelf: Any, store: Path) -> None:
    shelf.add("thing", {"a.bin": CONTENT, "sub/b.txt": b"text\n"})
    assert locate("thing") is None
    folder = fetch("thing")
    assert folder == store / "thing" == locate("thing")
    assert files_in(folder) == ["a.bin", "sub/b.txt", "surefoot.json"]
    assert (folder / "a.bin").read_bytes() == CONTENT
    assert files_in(store / ".surefoot-downloads") == []
    sources = json.loads((folder / "surefoot.json").read_text())["sources"]
    assert [source["path"] for source in sources] == ["a.bin", "sub/b.txt"]
    assert all(source["was_known"] for source in sources)


def test_what_is_here_is_not_fetched_again(shelf: Any, site: Any, store: Path) -> None:
    shelf.add("thing", {"a.txt": b"text\n"})
    assert fetch("thing") == fetch("thing")
    assert len(site.log) == 1


def test_a_file_that_was_put_there_by_hand_is_verified_and_used(shelf: Any, site: Any, store: Path) -> None:
    shelf.add("thing", {"a.txt": b"text\n", "b.txt": b"more\n"})
    (store / ".surefoot-downloads/thing").mkdir(parents=True)
    (store / ".surefoot-downloads/thing/a.txt").write_text("text\n")
    (store / ".surefoot-downloads/thing/b.txt").write_text("something else\n")
    assert (fetch("thing") / "b.txt").read_text() == "more\n"
    assert [seen.path for seen in site.log] == ["/thing/b.txt"]


def test_a_broken_connection_leaves_a_part_that_is_continued(shelf: Any, site: Any, store: Path) -> None:
    shelf.add("thing", {"a.bin": CONTENT})
    site.cut_after = HALF
    with pytest.raises(SurefootError, match=r"broke off after 500,000 of 1,000,000 bytes .*run it again") as caught:
        fetch("thing")
    assert "\n" not in str(caught.value)
    assert locate("thing") is None
    assert (store / ".surefoot-downloads/thing/a.bin.part").stat().st_size == HALF
    assert not (store / ".surefoot-downloads/thing/a.bin").exists()
    site.cut_after = None
    assert (fetch("thing") / "a.bin").read_bytes() == CONTENT
    assert [(seen.range, seen.status, seen.sent) for seen in site.log] == [
        (None, 200, HALF),
        (f"bytes={HALF}-", 206, len(CONTENT) - HALF),
    ]


def test_an_interrupt_leaves_a_part_that_is_continued(shelf: Any, site: Any, store: Path) -> None:
    shelf.add("thing", {"a.bin": CONTENT})

    def press_control_c(here: int, total: int | None, message: str) -> None:
        assert message.startswith("a.bin")
        assert total == len(CONTENT)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch("thing", press_control_c)
    kept = (store / ".surefoot-downloads/thing/a.bin.part").stat().st_size
    assert 0 < kept < len(CONTENT)
    assert (fetch("thing") / "a.bin").read_bytes() == CONTENT
    assert site.log[-1].range == f"bytes={kept}-"
    assert site.log[-1].sent == len(CONTENT) - kept


def test_a_server_without_ranges_starts_again(shelf: Any, site: Any, store: Path) -> None:
    shelf.add("thing", {"a.bin": CONTENT})
    site.has_ranges, site.cut_after = False, HALF
    with pytest.raises(SurefootError, match="broke off"):
        fetch("thing")
    site.cut_after = None
    assert (fetch("thing") / "a.bin").read_bytes() == CONTENT
    assert site.log[-1].status == 200


def test_a_file_that_changed_meanwhile_starts_again(shelf: Any, site: Any, store: Path) -> None:
    shelf.add("thing", {"a.bin": CONTENT}, known=False)
    site.cut_after = HALF
    with pytest.raises(SurefootError, match="broke off"):
        fetch("thing")
    newer = CONTENT[::-1]
    site.cut_after, site.tag, site.files["/thing/a.bin"] = None, '"v2"', newer
    assert (fetch("thing") / "a.bin").read_bytes() == newer
    assert site.log[-1].status == 200


@pytest.mark.parametrize("tag", ["", 'W/"weak"'])
def test_without_a_version_to_hold_on_to_it_starts_again(tag: str, shelf: Any, site: Any, store: Path) -> None:
    shelf.add("thing", {"a.bin": CONTENT})
    site.tag, site.cut_after = tag, HALF
    with pytest.raises(SurefootError, match="broke off"):
        fetch("thing")
    site.cut_after = None
    assert (fetch("thing") / "a.bin").read_bytes() == CONTENT
    assert site.log[-1].range is None


def test_a_part_that_is_complete_needs_no_more_bytes(shelf: Any, site: Any, store: Path) -> None:
    shelf.add("thing", {"a.bin": CONTENT})
    site.cut_after = HALF
    with pytest.raises(SurefootError, match="broke off"):
        fetch("thing")
    site.cut_after = None
    (store / ".surefoot-downloads/thing/a.bin.part").write_bytes(CONTENT)
    assert (fetch("thing") / "a.bin").read_bytes() == CONTENT
    assert (site.log[-1].status, site.log[-1].sent) == (416, 0)


def test_a_part_that_is_too_long_is_dropped(shelf: Any, site: Any, store: Path) -> None:
    shelf.add("thing", {"a.bin": CONTENT})
    site.cut_after = HALF
    with pytest.raises(SurefootError, match="broke off"):
        fetch("thing")
    site.cut_after = None
    (store / ".surefoot-downloads/thing/a.bin.part").write_bytes(CONTENT + b"more")
    assert (fetch("thing") / "a.bin").read_bytes() == CONTENT
    assert [seen.status for seen in site.log[1:]] == [416, 200]


def test_another_part_than_was_asked_for_is_not_put_in(shelf: Any, site: Any, store: Path) -> None:
    shelf.add("thing", {"a.bin": CONTENT}, known=False)
    site.cut_after = HALF
    with pytest.raises(SurefootError, match="broke off"):
        fetch("thing")
    site.cut_after, site.shifts_ranges = None, True
    with pytest.raises(SurefootError, match="another part than it was asked for; run it again"):
        fetch("thing")
    assert (fetch("thing") / "a.bin").read_bytes() == CONTENT


def test_a_tampered_file_is_refused_and_nothing_is_left(shelf: Any, site: Any, store: Path) -> None:
    shelf.add("thing", {"a.bin": CONTENT})
    site.files["/thing/a.bin"] = CONTENT[:-1] + b"\0"
    with pytest.raises(SurefootError, match=r"not a\.bin as the registry knows it \(sha256:.*refused and deleted"):
        fetch("thing")
    assert locate("thing") is None
    assert files_in(store) == []


def test_a_tampered_part_is_refused_and_the_next_try_is_clean(shelf: Any, site: Any, store: Path) -> None:
    shelf.add("thing", {"a.bin": CONTENT})
    site.cut_after = HALF
    with pytest.raises(SurefootError, match="broke off"):
        fetch("thing")
    site.cut_after = None
    (store / ".surefoot-downloads/thing/a.bin.part").write_bytes(bytes(HALF))
    with pytest.raises(SurefootError, match="refused and deleted"):
        fetch("thing")
    assert (fetch("thing") / "a.bin").read_bytes() == CONTENT


def test_another_size_is_refused_before_it_is_downloaded(shelf: Any, site: Any, store: Path) -> None:
    shelf.add("thing", {"a.bin": CONTENT}, known=False)
    with shelf.path.open("a") as file:
        file.write("size = 999\n")
    with pytest.raises(SurefootError, match=r"has 1,000,000 bytes where the registry knows 999"):
        fetch("thing")
    site.has_length = False
    with pytest.raises(SurefootError, match=r"sends more than the 999 bytes expected; nothing was kept"):
        fetch("thing")
    assert files_in(store) == []


def test_an_unknown_hash_is_computed_and_recorded(shelf: Any, store: Path) -> None:
    shelf.add("thing", {"a.txt": b"text\n"}, known=False)
    (source,) = json.loads((fetch("thing") / "surefoot.json").read_text())["sources"]
    assert source["sha256"] == "b9e68e1bea3e5b19ca6b2f98b73a54b73daafaa250484902e09982e07a12e733"
    assert not source["was_known"]


@pytest.mark.parametrize(("content", "what"), [(b"\n <!DOCTYPE html><p>Sign in", "a web page"), (b"", "an empty file")])
def test_a_login_page_is_not_taken_for_data(content: bytes, what: str, shelf: Any, store: Path) -> None:
    shelf.add("thing", {"a.txt": content}, known=False)
    with pytest.raises(SurefootError, match=f"sent {what} instead of a.txt"):
        fetch("thing")
    assert files_in(store) == []


def test_a_missing_file_is_one_line(shelf: Any, site: Any, store: Path) -> None:
    shelf.add("thing", {"a.txt": b"text\n"})
    site.files.clear()
    with pytest.raises(
        SurefootError, match=r"/thing/a\.txt: the server said 404 Not Found; it may have moved"
    ) as caught:
        fetch("thing")
    assert "\n" not in str(caught.value)


def test_no_server_is_one_line(shelf: Any, site: Any, store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shelf.add("thing", {"a.txt": b"text\n"})
    monkeypatch.setenv("SUREFOOT_MIRROR", "http://127.0.0.1:1/nobody/here")
    with pytest.raises(SurefootError, match=r"http://127\.0\.0\.1:1/nobody/here/thing/a\.txt: no answer \("):
        fetch("thing")
    monkeypatch.setenv("SUREFOOT_MIRROR", "elsewhere")
    with pytest.raises(SurefootError, match=r"elsewhere/thing/a\.txt: not an address"):
        fetch("thing")


def test_runs_are_stored_compressed(shelf: Any, site: Any, store: Path) -> None:
    shelf.add("thing", {"runs/bm25.run.gz": b"q1 Q0 d1 1 1 x\n"}, renamed=".gz")
    folder = fetch("thing")
    assert [seen.path for seen in site.log] == ["/thing/runs/bm25.run"]
    assert files_in(folder) == ["runs/bm25.run.gz", "surefoot.json"]
    assert gzip.decompress((folder / "runs/bm25.run.gz").read_bytes()) == b"q1 Q0 d1 1 1 x\n"


class TestMirror:
    RUN = b"q1 Q0 d1 1 1 x\n"

    @pytest.fixture(autouse=True)
    def _mirror(self, shelf: Any, site: Any, store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        shelf.add("thing", {"a.txt": b"text\n", "runs/bm25.run.gz": self.RUN}, renamed=".gz")
        site.files = {
            "/copies/thing/a.txt": b"text\n",
            "/copies/thing/runs/bm25.run.gz": gzip.compress(self.RUN, compresslevel=1),
        }
        monkeypatch.setenv("SUREFOOT_MIRROR", f"{site.address}/copies/")

    def test_a_mirror_is_a_copy_of_the_finished_folder(self, site: Any) -> None:
        folder = fetch("thing")
        assert [seen.path for seen in site.log] == ["/copies/thing/a.txt", "/copies/thing/runs/bm25.run.gz"]
        assert gzip.decompress((folder / "runs/bm25.run.gz").read_bytes()) == self.RUN
        assert all(source["was_known"] for source in json.loads((folder / "surefoot.json").read_text())["sources"])

    def test_a_mirror_is_verified_too(self, site: Any) -> None:
        site.files["/copies/thing/runs/bm25.run.gz"] = gzip.compress(b"q1 Q0 d2 1 1 x\n")
        with pytest.raises(SurefootError, match=r"not runs/bm25\.run\.gz as the registry knows it"):
            fetch("thing")
        site.files["/copies/thing/runs/bm25.run.gz"] = b"no archive"
        with pytest.raises(SurefootError, match=r"not runs/bm25\.run\.gz as the registry knows it"):
            fetch("thing")

    def test_a_mirror_may_be_a_folder(self, site: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        for path, content in site.files.items():
            target = tmp_path / path.lstrip("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
        monkeypatch.setenv("SUREFOOT_MIRROR", (tmp_path / "copies").as_uri())
        assert (fetch("thing") / "a.txt").read_bytes() == b"text\n"
        assert not site.log


class TestDataFolder:
    def test_the_users_own_folder_comes_first(
        self, shelf: Any, site: Any, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        shelf.add("thing", {"a.txt": b"text\n"}, extra='shows = ["a.txt"]')
        own = tmp_path / "own"
        (own / "thing").mkdir(parents=True)
        monkeypatch.setenv("SUREFOOT_DATA", str(own))
        assert locate("thing") is None
        (own / "thing/a.txt").write_text("mine\n")
        assert locate("thing") == fetch("thing") == own / "thing"
        assert not site.log

    def test_what_it_lacks_is_fetched(
        self, shelf: Any, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        shelf.add("thing", {"a.txt": b"text\n"})
        monkeypatch.setenv("SUREFOOT_DATA", str(tmp_path / "own"))
        assert fetch("thing") == store / "thing"


def test_a_foreign_folder_in_the_cache_is_left_alone(shelf: Any, site: Any, store: Path) -> None:
    shelf.add("thing", {"a.txt": b"text\n"}, extra='shows = ["a.txt"]')
    (store / "thing").mkdir(parents=True)
    (store / "thing/diary.txt").write_text("mine\n")
    with pytest.raises(SurefootError, match=r"is there but lacks a\.txt; move it away"):
        fetch("thing")
    assert files_in(store) == ["thing/diary.txt"]


def test_a_home_folder_as_the_cache_loses_no_file(shelf: Any, store: Path) -> None:
    shelf.add("thing", {"a.txt": b"text\n"})
    thesis = store / "downloads/thing/thesis.txt"
    thesis.parent.mkdir(parents=True)
    thesis.write_text("mine\n")
    assert fetch("thing") == fetch("thing") == store / "thing"
    assert thesis.read_text() == "mine\n"


def test_two_at_once_do_not_write_to_the_same_part(shelf: Any, store: Path) -> None:
    shelf.add("thing", {"a.txt": b"text\n"})
    (store / ".surefoot-downloads/thing").mkdir(parents=True)
    with (
        sole_writer(store / ".surefoot-downloads/thing"),
        pytest.raises(SurefootError, match="thing: another process writes to it; wait for it"),
    ):
        fetch("thing")
    assert fetch("thing") == store / "thing"


def test_a_cache_that_cannot_be_written_is_one_line(
    shelf: Any, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf.add("thing", {"a.txt": b"text\n"})
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("SUREFOOT_CACHE", str(tmp_path / "file"))
    with pytest.raises(SurefootError, match=r"can't store thing in .*SUREFOOT_CACHE names another folder"):
        fetch("thing")


def zip_of(files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return out.getvalue()


def deflated(files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return out.getvalue()


def tar_of(files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return out.getvalue()


class TestArchives:
    @pytest.mark.parametrize(("name", "packed"), [("t.zip", zip_of), ("t.tar.gz", tar_of)])
    def test_archives_are_unpacked_and_not_kept(self, name: str, packed: Any, shelf: Any, store: Path) -> None:
        shelf.add("thing", {name: packed({"Fold1/train.txt": b"0 qid:1 1:2\n"})}, extra='shows = ["Fold1/train.txt"]')
        assert files_in(fetch("thing")) == ["Fold1/train.txt", "surefoot.json"]

    @pytest.mark.parametrize(("name", "packed"), [("t.zip", zip_of), ("t.tar.gz", tar_of)])
    def test_a_damaged_archive_leaves_nothing(self, name: str, packed: Any, shelf: Any, site: Any, store: Path) -> None:
        whole = packed({"train.txt": CONTENT})
        shelf.add("thing", {name: whole[: len(whole) // 2]}, known=False)
        with pytest.raises(SurefootError, match=r"damaged archive .*run it again"):
            fetch("thing")
        assert locate("thing") is None
        site.files[f"/thing/{name}"] = whole
        assert files_in(fetch("thing")) == ["surefoot.json", "train.txt"]

    def test_an_archive_cannot_write_outside_its_folder(self, shelf: Any, store: Path) -> None:
        shelf.add("thing", {"t.tar.gz": tar_of({"../../../escaped.txt": b"x"})})
        with pytest.raises(SurefootError, match="damaged archive"):
            fetch("thing")
        assert not list(store.parent.rglob("escaped.txt"))

    @pytest.mark.parametrize(("name", "packed"), [("t.zip", deflated), ("t.tar.gz", tar_of)])
    def test_an_archive_that_fills_the_disk_is_refused(self, name: str, packed: Any, shelf: Any, store: Path) -> None:
        shelf.add("thing", {name: packed({"zeros": bytes(150 << 20)})})
        with pytest.raises(SurefootError, match=r"would unpack to 157,286,400 bytes, as no collection does; refused"):
            fetch("thing")
        assert locate("thing") is None


def refused(site: Any) -> str:
    """The one line that a download from a hostile server ends with."""
    with pytest.raises(SurefootError) as caught:
        fetch("thing")
    message = str(caught.value)
    assert message.startswith(f"{site.address}/thing/")
    assert "\n" not in message
    assert locate("thing") is None
    return message


class TestHostileServers:
    def test_headers_that_never_end_are_given_up(self, shelf: Any, site: Any, store: Path, monkeypatch: Any) -> None:
        shelf.add("thing", {"a.bin": CONTENT[:400]})
        site.slow_head = True
        monkeypatch.setattr(download_module, "TIMEOUT", 0.2)
        assert "no answer (timed out)" in refused(site)

    def test_a_slow_drip_is_given_up_and_continued(self, shelf: Any, site: Any, store: Path, monkeypatch: Any) -> None:
        shelf.add("thing", {"a.bin": CONTENT[:400]})
        site.piece, site.pause = 1, 0.01
        monkeypatch.setattr(download_module, "WINDOW", 0.1)
        assert "the server sends less than 1,000 bytes a second" in refused(site)
        part = (store / ".surefoot-downloads/thing/a.bin.part").stat().st_size
        assert 0 < part < 400
        site.pause = 0.0
        assert (fetch("thing") / "a.bin").read_bytes() == CONTENT[:400]
        assert site.log[-1].range == f"bytes={part}-"

    def test_the_total_time_is_limited(self, shelf: Any, site: Any, store: Path, monkeypatch: Any) -> None:
        shelf.add("thing", {"a.bin": CONTENT})
        monkeypatch.setattr(download_module, "LONGEST", 0.0)
        assert "0 hours have passed" in refused(site)

    def test_an_endless_body_is_cut_off(self, shelf: Any, site: Any, store: Path, monkeypatch: Any) -> None:
        shelf.add("thing", {"a.bin": CONTENT})
        site.endless, site.has_length = True, False
        monkeypatch.setattr(download_module, "LARGEST", 3_000_000)
        assert "the server sends more than the 3,000,000 bytes expected; nothing was kept" in refused(site)
        assert files_in(store / ".surefoot-downloads") == []

    def test_a_redirect_loop_ends(self, shelf: Any, site: Any, store: Path) -> None:
        shelf.add("thing", {"a.bin": CONTENT})
        site.redirect = f"{site.address}/thing/a.bin"
        assert "the server said 302" in refused(site)

    @pytest.mark.parametrize("length", ["2000000", "-5", "many", "9" * 30])
    def test_a_wrong_length_is_no_whole_file(self, length: str, shelf: Any, site: Any, store: Path) -> None:
        """A body without a usable length ends with the connection; then the hash decides."""
        shelf.add("thing", {"a.bin": CONTENT})
        site.length = length
        if length.isdecimal():
            assert f"broke off after 1,000,000 of {int(length):,} bytes" in refused(site)
        else:
            assert (fetch("thing") / "a.bin").read_bytes() == CONTENT

    def test_a_length_that_is_too_short_is_no_whole_file(self, shelf: Any, site: Any, store: Path) -> None:
        shelf.add("thing", {"a.bin": CONTENT})
        site.length = "999"
        assert "it was refused and deleted" in refused(site)
        assert files_in(store / ".surefoot-downloads") == []

    @pytest.mark.parametrize("cut", [slice(0, -9), slice(5, None), slice(0, 0)])
    def test_bad_gzip_from_a_mirror_is_refused(
        self, cut: slice, shelf: Any, site: Any, store: Path, monkeypatch: Any
    ) -> None:
        shelf.add("thing", {"a.run.gz": b"1 Q0 d 1 1 x\n"}, renamed=".gz")
        site.files["/thing/a.run.gz"] = gzip.compress(b"1 Q0 d 1 1 x\n")[cut]
        monkeypatch.setenv("SUREFOOT_MIRROR", site.address)
        assert "it was refused and deleted" in refused(site)


@pytest.mark.parametrize("target", ["file:///etc/hostname", "ftp://127.0.0.1/a.bin"])
def test_a_redirect_to_another_scheme_is_refused(target: str, shelf: Any, site: Any, store: Path) -> None:
    shelf.add("thing", {"a.bin": CONTENT})
    site.redirect = target
    with pytest.raises(SurefootError, match=r"redirects to ftp://, which is refused|the server said 302"):
        fetch("thing")
    site.redirect = ""
    assert (fetch("thing") / "a.bin").read_bytes() == CONTENT


class TestLetor:
    @pytest.fixture(autouse=True)
    def _registry(self, shelf: Any, store: Path) -> None:
        shelf.add("letor", {"MQ2008.rar": b"Rar!"}, extra='maker = "mq2008"\nshows = ["S1.txt.gz", "S5.txt.gz"]')

    def test_the_parts_are_the_tests_of_the_folds(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        program = tmp_path / "bin/unrar"
        program.parent.mkdir()
        program.write_text(
            "#!/bin/sh\nfor k in 1 2 3 4 5; do /bin/mkdir -p MQ2008/Fold$k; echo $k >MQ2008/Fold$k/test.txt; done\n"
        )
        program.chmod(0o755)
        monkeypatch.setenv("PATH", str(program.parent))
        folder = fetch("letor")
        assert files_in(folder) == [*(f"S{part}.txt.gz" for part in range(1, 6)), "surefoot.json"]
        parts = [gzip.decompress((folder / f"S{part}.txt.gz").read_bytes()) for part in range(1, 6)]
        assert parts == [b"2\n", b"3\n", b"4\n", b"5\n", b"1\n"]

    def test_without_a_program_it_says_which(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PATH", str(tmp_path))
        with pytest.raises(SurefootError, match="none of unrar, bsdtar, 7z is installed"):
            fetch("letor")

    def test_an_archive_that_does_not_unpack_is_one_line(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        program = tmp_path / "bin/7z"
        program.parent.mkdir()
        program.write_text("#!/bin/sh\necho not an archive >&2\nexit 2\n")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", str(program.parent))
        with pytest.raises(SurefootError, match=r"7z can't unpack .*MQ2008\.rar: not an archive"):
            fetch("letor")
