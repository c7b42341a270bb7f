"""No file crashes or hangs `train`; what it refuses, it refuses with the place and the way out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
import torch

from dragoman.config.text import TextConfig, Units
from dragoman.text.build import learn
from dragoman.text.specials import SPECIALS, UNK
from hostile.corpus import Case, hostile_cases
from hostile.injections import injections
from hostile.verbs import CONTROLS, Driven, good_files, train

UNSHOWN = re.compile(rf"{CONTROLS.pattern}|[\ud800-\udfff]")
ROLES = ("alone", "trained", "watched")
# Refused for one line of theirs, which the error must name.
BY_LINE = ("bytes/", "tsv/", "json/", "lines/too-long", "lines/over-the-limit", "lines/never-ends")


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> list[Case]:
    return hostile_cases(tmp_path_factory.mktemp("hostile"))


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    torch.optim.AdamW(
        [torch.zeros(1)]
    )  # imports torch's compiler, which takes seconds that no file is to blame for
    return good_files(tmp_path_factory.mktemp("good"))


def faults(case: Case, role: str, driven: Driven) -> Iterator[str]:
    """How the command broke its promises."""
    said = f"{role} {case.name}: exit {driven.code} after {driven.seconds:.1f} s: {driven.err[-400:]}"
    if driven.hung:
        yield f"hangs: {said}"
    elif driven.crashed:
        yield f"crashes: {said}"
    elif case.kind == "refuse" and driven.code == 0:
        yield f"trains on it: {said}"
    elif driven.pairs not in (None, case.lines):
        yield f"reads {driven.pairs} pairs, not {case.lines}: {said}"
    elif driven.code:
        if not any(name in driven.where for file in case.files for name in (shown(file), repr(str(file)))):
            yield f"names no file: {said}"
        if case.kind == "refuse" and case.name.startswith(BY_LINE) and not names_line(case, driven):
            yield f"names no line: {said}"
        if not driven.fix:
            yield f"says no way out: {said}"
        if CONTROLS.search(driven.err):
            yield f"sends controls to the terminal: {said}"


def shown(file: Path) -> str:
    """As a terminal may see it: without controls, and without halves of characters."""
    return UNSHOWN.sub("\N{REPLACEMENT CHARACTER}", str(file))


def names_line(case: Case, driven: Driven) -> bool:
    return any(f"{shown(file)}:{line}" in driven.where for file in case.files for line in range(1, 10))


def driven_faults(cases: Sequence[Case], good: Sequence[Path], out: Path) -> list[str]:
    """Neighbours are alike, so each kind of file has each role."""
    found = []
    for number, case in enumerate(cases):
        role = ROLES[number % len(ROLES)]
        found += faults(case, role, train(case, role, out / "run", good))
    return found


@pytest.mark.slow
def test_train_takes_hostile_files_or_refuses_them_with_words(
    cases: list[Case], good: list[Path], tmp_path: Path
) -> None:
    assert driven_faults(cases, good, tmp_path) == []


KINDS = ("bpe", "unigram", "word", "char", "byte")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("learned_from", ["plain text", "the same lines"])
def test_no_text_gives_a_special_id(kind: str, learned_from: str) -> None:
    """Also where the vocabulary was learned from text full of them."""
    lines = injections()
    corpus = lines if learned_from == "the same lines" else ["the man rides", "ein Mann </s>"] * 20
    units = TextConfig(**Units(kind=kind, size=400).model_dump())
    tokenizer = learn(units, zip(corpus, corpus, strict=True)).src
    unknown = {UNK} if kind in ("word", "char") else set()
    forbidden = set(range(len(SPECIALS))) - unknown
    for line, array in zip(lines, tokenizer.encode_batch(lines), strict=True):
        ids = array.tolist()
        assert not forbidden & set(ids), line
        assert ids == tokenizer.encode(line)
        if not unknown & set(ids):
            assert tokenizer.decode(ids) == line
