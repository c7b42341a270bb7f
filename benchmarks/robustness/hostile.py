"""Hostile files: what `check`, `train` and `run` do with each case of the tests' corpus; one line of JSON.

    python -m benchmarks.robustness.hostile [FOLDER]

The cases are those of tests/hostile/corpus.py, each a file or two of one kind of trouble. A traceback is an
exit that is not 0, 2 or 3; a hang is more than 5 s of processor time; a wrong line count is a corpus read
with fewer or more pairs than it has, or a file answered with fewer or more lines. All three must be 0.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.results import add_record, record

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))
CORPUS: Any = importlib.import_module("hostile.corpus")
VERBS: Any = importlib.import_module("hostile.verbs")
ROLES = ("alone", "trained", "watched")

Outcome = tuple[Any, bool]  # how a command ended, and whether it counted the lines right


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "folder", nargs="?", type=Path, help="for the files (default: the system's temporary)"
    )
    add_record(parser)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        home = Path(folder)
        cases = CORPUS.hostile_cases(home / "cases")
        verbs = {"check": checked(cases), "train": trained(cases, home), "run": applied(cases, home)}
        counts = {verb: count(verb, outcomes) for verb, outcomes in verbs.items()}
    print(json.dumps({"benchmark": "hostile", **counts}))
    broken = ("tracebacks", "hangs", "wrong_line_counts")
    if args.record:
        stray = sum(found[kind] for found in counts.values() for kind in broken)
        record("hostile", stray, f"of {counts['check']['cases']}")
    return int(any(found[kind] for found in counts.values() for kind in broken))


def checked(cases: list[Any]) -> Iterator[Outcome]:
    for case in cases:
        driven = VERBS.drive("check", "--json", "--", *map(str, case.files))
        right = driven.code != 0 or json.loads(driven.out)["pairs"] == case.lines
        yield driven, right


def trained(cases: list[Any], home: Path) -> Iterator[Outcome]:
    """Each case in turn as corpus with pairs held out, as corpus beside good ones to watch, and as those."""
    good = VERBS.good_files(home / "good")
    for number, case in enumerate(cases):
        driven = VERBS.train(case, ROLES[number % len(ROLES)], home / "run", good)
        yield driven, driven.pairs in (None, case.lines)


def applied(cases: list[Any], home: Path) -> Iterator[Outcome]:
    """The first file of each case."""
    model = str(VERBS.tiny_model(home / "model"))
    for case in cases:
        driven = VERBS.drive("run", model, "--file", str(case.files[0]))
        text = VERBS.text_of(case.files[0]) if driven.code == 0 else None
        yield driven, driven.code != 0 or (text is not None and text.count(b"\n") == driven.out.count(b"\n"))


def count(verb: str, outcomes: Iterator[Outcome]) -> dict[str, int]:
    found = dict.fromkeys(("cases", "accepted", "refused", "tracebacks", "hangs", "wrong_line_counts"), 0)
    for driven, right in outcomes:
        found["cases"] += 1
        found["hangs"] += driven.hung
        found["tracebacks"] += driven.crashed
        found["accepted"] += driven.code == 0
        found["refused"] += driven.code in (2, 3) and not driven.crashed
        found["wrong_line_counts"] += not right
        if sys.stderr.isatty():
            print(f"\r{verb} {found['cases']}", end="", file=sys.stderr)
    return found


if __name__ == "__main__":
    sys.exit(main())
