"""Reader of Parquet and Arrow files, including Hugging Face datasets on disk: named columns in batches."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from dragoman.data.pair import Pair
from dragoman.data.readers.bad_line import OnBad, bad_line
from dragoman.data.readers.lines import LIMIT, too_long
from dragoman.data.readers.open_file import BOMB_RATIO, opened
from dragoman.errors import DataError, needs_extra
from dragoman.text.languages import Languages, columns_of

ROWS = 10_000  # maximum rows of a batch
BATCH = 16 << 20  # approximate bytes of a batch
BOMB_FLOOR = 16 << 20  # bytes of text below which no ratio is suspicious
STATE, SPLITS = "state.json", "dataset_dict.json"  # files of a dataset folder, and of one with splits
NESTED = "translation"  # the Hugging Face column: {"en": "…", "de": "…"}

Texts = tuple[list[str | None], list[str | None]]


def read_arrow(file: Path, on_bad: OnBad, languages: Languages | None = None) -> Iterator[Pair]:
    """Yield pairs, numbering rows from 1. A row with a null side is left out."""
    arrow = pyarrow("pyarrow")
    with opened(file) as raw:  # raises a specific error if the file is missing or unreadable
        limit = max(BOMB_FLOOR, BOMB_RATIO * os.fstat(raw.fileno()).st_size)
    number = characters = 0
    try:
        for sources, targets in (
            in_parquet(file, languages) if is_parquet(file) else in_arrow(file, languages)
        ):
            for source, target in zip(sources, targets, strict=True):
                number += 1
                if source is None or target is None:
                    on_bad(bad_line("untranslated", file, number, "This row has only one language.", hint=""))
                elif max(len(source), len(target)) > LIMIT:
                    on_bad(too_long(file, number))
                else:
                    characters += len(source) + len(target)
                    if characters > limit:
                        raise too_packed(file, characters)
                    yield Pair(one_line(source), one_line(target), number)
    except (arrow.ArrowException, OSError) as error:
        raise DataError(
            f"This file cannot be read: {str(error).partition(chr(10))[0][:200]}",
            where=str(file),
            expected="Parquet, or Arrow as Hugging Face datasets writes it",
            hint="Export it again from its source.",
        ) from None


def is_parquet(file: Path) -> bool:
    return file.suffix.lower() == ".parquet"


def one_line(text: str) -> str:
    return " ".join(filter(None, map(str.strip, text.split("\n"))))


class Sides:
    """The columns of the source and the target, or the fields of the column "translation"."""

    def __init__(self, file: Path, schema: Any, languages: Languages | None) -> None:
        kind: Any = schema.field(NESTED).type if schema.names.count(NESTED) == 1 else None
        self.is_nested = bool(kind) and pyarrow("pyarrow.types").is_struct(kind)
        fields = list(kind if self.is_nested else schema)
        names = [field.name for field in fields]
        if len(set(names)) < len(names):
            raise same_names(file)
        self.sides = [fields[place] for place in columns_of(file, names, languages)]
        self.names = [field.name for field in self.sides]
        self.paths = [f"{NESTED}.{name}" if self.is_nested else name for name in self.names]
        if not all(is_text(field.type) for field in self.sides):
            raise no_text(file, *self.names)

    def of(self, batch: Any) -> Iterator[Texts]:
        """Yield the texts of a batch. Raise ArrowException for invalid UTF-8 or offsets out of bounds."""
        columns = batch.to_struct_array() if not self.is_nested else batch.column(NESTED)
        sides = dict(zip([field.name for field in columns.type], columns.flatten(), strict=True))
        found = [sides[name] for name in self.names]
        for side in found:
            side.validate(full=True)
        rows = rows_of(sum(side.nbytes for side in found), batch.num_rows)
        for start in range(0, batch.num_rows, rows):
            src, tgt = (texts(side.slice(start, rows)) for side in found)
            yield src, tgt


def is_text(kind: Any) -> bool:
    types = pyarrow("pyarrow.types")
    inner = kind.value_type if types.is_dictionary(kind) else kind
    tests = (types.is_string, types.is_large_string, types.is_string_view)
    return any(test(inner) for test in tests)


def texts(side: Any) -> list[str | None]:
    """Return the texts of a column. A text that occurs in many rows is in memory once, and of one that is too
    long only what shows that it is."""
    types = pyarrow("pyarrow.types")
    if types.is_dictionary(side.type):
        values = texts(side.dictionary)
        return [None if index is None else values[index] for index in side.indices.to_pylist()]
    if side.nbytes > BATCH and not types.is_string_view(side.type):
        side = pyarrow("pyarrow.compute").utf8_slice_codeunits(side, 0, LIMIT + 1)
    return list(side.to_pylist())


def rows_of(size: int, rows: int) -> int:
    """Return the number of rows with about BATCH bytes."""
    return max(1, min(ROWS, BATCH * rows // max(1, size)))


def in_parquet(file: Path, languages: Languages | None) -> Iterator[Texts]:
    parquet = pyarrow("pyarrow.parquet")
    sides = Sides(file, parquet.read_schema(file), languages)
    source = parquet.ParquetFile(file, read_dictionary=sides.paths)
    for number in range(source.num_row_groups):
        group = source.metadata.row_group(number)
        found = [group.column(n) for n in range(group.num_columns)]
        chunks = [chunk for chunk in found if chunk.path_in_schema in sides.paths]
        size = sum(chunk.total_uncompressed_size for chunk in chunks)
        if size > max(BOMB_FLOOR, BOMB_RATIO * sum(chunk.total_compressed_size for chunk in chunks)):
            raise too_packed(file, size)
        rows = rows_of(size, group.num_rows)
        for batch in source.iter_batches(batch_size=rows, row_groups=[number], columns=sides.paths):
            yield from sides.of(batch)


def in_arrow(file: Path, languages: Languages | None) -> Iterator[Texts]:
    """Yield the texts of an Arrow file, in the file or the stream format."""
    arrow = pyarrow("pyarrow")
    with arrow.memory_map(str(file)) as source:
        is_file = source.read(6) == b"ARROW1"
        source.seek(0)
        reader = arrow.ipc.open_file(source) if is_file else arrow.ipc.open_stream(source)
        sides = Sides(file, reader.schema, languages)
        found = (reader.get_batch(n) for n in range(reader.num_record_batches)) if is_file else reader
        for batch in found:
            yield from sides.of(batch)


def pyarrow(name: str) -> Any:
    with needs_extra("Parquet and Arrow need pyarrow, which is not installed.", "arrow"):
        return import_module(name)


def no_text(file: Path, *names: str) -> DataError:
    return DataError(
        f"The columns {' and '.join(names)} do not contain text.",
        where=str(file),
        expected="two columns of text",
        hint="Pass the column names: --languages SOURCE TARGET",
    )


def same_names(file: Path) -> DataError:
    return DataError(
        "Two columns have the same name.",
        where=str(file),
        expected="a unique name for each column",
        hint="Rename one of the columns.",
    )


def too_packed(file: Path, size: int) -> DataError:
    return DataError(
        f"This file expands to more than {BOMB_RATIO} times its size, which text does not.",
        where=f"{file}, {size:,} bytes",
        expected=f"at most {BOMB_FLOOR:,} bytes, or {BOMB_RATIO} times the compressed size",
        hint="If the content is right, save it without compression.",
    )


def dataset_files(folder: Path) -> list[str]:
    """Return the files of a dataset saved to disk, or [] if the folder is not a dataset."""
    if (folder / SPLITS).is_file():
        splits = listed(folder / SPLITS, "splits")
        if not all(isinstance(split, str) for split in splits):
            raise no_dataset(folder / SPLITS)
        raise DataError(
            f"This dataset has several splits: {', '.join(splits)[:200]}.",
            where=str(folder),
            expected="one of them",
            hint=f"{folder / splits[0]}",
        )
    if not (folder / STATE).is_file():
        return []
    parts = [part.get("filename", "") if isinstance(part, dict) else "" for part in listed(folder / STATE)]
    if not all(isinstance(part, str) and part and part == Path(part).name for part in parts):
        raise no_dataset(folder / STATE)
    return [str(folder / part) for part in parts]


def listed(file: Path, key: str = "_data_files") -> list[Any]:
    """Return the list under `key` of a small JSON file."""
    try:
        found = json.loads(file.read_text(encoding="utf-8"))[key]
    except (OSError, ValueError, TypeError, LookupError, RecursionError):
        raise no_dataset(file) from None
    if not isinstance(found, list) or not found:
        raise no_dataset(file)
    return found


def no_dataset(file: Path) -> DataError:
    return DataError(
        "This folder is not a Hugging Face dataset.",
        where=str(file),
        expected='"_data_files" with names of files in this folder, or "splits" with names of folders',
        hint="Save it again with dataset.save_to_disk(…), or pass the files: dragoman check train.parquet",
    )
