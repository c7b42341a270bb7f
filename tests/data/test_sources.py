"""Files are known by content, hashed no more often than needed, and may not change while they are read."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from dragoman.data.sources import Sources
from dragoman.errors import DataError


def test_a_file_is_hashed_again_only_when_it_was_touched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a.tsv"
    file.write_bytes(b"a\tb\n")
    digest = Sources(tmp_path / "note.json").sha256(str(file))
    assert digest == hashlib.sha256(b"a\tb\n").hexdigest()
    with monkeypatch.context() as patched:
        patched.setattr(hashlib, "file_digest", lambda *_: pytest.fail("it is hashed again"))
        assert Sources(tmp_path / "note.json").sha256(str(file)) == digest
    os.utime(file, ns=(1, 1))
    assert Sources(tmp_path / "note.json").sha256(str(file)) == digest
    file.write_bytes(b"a\tc\n")
    os.utime(file, ns=(1, 1))  # as large and as old as before
    assert Sources(tmp_path / "note.json").sha256(str(file)) != digest


@pytest.mark.parametrize("note", ["", "[]", "{", '{"a": 1}', "null"])
def test_a_note_that_cannot_be_read_costs_time_and_nothing_else(tmp_path: Path, note: str) -> None:
    file = tmp_path / "a.tsv"
    file.write_bytes(b"a\tb\n")
    (tmp_path / "note.json").write_text(note)
    assert Sources(tmp_path / "note.json").sha256(str(file)) == hashlib.sha256(b"a\tb\n").hexdigest()


def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path: Path) -> None:
    file, sources = tmp_path / "a.tsv", Sources(tmp_path / "note.json")
    file.write_bytes(b"a\tb\n")
    sources.sha256(str(file))
    os.utime(file)
    sources.refuse_changed()  # the content is the same
    file.write_bytes(b"a\tb\nc\td\n")
    with pytest.raises(DataError, match="changed while it was being read") as caught:
        sources.refuse_changed()
    assert caught.value.where == str(file)


def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(DataError, match="not a regular file"):
        Sources(tmp_path / "note.json").sha256(str(tmp_path / "pipe"))


def test_a_file_that_is_gone_has_the_hash_that_is_known_of_it_wherever_the_folder_is(tmp_path: Path) -> None:
    file, note = tmp_path / "a" / "a.tsv", tmp_path / "a" / "run" / "note.json"
    note.parent.mkdir(parents=True)
    file.write_bytes(b"a\tb\n")
    digest = Sources(note).sha256(str(file))
    file.unlink()
    (tmp_path / "a").rename(tmp_path / "b")
    moved = Sources(tmp_path / "b" / "run" / "note.json")
    assert moved.sha256(str(tmp_path / "b" / "a.tsv")) == digest
    moved.refuse_changed()
    with pytest.raises(DataError, match="There is no such file"):
        moved.sha256(str(tmp_path / "b" / "other.tsv"))
