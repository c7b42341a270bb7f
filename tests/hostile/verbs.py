"""A verb driven in this process, as from a shell: what came out, and how the command kept its promises."""

from __future__ import annotations

import gzip
import io
import json
import re
import shutil
import signal
import sys
import time
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NamedTuple
from unittest import mock

from dragoman.cli.main import main
from hostile.corpus import GOOD, Case, render

CPU_SECONDS = 5
WALL_SECONDS = 120  # for what only waits; a busy machine is no failure

TINY = (
    "text.kind=byte",
    *(
        f"model.{side}.{size}"
        for side in ("encoder", "decoder")
        for size in ("layers=1", "width=16", "heads=2", "ffn=16")
    ),
    "training.updates=2",
    "training.checkpoint_every=2",
    "training.batch_tokens=1024",
    "training.precision=fp32",
    "training.threads=1",
    "training.valid_decode=2",
    "training.report=false",
    "search.kind=greedy",
    "search.max_length=8",
)

CONTROLS = re.compile("[\x00-\x09\x0b-\x1f\x7f]")  # what a terminal would obey, but for the newline


class Driven(NamedTuple):
    code: int | None  # None where it hung
    out: bytes
    err: str
    seconds: float  # of processor time
    pairs: int | None = None  # read, where `train` made a store of them

    @property
    def hung(self) -> bool:
        return self.code is None or self.seconds > CPU_SECONDS

    @property
    def crashed(self) -> bool:
        return self.code not in (None, 0, 2, 3) or "Traceback" in self.err or "bug in Dragoman" in self.err

    @property
    def where(self) -> str:
        """The part of a refusal that says where."""
        found = re.search(
            r"^  where     (.*?)(?=^  expected  |^  fix  |\Z)", self.err, re.DOTALL | re.MULTILINE
        )
        return found[1].strip() if found else ""

    @property
    def fix(self) -> str:
        found = re.search(r"^  fix       (.*)", self.err, re.MULTILINE)
        return found[1].strip() if found else ""


class Hang(BaseException):
    """Not an Exception: no command may turn it into words."""


def drive(*argv: str, stdin: bytes = b"") -> Driven:
    out, err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8"), io.StringIO()
    typed = io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8")
    start = time.process_time()
    code: int | None = None
    with mock.patch.object(sys, "stdin", typed), redirect_stdout(out), redirect_stderr(err):
        try:
            with alarm():
                code = main(argv)
        except Hang:
            pass
        out.flush()
    return Driven(code, out.buffer.getvalue(), err.getvalue(), time.process_time() - start)


@contextmanager
def alarm() -> Iterator[None]:
    def stop(*_: object) -> None:
        raise Hang

    old = signal.signal(signal.SIGALRM, stop)
    signal.alarm(WALL_SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, old)


def good_files(folder: Path, copies: int = 10) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    rows = [(f"{src} {n}", f"{tgt} {n}") for n in range(copies) for src, tgt in GOOD]
    for name, content in render(rows, "plain").items():
        (folder / name).write_bytes(content)
    return [folder / name for name in render(rows, "plain")]


def spread(cases: Sequence[Case], count: int) -> list[Case]:
    """Some of every class: neighbours are alike, so they are taken at equal distances."""
    return [cases[number * len(cases) // count] for number in range(count)]


def tiny_model(folder: Path) -> Path:
    """A run folder with a model of two updates."""
    driven = drive("train", "-o", str(folder), "--yes", *TINY, "--", *map(str, good_files(folder / "data")))
    assert driven.code == 0, driven.err
    return folder


def is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def sources(case: Case) -> list[Path]:
    """The files of a case; `run` takes any of them by itself."""
    return [file for file in case.files if is_file(file) and file.stat().st_size < 8 << 20]


def text_of(file: Path) -> bytes | None:
    """The bytes of a text file, by Python's own decoder and unpacker; None where it is none."""
    raw = file.read_bytes()
    try:
        raw = gzip.decompress(raw) if file.suffix == ".gz" else raw
        raw.decode()
    except (OSError, EOFError, zlib.error, UnicodeDecodeError):
        return None
    return raw


def train(case: Case, role: str, out: Path, good: Sequence[Path]) -> Driven:
    """The case "alone" (pairs are held out), "trained" on beside good pairs to watch, or "watched" itself."""
    files, others = [str(file) for file in case.files], [str(file) for file in good]
    data = {
        "alone": ["--", *files],
        "trained": ["--valid", *others, "--", *files],
        "watched": ["--valid", *files, "--", *others],
    }[role]
    try:
        driven = drive("train", "-o", str(out), "--yes", *TINY, *data)
        return driven._replace(pairs=pairs_read(out) if role != "watched" else None)
    finally:
        shutil.rmtree(out, ignore_errors=True)


def pairs_read(out: Path) -> int | None:
    manifest = out / "store" / "corpus-0" / "MANIFEST.json"
    return int(json.loads(manifest.read_bytes())["counts"]["read"]) if manifest.is_file() else None
