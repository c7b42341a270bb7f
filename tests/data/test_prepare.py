"""Shards are prepared independently: by any executor, killed at any time, the bytes are the same."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.config.data import Corpus, DataConfig
from dragoman.config.text import TextConfig
from dragoman.data.build import TrainingData, carry_out, plan_data
from dragoman.data.executors import Executor, in_pool, in_process, part_of
from dragoman.data.pair import Pair
from dragoman.data.pieces import Piece, cut, read_piece
from dragoman.data.prepare import Done, PairFilter, StoreJob, prepare_shard
from dragoman.data.readers.bad_line import BadLine
from dragoman.data.readers.lines import Span
from dragoman.data.readers.open_pairs import open_pairs
from dragoman.data.stores import Unfinished
from dragoman.errors import DataError, DragomanError
from support.made_up_corpus import corpus

TEXT = TextConfig(size=300)
LINES = 400


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Two files with duplicates, empty lines and one that is not UTF-8."""
    folder = tmp_path_factory.mktemp("corpus")
    names = []
    for side in ("src", "tgt"):
        lines = [*corpus(side, LINES - 2), "", "the same line"]
        raw = [line.encode() for line in lines]
        raw[200] = b"\xff" if side == "tgt" else raw[200]
        names.append(folder / f"train.{side}")
        names[-1].write_bytes(b"".join(line + b"\n" for line in raw))
    return list(map(str, names))


def settings_of(files: Sequence[str], **more: object) -> DataConfig:
    facts = {"train": [Corpus(files=tuple(files))], "shard_pairs": 37, "skip_bad": True, "hold_out": 10}
    return DataConfig.model_validate({**facts, **more})


def built(data: DataConfig, folder: Path, execute: Executor = in_process) -> TrainingData:
    return carry_out(plan_data(data, TEXT, folder), execute)


def content(folder: Path) -> dict[str, bytes]:
    """All files but the cache of hashes, which has the times of the sources."""
    found = [path for path in folder.rglob("*") if path.is_file() and path.name != "sources.json"]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


raw_lines = st.lists(
    st.sampled_from([b"", b"a", "ä b".encode(), b"c\r", b"\xff", b"\xef\xbb\xbf", "\u2028".encode()]),
    min_size=1,
    max_size=30,
)


