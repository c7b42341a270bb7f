"""Splitting of a corpus into train, valid and test files without overlap."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from dragoman.data.holdout import MIN_PAIRS_PER_HELD_OUT, Pairs, Targets, choose, exclude_overlaps
from dragoman.data.pair import Pair
from dragoman.data.readers.open_pairs import form, text_suffix
from dragoman.errors import DataError


class Part(NamedTuple):
    files: list[Path]
    pairs: int


def split(
    pairs: Pairs,
    files: Sequence[Path],
    count: int,
    seed: int,
    folder: Path,
    targets: Targets = "texts",
) -> dict[str, Part]:
    """Write the three parts to `folder`, in the format of `files`."""
    chosen, total = choose(pairs(), 2 * count, seed)
    each = min(count, total // MIN_PAIRS_PER_HELD_OUT)
    if not each:
        raise DataError(
            f"{total:,} pairs are too few to split.",
            where=" ".join(map(str, files)),
            expected=f"at least {MIN_PAIRS_PER_HELD_OUT}",
            hint="Train on all of them, and collect a few more for validation.",
        )
    valid = exclude_overlaps(pairs, chosen[:each], targets)
    left = [pair for pair in chosen[each:] if not valid.skips(pair)]
    test = exclude_overlaps(pairs, left[:each], targets)
    train = (pair for pair in pairs() if not valid.skips(pair) and not test.skips(pair))
    names = {part: part_files(part, files, folder) for part in ("train", "valid", "test")}
    refuse_overwriting(name for part in names.values() for name in part)
    folder.mkdir(parents=True, exist_ok=True)
    parts: dict[str, Iterable[Pair]] = {"train": train, "valid": valid.valid, "test": test.valid}
    return {part: Part(names[part], write(parts[part], names[part])) for part in names}


def part_files(part: str, files: Sequence[Path], folder: Path) -> list[Path]:
    suffixes = [text_suffix(file) for file in files]
    if len(files) == 1 and form(files[0]) != "tsv":  # texts of other formats may have tabs and several lines
        suffixes = [".jsonl"]
    if len(files) == 2 and (suffixes[0] == suffixes[1] or "" in suffixes):
        suffixes = [".src", ".tgt"]
    return [folder / (part + suffix) for suffix in suffixes]


def refuse_overwriting(files: Iterable[Path]) -> None:
    for file in files:
        if file.exists():
            raise DataError(
                "This file already exists.", where=str(file), hint="Choose another folder: -o DIR"
            )


def write(pairs: Iterable[Pair], files: Sequence[Path]) -> int:
    count = 0
    with ExitStack() as stack:
        streams = [stack.enter_context(file.open("x", encoding="utf-8", newline="")) for file in files]
        for pair in pairs:
            count += 1
            for stream, text in zip(streams, rows(pair, form(files[0])), strict=True):
                # readers drop one "\r" before "\n", so a text that ends in one gets another
                stream.write(text + ("\r\n" if text.endswith("\r") else "\n"))
    return count


def rows(pair: Pair, kind: str) -> list[str]:
    """Return the line of each file for this pair."""
    match kind:
        case "tsv":
            return [f"{pair.src}\t{pair.tgt}"]
        case "jsonl":
            return [json.dumps({"src": pair.src, "tgt": pair.tgt}, ensure_ascii=False)]
        case _:
            return [pair.src, pair.tgt]
