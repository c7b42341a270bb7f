"""No file crashes or hangs the readers or `check`; what is refused is refused with where and what to do."""

from __future__ import annotations

import argparse
import json
import signal
import time
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dragoman.cli.verbs import check
from dragoman.data.readers.open_pairs import open_pairs
from dragoman.errors import DataError
from hostile.corpus import Case, hostile_cases

CPU_SECONDS = 5


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> list[Case]:
    return hostile_cases(tmp_path_factory.mktemp("hostile"))


@contextmanager
def no_hang(case: Case, seconds: int = CPU_SECONDS) -> Iterator[None]:
    """Processor time, so that a busy machine is no failure; and an alarm for what only waits."""

    def stop(*_: object) -> None:
        raise TimeoutError(f"{case.name} hangs")

    old = signal.signal(signal.SIGALRM, stop)
    signal.alarm(12 * seconds)
    start = time.process_time()
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, old)
    assert time.process_time() - start < seconds, f"{case.name} takes too long"


def arguments(*argv: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    check.add_arguments(parser)
    return parser.parse_args(argv)


def check_report(case: Case, capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, object]]:
    code = check.run(arguments("--json", "--", *map(str, case.files)))
    return code, json.loads(capsys.readouterr().out)


def read(case: Case) -> str | None:
    """What is wrong with how the readers take this case, if anything."""
    try:
        with no_hang(case):
            count = sum(1 for _ in open_pairs(case.files))
    except DataError as error:
        if case.kind == "accept":
            return f"{case.name}: refused: {error}"
        return None if error.where and error.hint and error.what else f"{case.name}: no words: {error!r}"
    except Exception as error:
        return f"{case.name}: {type(error).__name__}: {error}"
    if case.kind == "refuse":
        return f"{case.name}: accepted"
    return None if count == case.lines else f"{case.name}: {count} lines, not {case.lines}"


def test_there_are_five_hundred_cases_of_both_kinds(cases: list[Case]) -> None:
    assert len(cases) >= 500
    assert len({case.name for case in cases}) == len(cases)
    assert {case.kind for case in cases} == {"accept", "refuse"}


def test_readers_accept_or_refuse_with_words(cases: list[Case]) -> None:
    assert [wrong for case in cases if (wrong := read(case))] == []


def test_check_never_fails_and_says_what_training_would_refuse(
    cases: list[Case], capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = []
    for case in cases:
        with no_hang(case):
            code, report = check_report(case, capsys)
        faults = report["faults"]["first"]  # type: ignore[index]
        if code != {"accept": 0, "refuse": 3}[case.kind]:
            wrong.append(f"{case.name}: exit {code}")
        if case.kind == "accept" and report["pairs"] != case.lines:
            wrong.append(f"{case.name}: {report['pairs']} pairs, not {case.lines}")
        if not all(fault["where"] and fault["hint"] for fault in faults):
            wrong.append(f"{case.name}: a fault without where or hint")
    assert wrong == []


def test_check_in_words_names_every_fault_and_sends_no_control_to_the_terminal(
    cases: list[Case], capsys: pytest.CaptureFixture[str]
) -> None:
    for case in (*cases[::7], *(case for case in cases if case.name.startswith("path/"))):
        check.run(arguments("--", *map(str, case.files)))
        shown = capsys.readouterr()
        assert ("✗" in shown.out) == (case.kind == "refuse"), case.name
        assert "Next: " in shown.err
        assert not set(shown.out) & {chr(c) for c in (*range(10), *range(11, 32), 127, 0x202E)}, case.name


def test_going_on_after_bad_lines_skips_exactly_those(tmp_path: Path) -> None:
    file = tmp_path / "a.tsv"
    file.write_bytes(b"a\tb\nno tab\nc\td\n\xff\te\n" + b"x" * (1 << 21) + b"\n1\t2\t3\nf\tg")
    bad: list[tuple[str, int]] = []
    pairs = list(open_pairs([file], on_bad=lambda line: bad.append((line.kind, line.line))))
    assert [pair.line for pair in pairs] == [1, 3, 7]
    assert bad == [("columns", 2), ("encoding", 4), ("too long", 5), ("columns", 6)]


def test_long_lines_cost_no_more_memory_than_a_block(tmp_path: Path) -> None:
    files = [tmp_path / "a.en", tmp_path / "a.de"]
    for file in files:
        with file.open("wb") as stream:
            for _ in range(40):
                stream.write(b"x" * 1_000_000 + b"\n")
    tracemalloc.start()
    check.run(arguments("--json", *map(str, files)))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 48 << 20


@pytest.mark.slow
def test_true_sizes(tmp_path: Path) -> None:
    big = [case for case in hostile_cases(tmp_path, big=True) if case.name.startswith("lines/")]
    for case in big:
        kind = "accept"
        try:
            count = sum(1 for _ in open_pairs(case.files))
            assert count == case.lines, case.name
        except DataError:
            kind = "refuse"
        assert kind == case.kind, case.name
