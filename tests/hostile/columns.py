"""Hostile Parquet and Arrow files, and folders that look like a dataset of Hugging Face."""

from __future__ import annotations

import io
import json
import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
from pyarrow import ipc, parquet

from hostile.documents import Case, Verdict

TABLE = pa.table({"en": ["Good", "More"], "de": ["Gut", "Mehr"]})
FORMS = ("parquet", "arrow", "stream")  # an .arrow is either a file or a stream


def written(table: pa.Table, form: str, codec: str | None = None) -> bytes:
    store = io.BytesIO()
    if form == "parquet":
        parquet.write_table(table, store, compression=codec or "none")
        return store.getvalue()
    options = ipc.IpcWriteOptions(compression=codec)
    new = ipc.new_file if form == "arrow" else ipc.new_stream
    with new(store, table.schema, options=options) as writer:
        writer.write_table(table)
    return store.getvalue()


def column_cases(folder: Path, size: int) -> Iterator[Case]:
    rng = random.Random(1)
    for number, (attack, form, content, verdict) in enumerate([*tables(size), *broken(rng)]):
        file = folder / f"{number:03d}.{'parquet' if form == 'parquet' else 'arrow'}"
        folder.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        yield Case(attack, file, verdict, None)
        file.unlink()
    yield from datasets(folder / "datasets")


def tables(size: int) -> Iterator[tuple[str, str, bytes, Verdict]]:
    """Well-formed files of what is no pair of texts, or too much of it."""
    not_text = pa.Array.from_buffers(pa.string(), 1, [None, *TABLE_BUFFERS])
    shapes: dict[str, tuple[pa.Table, Verdict]] = {
        "long text": (pa.table({"en": ["x" * size], "de": ["y"]}), "refuse"),
        "the same long text": (pa.table({"en": ["x" * 1_000_000] * 100, "de": ["y"] * 100}), "refuse"),
        "numbers": (pa.table({"en": [1], "de": [2]}), "refuse"),
        "bytes": (pa.table({"en": [b"\xff"], "de": [b"x"]}), "refuse"),
        "not UTF-8": (pa.table({"en": not_text, "de": ["x"]}), "refuse"),
        "one column": (pa.table({"en": ["x"]}), "refuse"),
        "no column": (pa.table({}), "refuse"),
        "columns of one name": (
            pa.Table.from_arrays([pa.array(["a"])] * 3, names=["en", "en", "de"]),
            "refuse",
        ),
        "thousands of columns": (pa.table({f"c{n}": ["x"] for n in range(5_000)}), "refuse"),
        "translation that is text": (pa.table({"translation": ["x"]}), "refuse"),
        "translation of numbers": (pa.table({"translation": [{"en": 1, "de": 2}]}), "refuse"),
        "translation of one language": (pa.table({"translation": [{"en": "a"}]}), "refuse"),
        "deep nesting": (pa.table({"en": nested(60), "de": ["x"]}), "refuse"),
    }
    for form in FORMS:
        for attack, (table, verdict) in shapes.items():
            yield attack, form, written(table, form, "zstd"), verdict
        yield "nothing", form, b"", "refuse"


TABLE_BUFFERS = (pa.py_buffer(b"\0\0\0\0\2\0\0\0"), pa.py_buffer(b"\xff\xfe"))


def nested(depth: int) -> pa.Array:
    kind = pa.string()
    for _ in range(depth):
        kind = pa.list_(kind)
    return pa.array([None], kind)


def broken(rng: random.Random) -> Iterator[tuple[str, str, bytes, Verdict]]:
    for form in FORMS:
        good = written(TABLE, form)
        footer = bytearray(good)
        footer[-8:-4] = b"\xff\xff\xff\x7f"
        changes = {
            "cut off": good[: len(good) // 2],
            "without its footer": good[:-12] if form != "stream" else good[:-20],
            "length of the footer": bytes(footer)
            if form != "stream"
            else b"\xff\xff\xff\xff\xff\xff\xff\x7f",
            "only its mark": good[:8],
            "binary": good[:8] + rng.randbytes(5000) + good[-8:],
            "another format": b"en,de\nGood,Gut\n",
        }
        for attack, content in changes.items():
            yield attack, form, content, "refuse"
    offsets = written(TABLE, "arrow")
    place = offsets.index((4).to_bytes(4, "little") + (8).to_bytes(4, "little"))
    wild = offsets[:place] + b"\xff\xff\xff\x7f" * 2 + offsets[place + 8 :]
    yield "offsets beyond the end", "arrow", wild, "refuse"


def datasets(folder: Path) -> Iterator[Case]:
    """Folders with a state.json or dataset_dict.json that nobody's library wrote."""
    states = {
        "not JSON": b"{",
        "a list": b"[]",
        "files that are no list": b'{"_data_files": 7}',
        "files without names": b'{"_data_files": [{}]}',
        "a name that is no text": b'{"_data_files": [{"filename": 7}]}',
        "a name outside of it": json.dumps(
            {"_data_files": [{"filename": "../../../../etc/passwd"}]}
        ).encode(),
        "not UTF-8": b"\xff\xfe",
        "nested 100,000 deep": b"[" * 100_000,
    }
    for name in ("state.json", "dataset_dict.json"):
        for what, content in states.items():
            home = folder / what.replace(" ", "-")
            home.mkdir(parents=True)
            (home / name).write_bytes(content)
            yield Case(f"dataset: {what}", home, "refuse", None)
            shutil.rmtree(home)
