"""Parquet, Arrow and datasets on disk, as Hugging Face writes them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import feather, parquet

from dragoman.cli.main import main
from dragoman.data.readers import arrow as reader
from dragoman.data.readers.lines import LIMIT
from dragoman.data.readers.open_pairs import open_pairs
from dragoman.errors import DataError, MissingExtra

ROWS = {"en": ["One.", "Two\nlines.", None, "Four."], "de": ["Eins.", "Zwei Zeilen.", "Drei.", "Vier."]}
EXPECTED = [("One.", "Eins.", 1), ("Two lines.", "Zwei Zeilen.", 2), ("Four.", "Vier.", 4)]


def stream(table: pa.Table, file: Path) -> None:
    with pa.OSFile(str(file), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)


def written(table: pa.Table, file: Path, form: str) -> Path:
    match form:
        case "parquet":
            parquet.write_table(table, file)
        case "file":
            feather.write_feather(table, file, compression="uncompressed")
        case "stream":
            stream(table, file)
    return file


def read(file: Path, **options: Any) -> tuple[list[tuple[str, str, int]], list[str]]:
    skipped: list[str] = []
    pairs = open_pairs([file], on_bad=lambda bad: skipped.append(bad.kind), **options)
    return [tuple(pair) for pair in pairs], skipped


@pytest.mark.parametrize(
    ("name", "form"), [("a.parquet", "parquet"), ("a.arrow", "file"), ("a.arrow", "stream")]
)
def test_columns_are_read_by_name(tmp_path: Path, name: str, form: str) -> None:
    file = written(pa.table(ROWS), tmp_path / name, form)
    assert read(file) == (EXPECTED, ["untranslated"])
    turned, _ = read(file, languages=("de", "en"))
    assert turned == [(tgt, src, line) for src, tgt, line in EXPECTED]


def test_a_column_named_translation_holds_the_languages(tmp_path: Path) -> None:
    rows = [{"de": d, "en": e} for d, e in zip(ROWS["de"], ROWS["en"], strict=True)]
    file = written(pa.table({"id": [1, 2, 3, 4], "translation": rows}), tmp_path / "a.parquet", "parquet")
    assert read(file, languages=("en", "de")) == (EXPECTED, ["untranslated"])


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow"])
def test_of_a_long_text_little_is_read(tmp_path: Path, name: str) -> None:
    rows = {"en": ["One.", "é" * reader.BATCH, "Three."], "de": ["Eins.", "Zwei.", "Drei."]}
    file = written(pa.table(rows), tmp_path / name, "parquet" if name.endswith("parquet") else "file")
    assert read(file) == ([("One.", "Eins.", 1), ("Three.", "Drei.", 3)], ["too long"])
    long = pa.array(["é" * reader.BATCH])
    for column in (long, long.dictionary_encode()):
        assert [len(text or "") for text in reader.texts(column)] == [LIMIT + 1]


def test_more_than_two_columns_are_asked_for(tmp_path: Path) -> None:
    table = pa.table({**ROWS, "fr": ["Un.", "Deux.", "Trois.", "Quatre."]})
    file = written(table, tmp_path / "a.parquet", "parquet")
    with pytest.raises(DataError, match="more than two languages"):
        read(file)
    assert read(file, languages=("en", "fr"))[0][0] == ("One.", "Un.", 1)


def test_numbers_are_no_text(tmp_path: Path) -> None:
    file = written(pa.table({"a": [1, 2], "b": ["x", "y"]}), tmp_path / "a.parquet", "parquet")
    with pytest.raises(DataError, match="do not contain text"):
        read(file)


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow"])
@pytest.mark.parametrize("content", [b"", b"PAR1", b"ARROW1" + b"\xff" * 100, b"\xff" * 1000])
def test_what_is_broken_is_refused_in_words(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match="cannot be read"):
        read(tmp_path / name)


def test_without_pyarrow_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(name: str) -> None:
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(reader, "import_module", gone)
    with pytest.raises(MissingExtra) as caught:
        read(tmp_path / "a.parquet")
    assert caught.value.hint == 'pip install "dragoman[arrow]"'


def test_a_dataset_on_disk_is_checked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    home = tmp_path / "dataset"
    home.mkdir()
    files = ["data-00000-of-00002.arrow", "data-00001-of-00002.arrow"]
    for file in files:
        written(pa.table(ROWS), home / file, "stream")
    state = {"_data_files": [{"filename": file} for file in files], "_fingerprint": "x"}
    (home / "state.json").write_text(json.dumps(state), encoding="utf-8")
    assert main(["check", str(home)]) == 0
    out, err = capsys.readouterr()
    assert out.count("3 pairs") == 2
    assert f"dragoman train {home} -o model" in err
    (tmp_path / "dataset_dict.json").write_text(json.dumps({"splits": ["dataset"]}), encoding="utf-8")
    assert main(["check", str(tmp_path)]) == 3
    assert "several splits: dataset" in capsys.readouterr().err
