"""No input crashes or hangs `run`; line N in is line N out, or the refusal says which line."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

import pytest

from dragoman.cli.verbs.run import PAIRS
from dragoman.data.readers.open_pairs import form, open_pairs
from dragoman.errors import DataError
from hostile.corpus import Case, hostile_cases
from hostile.injections import injections
from hostile.verbs import CONTROLS, Driven, drive, sources, spread, text_of, tiny_model

LONGEST = 1 << 20
FAST = 12


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> list[Case]:
    return hostile_cases(tmp_path_factory.mktemp("hostile"))


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tiny_model(tmp_path_factory.mktemp("tiny")))


def faults(case: Case, file: Path, name: str, given: bytes | None, driven: Driven) -> Iterator[str]:
    """How the command broke its promises, where `given` is what it should read, if that is text."""
    said = f"{file}: exit {driven.code} after {driven.seconds:.1f} s: {driven.err[-300:]}"
    if driven.hung or driven.crashed:
        yield f"{'hangs' if driven.hung else 'crashes'}: {said}"
    elif CONTROLS.search(driven.err):
        yield f"sends controls to the terminal: {said}"
    elif driven.code and not (name in driven.where and driven.fix):
        yield f"refuses without place and way out: {said}"
    elif driven.code and case.kind == "accept" and given is not None:
        yield f"refuses what is text: {said}"
    elif driven.code == 0 and given is None:
        yield f"takes what is no text: {said}"
    elif driven.code == 0 and given is not None and driven.out.count(b"\n") != given.count(b"\n"):
        yield f"not as many lines out as in: {said}"


def file_faults(model: str, cases: Sequence[Case]) -> list[str]:
    found = []
    for case in cases:
        for file in sources(case):
            driven = drive("run", model, "--file", str(file))
            found += faults(case, file, file.name, read_of(file), driven)
    return found


def read_of(file: Path) -> bytes | None:
    """What `run` reads of a file: its text, or as many lines as it has pairs; None if it is neither."""
    if form(file) not in PAIRS:
        return text_of(file)
    try:
        return b"\n" * sum(1 for _ in open_pairs([file]))
    except DataError:
        return None


def stdin_faults(model: str, cases: Sequence[Case]) -> list[str]:
    """What is no text, whatever its name; all that is text is given at once elsewhere."""
    found = []
    for case in cases:
        for file in sources(case):
            raw = file.read_bytes()
            try:
                raw.decode()
            except UnicodeDecodeError:
                found += faults(case, file, "stdin:", None, drive("run", model, stdin=raw))
    return found


def all_lines(cases: Sequence[Case]) -> list[bytes]:
    """Every different line that is text."""
    texts = filter(None, map(text_of, chain.from_iterable(map(sources, cases))))
    lines = dict.fromkeys(chain.from_iterable(text.split(b"\n") for text in texts))
    return [line for line in lines if len(line.removesuffix(b"\r")) <= LONGEST]


def test_run_takes_hostile_files_or_refuses_them_with_words(model: str, cases: list[Case]) -> None:
    assert file_faults(model, spread(cases, FAST)) == []


def test_run_refuses_from_stdin_what_is_no_text_and_says_the_line(model: str, cases: list[Case]) -> None:
    assert stdin_faults(model, spread(cases, FAST)) == []


@pytest.mark.slow
def test_run_takes_every_hostile_file_or_refuses_it_with_words(model: str, cases: list[Case]) -> None:
    assert file_faults(model, cases) == []
    assert stdin_faults(model, cases) == []


@pytest.mark.slow
def test_every_hostile_line_is_answered_in_its_place(model: str, cases: list[Case]) -> None:
    """Scores tell the lines apart, and are the same in any order and company."""
    lines = all_lines(cases)
    forth, back = (
        drive("run", model, "--json", stdin=b"".join(line + b"\n" for line in order))
        for order in (lines, lines[::-1])
    )
    assert (forth.code, back.code) == (0, 0), forth.err + back.err
    answers, reversed_answers = (
        [json.loads(line) for line in d.out.decode().split("\n")[:-1]] for d in (forth, back)
    )
    assert len(answers) == len(lines) > 1000
    assert [answer.pop("line") for answer in answers] == list(range(1, len(lines) + 1))
    assert [answer.pop("line") for answer in reversed_answers] == list(range(1, len(lines) + 1))
    assert answers == reversed_answers[::-1]
    blank = [not line.strip() for line in map(bytes.decode, lines)]
    assert [answer["text"] == "" and answer["score"] == 0 for answer in answers] == blank


def test_a_hundred_thousand_empty_lines_stay_as_many(model: str) -> None:
    driven = drive("run", model, stdin=b"\n" * 100_000)
    assert (driven.code, driven.out) == (0, b"\n" * 100_000)


def test_a_typed_special_token_ends_no_line(model: str) -> None:
    lines = injections()
    driven = drive("run", model, stdin="".join(line + "\n" for line in lines).encode())
    assert driven.code == 0, driven.err
    assert driven.out.count(b"\n") == len(lines)
