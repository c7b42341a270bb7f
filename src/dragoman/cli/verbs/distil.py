"""`dragoman new distil`: a teacher translates the training data of a student."""

from __future__ import annotations

import argparse
import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING

from dragoman.allocator import keep_freed_memory
from dragoman.cli.format import duration
from dragoman.cli.terminal import give, talk
from dragoman.errors import UsageError, needs_extra

if TYPE_CHECKING:
    from dragoman.training.distillation import Distilled

NAME = "distil"
ABOUT = "a smaller, faster model that learns from one of yours (needs --teacher)"
APART = 15.0  # seconds between two progress lines


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--teacher", metavar="MODEL", help="distil only: the teacher model")
    parser.add_argument(
        "--sources",
        nargs="+",
        default=[],
        metavar="FILE",
        help="distil only: texts for the teacher to translate (default: its training data)",
    )
    parser.add_argument(
        "--device",
        default="auto",
        metavar="NAME",
        help="distil only: where the teacher runs: auto (default), cpu or cuda",
    )
    parser.add_argument(
        "--real", action="store_true", help="distil only: also learn from the teacher's own training pairs"
    )


def run(args: argparse.Namespace) -> int:
    if not args.teacher:
        raise UsageError(
            "No teacher was given.",
            where="the command line",
            expected="--teacher and a model folder",
            hint="dragoman new distil --teacher en-de -o en-de-small",
        )
    folder = Path(args.out or f"{args.teacher.rstrip('/')}-small")
    with needs_extra("Distillation needs PyTorch, which is not installed.", "train"):
        from dragoman.training.distillation import SOURCE, TARGET, distil
    keep_freed_memory()
    talk(
        f"{args.teacher} translates what the student will learn from; Ctrl-C stops, the same command resumes."
    )
    options = {"sources": args.sources, "real": args.real, "force": args.force, "device": args.device}
    done = distil(args.teacher, folder, **options, tell=DistilProgress())
    for name in (SOURCE, TARGET, "dragoman.toml", "README.md"):
        give(f"{folder / name}\n")
    talk(f"Kept {done.kept:,} of {done.sources:,} pairs; suspicious outputs are left out.")
    talk(f"Next: {shlex.join(['dragoman', 'train', str(folder)])}")
    return 0


class DistilProgress:
    """A periodic progress line: sentences done, speed and time left."""

    def __init__(self) -> None:
        self._began = self._shown = time.monotonic()
        self._first: int | None = None

    def __call__(self, done: Distilled, total: int) -> None:
        now = time.monotonic()
        if self._first is None:
            self._first, self._began = done.sources, now
        elif now - self._shown >= APART:
            speed = (done.sources - self._first) / (now - self._began)
            left = duration((total - done.sources) / speed)
            talk(f"  {done.sources:,} of {total:,} sentences   {speed:,.0f} per second   {left} left")
            self._shown = now
