"""Damaged and hostile model folders: what `check` and `run` do with each; one line of JSON.

    python -m benchmarks.robustness.corrupted [FOLDER]

The folders are those of tests/hostile/folders.py: flipped bits, cut files, swapped files, hostile JSON, and
files that are not what they have to be under a manifest that is right. Each must be refused by both verbs
with the name of the file that is to blame, without a traceback, and without Python running, compiling or
importing anything or starting a program, by its own audit.
"""

from __future__ import annotations

import argparse
import importlib
import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.results import add_record, record

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))
FOLDERS: Any = importlib.import_module("hostile.folders")
VERBS: Any = importlib.import_module("hostile.verbs")
AUDIT: Any = importlib.import_module("hostile.audit")
COMMANDS = {"check": (), "run": ("a man",)}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "folder", nargs="?", type=Path, help="for the models (default: the system's temporary)"
    )
    add_record(parser)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=args.folder) as home:
        counts, strays = battery(Path(home))
    for stray in strays:
        print(stray, file=sys.stderr)
    print(json.dumps({"benchmark": "corrupted", **counts}))
    if args.record:
        record("corrupted", len(strays), f"of {counts['folders']}")
    return int(bool(strays))


def battery(home: Path) -> tuple[dict[str, int], list[str]]:
    for kind in FOLDERS.KINDS:
        model = FOLDERS.good_folder(home / kind, kind)
        for verb, texts in COMMANDS.items():  # and all that they need is imported
            assert VERBS.drive(verb, str(model), *texts).code == 0
    audit, strays = AUDIT.Audit(), []
    counts = dict.fromkeys(("folders", "refused", "named", "tracebacks", "hangs", "ran_code"), 0)
    for corruption in FOLDERS.corruptions():
        outcomes = [one(home, corruption, verb, audit) for verb in COMMANDS]
        counts["folders"] += 1
        for name in list(counts)[1:]:
            wanted = all if name in ("refused", "named") else any
            counts[name] += wanted(outcome[name] for outcome in outcomes)
        good = {"refused": True, "named": True, "tracebacks": False, "hangs": False, "ran_code": False}
        strays += [f"{corruption.name}: {outcome}" for outcome in outcomes if outcome != good]
    return counts, strays


def one(home: Path, corruption: Any, verb: str, audit: Any) -> dict[str, bool]:
    folder = home / "model"
    shutil.copytree(home / corruption.kind, folder)
    corruption.apply(folder)
    with audit.listening() as seen:
        driven = VERBS.drive(verb, str(folder), *COMMANDS[verb])
    shutil.rmtree(folder)
    return {
        "refused": driven.code in (1, 2),
        "named": Path(corruption.blames).name in driven.err,
        "tracebacks": "Traceback" in driven.err or "bug in Dragoman" in driven.err,
        "hangs": bool(driven.hung),
        "ran_code": bool(seen),
    }


if __name__ == "__main__":
    sys.exit(main())
