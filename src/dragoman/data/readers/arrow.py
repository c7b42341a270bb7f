"""Parquet and Arrow, also those of a Hugging Face dataset on disk: columns with names, read by batches."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from dragoman.data.pair import Pair
from dragoman.data.readers.bad import OnBad, bad_line
from dragoman.data.readers.inline import Inline, too_long
from dragoman.data.readers.languages import Languages, columns_of
from dragoman.errors import DataError, MissingExtra

ROWS = 10_000  # of a batch
STATE, SPLITS = "state.json", "dataset_dict.json"  # in the folder of a dataset, and of one with splits
NESTED = "translation"  # a column of Hugging Face: {"en": "…", "de": "…"}


def read_arrow(file: Path, on_bad: OnBad, languages: Languages | None = None) -> Iterator[Pair]:
    """Rows are counted from 1. A row in which a side is null is left out."""
    number = 0
    for batch in batches(file):
        names, columns = columns_in(batch)
        src, tgt = columns_of(file, names, languages)
        for source, target in zip(columns[src].to_pylist(), columns[tgt].to_pylist(), strict=True):
            number += 1
            if source is None or target is None:
                on_bad(bad_line("untranslated", file, number, "This row is in one language.", hint=""))
            elif not isinstance(source, str) or not isinstance(target, str):
                raise no_text(file, names[src], names[tgt])
            elif Inline.is_too_long(source, target):
                on_bad(too_long(file, number))
            else:
                yield Pair(one_line(source), one_line(target), number)


def one_line(text: str) -> str:
    return " ".join(filter(None, map(str.strip, text.split("\n"))))


def columns_in(batch: Any) -> tuple[list[str], list[Any]]:
    """Names and columns; those inside "translation", where there is one."""
    if NESTED in batch.schema.names:
        nested = batch.column(NESTED)
        return [field.name for field in nested.type], nested.flatten()
    return list(batch.schema.names), batch.columns


def batches(file: Path) -> Iterator[Any]:
    """Of a .parquet, or of an .arrow in either of its two forms."""
    arrow = pyarrow("pyarrow")
    if not file.is_file():
        raise DataError("There is no such file.", where=str(file), hint=f"ls {file.parent}")
    try:
        if file.suffix.lower() == ".parquet":
            yield from pyarrow("pyarrow.parquet").ParquetFile(file).iter_batches(batch_size=ROWS)
            return
        with arrow.memory_map(str(file)) as source:
            is_file = source.read(6) == b"ARROW1"
            source.seek(0)
            reader = arrow.ipc.open_file(source) if is_file else arrow.ipc.open_stream(source)
            found = (reader.get_batch(n) for n in range(reader.num_record_batches)) if is_file else reader
            for batch in found:
                yield from (batch.slice(start, ROWS) for start in range(0, batch.num_rows, ROWS))
    except (arrow.ArrowException, OSError) as error:
        raise DataError(
            f"This file cannot be read: {str(error).partition(chr(10))[0]}",
            where=str(file),
            expected="Parquet, or Arrow as Hugging Face datasets writes it",
            hint="Write it again from where it came.",
        ) from None


def pyarrow(name: str) -> Any:
    try:
        return import_module(name)
    except ModuleNotFoundError:
        raise MissingExtra(
            "Parquet and Arrow need pyarrow, which is not installed.", hint='pip install "dragoman[arrow]"'
        ) from None


def no_text(file: Path, *names: str) -> DataError:
    return DataError(
        f"The columns {' and '.join(names)} do not hold text.",
        where=str(file),
        expected="two columns of text",
        hint="Name them: --languages SOURCE TARGET, with the names of the columns",
    )


def dataset_files(folder: Path) -> list[str]:
    """The files of a dataset that was saved to disk; none where the folder is something else."""
    if (folder / SPLITS).is_file():
        splits = json.loads((folder / SPLITS).read_text(encoding="utf-8"))["splits"]
        raise DataError(
            f"This dataset has several splits: {', '.join(splits)}.",
            where=str(folder),
            expected="one of them",
            hint=f"{folder / splits[0]}",
        )
    if not (folder / STATE).is_file():
        return []
    state = json.loads((folder / STATE).read_text(encoding="utf-8"))
    return [str(folder / part["filename"]) for part in state.get("_data_files", ())]
