from __future__ import annotations

import gzip
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.data.pair import Pair
from dragoman.data.readers.lines import LIMIT
from dragoman.data.readers.open_pairs import open_lines, open_pairs
from dragoman.errors import DataError


def put(folder: Path, **contents: bytes) -> list[Path]:
    """put(tmp, en=b"…") writes a.en."""
    files = []
    for suffix, content in contents.items():
        file = folder / f"a.{suffix.replace('_', '.')}"
        file.write_bytes(content)
        files.append(file)
    return files


def refusal(files: list[Path]) -> DataError:
    with pytest.raises(DataError) as caught:
        list(open_pairs(files))
    return caught.value


@given(st.lists(st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"])), min_size=1))
@settings(max_examples=100, deadline=None)
def test_any_lines_come_back_in_number_and_order(lines: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        [file] = put(Path(folder), en=b"".join(b"%s\r\n" % line.encode() for line in ["first", *lines]))
        assert list(open_lines(file)) == ["first", *lines]


@given(st.binary(max_size=300))
@settings(max_examples=100, deadline=None)
def test_any_bytes_are_read_by_newlines_alone_or_refused(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        [file] = put(Path(folder), en=b"text first\n" + content)
        try:
            expected = content.decode().removesuffix("\n").split("\n") if content else []
        except UnicodeDecodeError:
            with pytest.raises(DataError):
                list(open_lines(file))
            return
        if content.count(0) * 3 <= len(content) + 11:
            assert list(open_lines(file)) == ["text first", *(line.removesuffix("\r") for line in expected)]


def test_plain_pairs_carry_their_line(tmp_path: Path) -> None:
    assert list(open_pairs(put(tmp_path, en=b"a\nb\n", de=b"x\r\ny"))) == [
        Pair("a", "x", 1),
        Pair("b", "y", 2),
    ]


def test_unequal_counts_say_both(tmp_path: Path) -> None:
    en, de = put(tmp_path, en=b"a\nb\nc\n", de=b"x\ny\n")
    error = refusal([en, de])
    assert error.what == "The two files do not have the same number of lines."
    assert f"{en} 3   {de} 2" in error.where
    assert f"dragoman check {en} {de}" in error.hint


def test_unequal_counts_say_where_they_drift(tmp_path: Path) -> None:
    lines = [f"Line {n} " + "long " * (n * 7 % 13) for n in range(200)]
    en = "\n".join(lines).encode()
    de = "\n".join(lines[:119] + lines[120:]).encode()
    assert "misaligned from about line 12" in refusal(put(tmp_path, en=en, de=de)).where


def test_invalid_utf8_names_line_column_and_bytes(tmp_path: Path) -> None:
    files = put(tmp_path, en="ok\nä caf".encode() + b"\xe9 x\n", de=b"x\ny\n")
    error = refusal(files)
    assert error.where == f"{files[0]}:2:6"
    assert "e9" in error.what
    assert "iconv" in error.hint


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le"])
def test_other_encodings_are_recognised(tmp_path: Path, encoding: str) -> None:
    text = "Guten Morgen, wie geht es dir?\n"
    error = refusal(put(tmp_path, en=text.encode(encoding), de=b"x\n"))
    assert "looks like UTF-" in error.what
    assert error.hint.startswith("iconv -f UTF-")


def test_a_few_nuls_are_text(tmp_path: Path) -> None:
    [pair] = open_pairs(put(tmp_path, en=b"a long enough line \0 with a nul\n", de=b"x\n"))
    assert "\0" in pair.src


def test_a_bom_is_dropped_at_the_start_only(tmp_path: Path) -> None:
    bom = b"\xef\xbb\xbf"
    pairs = open_pairs(put(tmp_path, en=bom + b"a\n" + bom + b"b\n", de=b"x\ny\n"))
    assert [pair.src for pair in pairs] == ["a", "\ufeffb"]


def test_a_line_over_the_limit_is_refused_and_can_be_skipped(tmp_path: Path) -> None:
    files = put(tmp_path, tsv=b"a\tb\n" + b"x" * (3 * LIMIT) + b"\nc\td\n")
    error = refusal(files)
    assert error.where == f"{files[0]}:2"
    assert f"{LIMIT:,}" in error.what
    assert [pair.line for pair in open_pairs(files, on_bad=lambda bad: None)] == [1, 3]


def test_gzip_reads_the_same(tmp_path: Path) -> None:
    assert list(open_pairs(put(tmp_path, tsv_gz=gzip.compress(b"a\tb\nc\td")))) == [
        Pair("a", "b", 1),
        Pair("c", "d", 2),
    ]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (gzip.compress(b"a\tb\n" * 100)[:-3], "This gzip file is truncated."),
        (gzip.compress(b"a\tb\n") + b"x", "This gzip file is damaged"),
        (b"a\tb\n", "This file ends in .gz but is not gzip."),
        (b"", "This file is empty."),
        (gzip.compress(b""), "This file is empty."),
    ],
    # Named by hand: a gzip header holds the time, and xdist wants the same names in every worker.
    ids=["cut off", "junk behind", "not gzip", "no bytes", "nothing packed"],
)
def test_gzip_faults_have_their_sentences(tmp_path: Path, content: bytes, sentence: str) -> None:
    assert refusal(put(tmp_path, tsv_gz=content)).what.startswith(sentence)


def test_a_bomb_is_refused(tmp_path: Path) -> None:
    lines = b"x" * 99_999 + b"\n"
    error = refusal(put(tmp_path, en_gz=gzip.compress(lines * 700), de=b"y\n" * 700))
    assert "more than 100 times its size" in error.what


def test_missing_files_suggest_a_near_name(tmp_path: Path) -> None:
    [file] = put(tmp_path, en=b"a\n")
    error = refusal([tmp_path / "a.em", file])
    assert error.what == "There is no such file."
    assert error.hint == f'Did you mean "{file}"?'


def test_tsv_takes_exactly_two_columns_and_no_quotes(tmp_path: Path) -> None:
    files = put(tmp_path, tsv=b'"a\tb"\nc\td\te\n')
    error = refusal(files)
    assert (error.what, error.where) == ("This line has 3 columns.", f"{files[0]}:2")
    assert list(open_pairs(files, extra_columns=True)) == [Pair('"a', 'b"', 1), Pair("c", "d", 2)]


def test_jsonl_reads_both_shapes(tmp_path: Path) -> None:
    one, other = b'{"src": "a", "tgt": "b"}', b'{"translation": {"en": "c", "de": "d"}}'
    swapped = b'{"translation": {"de": "f", "en": "e"}}'
    pairs = list(open_pairs(put(tmp_path, jsonl=b"\n".join([one, other, swapped]))))
    assert pairs == [Pair("a", "b", 1), Pair("c", "d", 2), Pair("e", "f", 3)]


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        (b"{", "This line is not JSON"),
        (b"[1]", "This line is JSON, but a list"),
        (b'{"src": 1, "tgt": ""}', '"src" is a number, not text.'),
        (b'{"src": ""}', 'The key "tgt" is missing.'),
        (b'{"src": "\\ud800", "tgt": ""}', '"src" contains half a character'),
        (b"[" * 200_000, "This line is nested too deeply"),
        (b'{"n": ' + b"9" * 5000 + b"}", "This line contains a number that is too large"),
        (b'{"n": NaN}', "NaN is not JSON."),
        (b'{"n": 1e999}', "The number 1e999 is too large."),
        (b'{"src": "a", "src": "b", "tgt": "c"}', "This object has the same key twice."),
        (b'{"translation": {"en": "", "de": "", "fr": ""}}', '"translation" does not have exactly two'),
    ],
)
def test_jsonl_faults_have_their_sentences(tmp_path: Path, line: bytes, sentence: str) -> None:
    files = put(tmp_path, jsonl=b'{"src": "a", "tgt": "b"}\n' + line)
    error = refusal(files)
    assert error.what.startswith(sentence)
    assert error.where == f"{files[0]}:2"
    assert error.hint


def test_files_that_make_no_pairs_are_refused_before_reading(tmp_path: Path) -> None:
    for files in ([], ["a.txt"], ["a.tsv", "b.tsv"], ["a", "b", "c"]):
        with pytest.raises(DataError, match="do not form pairs"):
            open_pairs(files)


def test_bad_lines_are_reported_with_class_file_and_line(tmp_path: Path) -> None:
    files = put(tmp_path, en=b"a\n\xff\nc\n", de=b"x\n\xff\n\xfe\n")
    bad: list[tuple[str, str, int]] = []
    pairs = list(open_pairs(files, on_bad=lambda line: bad.append(line[:3])))
    assert pairs == [Pair("a", "x", 1)]
    en, de = map(str, files)
    assert bad == [("encoding", en, 2), ("encoding", de, 2), ("encoding", de, 3)]