@settings(max_examples=60, deadline=None)
@given(raw_lines, st.integers(1, 12), st.booleans(), st.booleans())
def test_pieces_have_the_pairs_of_the_whole(
    tmp_path_factory: pytest.TempPathFactory, raw: list[bytes], every: int, ended: bool, marked: bool
) -> None:
    folder = tmp_path_factory.mktemp("pieces")
    text = b"\n".join([*raw, b"x"]) + b"\n" * ended
    names = [str(folder / "a"), str(folder / "b")]
    Path(names[0]).write_bytes(b"\xef\xbb\xbf" * marked + text)
    Path(names[1]).write_bytes(text.replace(b"a", b"some more"))

    def skipping(pairs: Iterator[Pair], bad: list[BadLine]) -> tuple[list[Pair], list[tuple[str, int]]]:
        return list(pairs), [(one.file, one.line) for one in bad]

    bad: list[BadLine] = []
    whole = skipping(open_pairs(names, on_bad=bad.append), bad)
    bad = []
    pieces = cut(names, every, folder, "x", None)
    parts = [pair for piece in pieces for pair in read_piece(piece, bad.append)]
    assert skipping(iter(parts), bad) == whole
    assert [piece.number for piece in pieces] == list(range(-(-(len(raw) + 1) // every)))


@pytest.mark.parametrize("more", [{}, {"clean": True}], ids=["plain", "clean"])
def test_other_formats_give_the_pairs_of_plain_files(
    files: list[str], tmp_path: Path, more: dict[str, object]
) -> None:
    """Their pairs are copied first, so the shards are cut by pairs and not by lines."""
    table = tmp_path / "train.jsonl"
    pairs = list(open_pairs(files, on_bad=lambda bad: None))
    table.write_text("".join(f'{{"src": {quoted(p.src)}, "tgt": {quoted(p.tgt)}}}\n' for p in pairs))
    plain, other = (
        built(settings_of(names, **more), tmp_path / name)
        for names, name in ((files, "plain"), ([str(table)], "other"))
    )
    assert plain.facts() | {"bad": 0, "first_bad": ""} == other.facts()
    assert not list(tmp_path.glob("other/*/pairs"))  # the copy


def quoted(text: str) -> str:
    return '"' + text.replace('"', '\\"') + '"'


@pytest.mark.parametrize("kind", ["plain", "copied", "cleaned"])
def test_every_executor_writes_the_same_bytes(files: list[str], tmp_path: Path, kind: str) -> None:
    if kind == "copied":
        table = tmp_path / "train.tsv"
        pairs = open_pairs(files, on_bad=lambda bad: None)
        table.write_text("".join(f"{pair.src}\t{pair.tgt}\n" for pair in pairs), encoding="utf-8")
        files = [str(table)]
    data = settings_of(files, clean=kind == "cleaned")
    one = built(data, tmp_path / "one")
    pool = built(data, tmp_path / "pool", in_pool(2))
    for part in (2, 0):
        with pytest.raises(Unfinished, match="shards are not prepared yet"):
            built(data, tmp_path / "parts", part_of(in_process, part, 3))
    parts = built(data, tmp_path / "parts", part_of(in_process, 1, 3))
    assert one.facts()["counts"] == pool.facts()["counts"] == parts.facts()["counts"]
    assert content(tmp_path / "one") == content(tmp_path / "pool") == content(tmp_path / "parts")
    assert len(list(tmp_path.glob("one/corpus-0/0*"))) > 8


def test_bad_lines_and_leaks_are_counted_over_all_shards(files: list[str], tmp_path: Path) -> None:
    some = [pair for pair in open_pairs(files, on_bad=lambda bad: None) if pair.line % 50 == 7]
    for side in ("src", "tgt"):
        lines = [getattr(pair, side) for pair in some] + ["another one"]
        (tmp_path / f"valid.{side}").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    valid = Corpus(files=(str(tmp_path / "valid.src"), str(tmp_path / "valid.tgt")))
    data = settings_of(files, valid=valid)
    first = built(data, tmp_path / "store", in_pool(2)).facts()
    assert (first["bad"], first["first_bad"]) == (1, f"{files[1]}:201")
    assert first["leaked"] == len(some) == 8
    again = built(data, tmp_path / "store").facts()  # nothing is read again
    assert again["leaked"] == 8
    (tmp_path / "valid.src").write_text("x\n")
    (tmp_path / "valid.tgt").write_text("y\n")
    assert built(data, tmp_path / "store").facts()["leaked"] == 0


def test_shards_of_another_preparation_are_not_used(files: list[str], tmp_path: Path) -> None:
    """Whether the vocabulary, the lengths or the validation pairs differ."""
    data = [
        settings_of(files, valid=Corpus(files=(files[0], files[0]))),
        settings_of(files, valid=Corpus(files=tuple(files))),
        settings_of(files, max_length=12),
        settings_of(files),
    ]
    for other in data[:-1]:
        with pytest.raises(Unfinished):
            built(other, tmp_path / "store", part_of(in_process, 0, 2))
    built(data[-1], tmp_path / "store")
    built(data[-1], tmp_path / "fresh")
    assert content(tmp_path / "store") == content(tmp_path / "fresh")
    with pytest.raises(Unfinished):
        built(data[0], tmp_path / "leaks", part_of(in_process, 0, 2))
    assert built(data[1], tmp_path / "leaks").leaked == len(list(open_pairs(files, on_bad=lambda bad: None)))


def refusing(line: int) -> Iterator[Done]:
    yield Done(1, 1)
    raise DataError("This is not UTF-8.", where=f"train.de:{line}:3", expected="UTF-8", hint="iconv …")


def dying() -> Iterator[Done]:
    os.kill(os.getpid(), signal.SIGKILL)
    yield Done(1, 1)


def test_an_error_of_a_worker_names_its_line() -> None:
    with pytest.raises(DataError, match="not UTF-8") as caught:
        list(in_pool(2)([partial(refusing, 17)]))
    assert (caught.value.where, caught.value.hint) == ("train.de:17:3", "iconv …")
    assert caught.value.__cause__ is None or "Traceback" not in str(caught.value)


def test_a_killed_worker_is_reported_with_what_to_do() -> None:
    with pytest.raises(DragomanError, match="A worker process was killed") as caught:
        list(in_pool(2)([dying]))
    assert "--workers" in caught.value.hint


def test_ray_writes_the_same_bytes(files: list[str], tmp_path: Path) -> None:
    pytest.importorskip("ray")
    from dragoman.data.ray_executor import in_ray

    data = settings_of(files)
    built(data, tmp_path / "one")
    built(data, tmp_path / "ray", partial(in_ray, 2))
    assert content(tmp_path / "one") == content(tmp_path / "ray")
    job = StoreJob(tmp_path, tmp_path / "one" / "text", "", 9, PairFilter(9), is_strict=True)
    piece = Piece(0, ("gone.src", files[1]), (Span(0, 0, 9), Span(0, 0, 9)))
    with pytest.raises(DataError, match="There is no such file") as caught:
        list(in_ray(2, [partial(prepare_shard, job, piece)]))
    assert caught.value.where == "gone.src"


@pytest.mark.slow
def test_a_killed_preparation_resumes_to_the_same_bytes(files: list[str], tmp_path: Path) -> None:
    """benchmarks/scale/prepare.py kills it more often, and at random."""
    command = [sys.executable, "-m", "dragoman", "prepare", *files, "--skip-bad", "data.shard_pairs=9"]
    command += ["text.size=300", "data.hold_out=10", "--workers", "2", "-o"]
    subprocess.run([*command, str(tmp_path / "whole")], check=True, capture_output=True)
    shards = tmp_path / "killed" / "store" / "corpus-0"
    for enough in (1, 20):
        process = subprocess.Popen(
            [*command, str(tmp_path / "killed")], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        while process.poll() is None and len(list(shards.glob("0*"))) < enough:
            time.sleep(0.005)
        process.kill()
        process.wait()
    assert not (shards / "MANIFEST.json").exists()
    subprocess.run([*command, str(tmp_path / "killed")], check=True, capture_output=True)
    assert content(tmp_path / "killed") == content(tmp_path / "whole")
