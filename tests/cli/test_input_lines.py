"""Bytes as they come, line for line."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.cli.input_lines import LONGEST_LINE, InputLine, read_batches
from dragoman.errors import DataError


class Drip(io.RawIOBase):
    """Gives a few bytes a read, as a slow pipe does."""

    def __init__(self, data: bytes, size: int) -> None:
        self.data, self.size = data, size

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        size = min(self.size, len(buffer))
        part, self.data = self.data[:size], self.data[size:]
        buffer[: len(part)] = part
        return len(part)


def lines(data: bytes, size: int = 1 << 20) -> list[InputLine]:
    return [line for block in read_batches(io.BufferedReader(Drip(data, size)), "stdin") for line in block]


@given(st.binary(max_size=60), st.integers(1, 70))
def test_reading_in_pieces_changes_nothing(data: bytes, size: int) -> None:
    text = data.decode("utf-8", errors="replace").replace("\ufeff", "").encode()
    assert lines(text, size) == lines(text)


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\ufeff")))
def test_line_n_in_is_line_n_out(text: str) -> None:
    assert "".join(line.text + line.end for line in lines(text.encode())) == text


def test_only_newlines_separate() -> None:
    odd = "a\u2028b\u0085c\x0bd\x0ce\rf"
    assert lines(odd.encode() + b"\n") == [InputLine(odd, "\n")]


def test_windows_ends_are_dropped_and_a_missing_last_end_stays_missing() -> None:
    assert lines(b"a\r\nb\n\nc") == [
        InputLine("a", "\n"),
        InputLine("b", "\n"),
        InputLine("", "\n"),
        InputLine("c", ""),
    ]


def test_a_byte_order_mark_is_no_text() -> None:
    assert lines(b"\xef\xbb\xbfa\n") == [InputLine("a", "\n")]


def test_what_is_typed_is_given_before_more_comes() -> None:
    blocks = read_batches(io.BufferedReader(Drip(b"a\nb\n", 2)), "stdin")
    assert next(blocks) == [InputLine("a", "\n")]


def test_a_bad_byte_is_named_by_line_and_column_after_the_good_lines() -> None:
    blocks = read_batches(io.BufferedReader(Drip("a\nnaïve caf".encode() + b"\xe9\nb\n", 100)), "in.txt")
    assert next(blocks) == [InputLine("a", "\n")]
    with pytest.raises(DataError, match="not UTF-8: e9") as caught:
        next(blocks)
    assert caught.value.where == "in.txt:2:10"
    assert "iconv" in caught.value.hint


def test_a_line_without_end_is_refused() -> None:
    with pytest.raises(DataError, match="longer than") as caught:
        lines(b"short\n" + b"x" * (LONGEST_LINE + 1))
    assert caught.value.where == "stdin:2"
