"""Model folders that are damaged or meant badly: what is done to a good one, and the files to blame."""

from __future__ import annotations

import hashlib
import io
import json
import os
import pickle
import random
import shutil
import struct
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import torch
from safetensors.torch import load_file, save_file

from dragoman.config.load import validate
from dragoman.models.builders.network import new_model
from dragoman.models.bundle import save_bundle
from dragoman.text.build import learn
from hostile.faults import BAD_JSON
from hostile.settings import BAD_SETTINGS

MANIFEST, WEIGHTS, SETTINGS, TEXT = "MANIFEST.json", "weights.safetensors", "settings.toml", "text/text.json"
LINES = ["the man rides a bicycle", "ein Mann fährt Rad", "two dogs run", "zwei Hunde laufen"]
KINDS = {"word": "text/joint.json", "bpe": "text/joint.model"}


class Corruption(NamedTuple):
    name: str
    kind: str  # of the text of the folder that it is done to
    apply: Callable[[Path], None]
    blames: str = ""  # the file that must be named, where only one can be


class Bomb:
    """A pickle of it makes a file where it is loaded."""

    def __reduce__(self) -> tuple[object, tuple[str, str]]:
        return open, ("boom", "w")


def good_folder(folder: Path, kind: str, seed: int = 1) -> Path:
    part = {"kind": "transformer", "layers": 1, "width": 16, "heads": 2, "ffn": 16}
    table = {
        "data": {"train": "train.tsv"},
        "text": {"kind": kind, "size": 300},
        "model": {"encoder": part, "decoder": part},
        "training": {"seed": seed},
    }
    config = validate(table)
    text = learn(config.text, zip(LINES, LINES, strict=True))
    weights = {name: p.detach() for name, p in new_model(config, text).named_parameters()}
    save_bundle(folder, config, text, weights, "A model to be damaged.\n")
    return folder


def sign(folder: Path) -> None:
    """The manifest of what is there now: the damage was done before it was written."""
    files = [p for p in sorted(folder.rglob("*")) if p.is_file() and p.name != MANIFEST]
    facts = {
        str(p.relative_to(folder)): {
            "bytes": p.stat().st_size,
            "sha256": hashlib.sha256(p.read_bytes()).hexdigest(),
        }
        for p in files
    }
    (folder / MANIFEST).write_text(json.dumps({"format": 1, "files": facts}), encoding="utf-8")


def corruptions() -> list[Corruption]:
    """More than 400 of them; the same ones each time."""
    found = [*flips(), *cuts(), *swaps(), *manifests(), *signed()]
    return [corruption._replace(name=f"{corruption.kind}: {corruption.name}") for corruption in found]


def files_of(kind: str) -> list[str]:
    return [MANIFEST, WEIGHTS, SETTINGS, TEXT, "card.md", KINDS[kind]]


def flips() -> Iterator[Corruption]:
    for number in range(120):
        kind = ("word", "bpe")[number % 2]
        file = files_of(kind)[number // 2 % 6]

        def flip(folder: Path, file: str = file, number: int = number) -> None:
            rng = random.Random(number)
            raw = bytearray((folder / file).read_bytes())
            raw[rng.randrange(len(raw))] ^= 1 << rng.randrange(8)
            (folder / file).write_bytes(raw)

        yield Corruption(f"bit of {file} {number}", kind, flip, "" if file == MANIFEST else file)


def cuts() -> Iterator[Corruption]:
    for number in range(60):
        kind = ("word", "bpe")[number % 2]
        file = files_of(kind)[number // 2 % 6]

        def cut(folder: Path, file: str = file, number: int = number) -> None:
            size = (folder / file).stat().st_size
            os.truncate(folder / file, random.Random(number).randrange(size - 1) if number > 11 else 0)

        yield Corruption(f"end of {file} {number}", kind, cut, file)


def swaps() -> Iterator[Corruption]:
    for kind in KINDS:
        files = files_of(kind)
        for file in files:
            yield Corruption(f"no {file}", kind, lambda f, file=file: (f / file).unlink(), file)
            yield Corruption(f"folder {file}", kind, lambda f, file=file: as_folder(f / file), file)
            yield Corruption(f"link {file}", kind, lambda f, file=file: as_link(f / file), file)
            for other in files:
                if other != file:
                    yield Corruption(
                        f"{other} as {file}", kind, lambda f, a=other, b=file: as_other(f / a, f / b), file
                    )
        yield Corruption("weights of another", kind, lambda f, kind=kind: of_another(f, kind), WEIGHTS)


def as_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


def as_link(file: Path) -> None:
    file.unlink()
    file.symlink_to("/dev/zero")


def as_other(source: Path, target: Path) -> None:
    shutil.copyfile(source, target)


def of_another(folder: Path, kind: str) -> None:
    other = good_folder(folder.parent / "other", kind, seed=2)
    as_other(other / WEIGHTS, folder / WEIGHTS)
    shutil.rmtree(other)


def manifests() -> Iterator[Corruption]:
    texts = {
        **BAD_JSON,
        "outside": naming("../x"),
        "absolute": naming("/proc/kcore"),
        "nul": naming("\0"),
        "nothing": json.dumps({"format": 1, "files": {}}),
        "newer": json.dumps({"format": 2, "files": {}}),
        "a list": json.dumps({"format": 1, "files": []}),
    }
    for name, text in texts.items():
        yield Corruption(f"manifest {name}", "word", writer(MANIFEST, text.encode("utf-8", "surrogatepass")))


def naming(file: str) -> str:
    """A manifest with one file too many."""
    return json.dumps({"format": 1, "files": {n: {"bytes": 0, "sha256": ""} for n in (file, *required())}})


def required() -> list[str]:
    return [SETTINGS, WEIGHTS, TEXT, KINDS["word"]]


def signed() -> Iterator[Corruption]:
    """The manifest is right, and the file is not what it has to be."""
    for name, text in BAD_JSON.items():
        raw = text.encode("utf-8", "surrogatepass")
        yield signed_as(f"text.json {name}", "word", TEXT, raw)
        yield signed_as(f"vocabulary {name}", "word", "text/joint.json", raw)
    for name, raw in bad_binaries().items():
        yield signed_as(f"weights {name}", "word", WEIGHTS, raw)
        yield signed_as(f"pieces {name}", "bpe", "text/joint.model", raw)
    for name, text in BAD_SETTINGS.items():
        yield signed_as(f"settings {name}", "word", SETTINGS, text.encode())


def bad_binaries() -> dict[str, bytes]:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("model/data.pkl", pickle.dumps(Bomb()))
    return {
        "empty": b"",
        "pickle": pickle.dumps(Bomb()),
        "torch": archive.getvalue(),
        "script": b"#!/bin/sh\ntouch boom\n",
        "python": b"open('boom', 'w')\n",
        "huge header": struct.pack("<Q", 1 << 62) + b"{}",
        "no header": struct.pack("<Q", 0),
        "deep header": header("[" * 100_000),
        "odd header": header('{"a": {"dtype": "F32", "shape": [1e400], "data_offsets": [0, 4]}}'),
        "beyond the end": header('{"a": {"dtype": "F32", "shape": [9], "data_offsets": [0, 36]}}'),
        "overlapping": header('{"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}, '
                              '"b": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}') + bytes(4),
        "huge shape": header('{"a": {"dtype": "F32", "shape": [4611686018427387904, 4], '
                             '"data_offsets": [0, 0]}}'),
    }  # fmt: skip


def header(text: str) -> bytes:
    return struct.pack("<Q", len(text)) + text.encode()


def writer(file: str, raw: bytes) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        (folder / file).write_bytes(raw)

    return write


def signed_as(name: str, kind: str, file: str, raw: bytes) -> Corruption:
    def write(folder: Path) -> None:
        (folder / file).write_bytes(raw)
        sign(folder)

    return Corruption(f"signed {name}", kind, write, file)


def with_no_number(folder: Path) -> None:
    """Weights of the right shapes, one of them not a number."""
    weights = load_file(folder / WEIGHTS)
    next(iter(weights.values())).view(-1)[0] = torch.nan
    save_file(weights, folder / WEIGHTS)
    sign(folder)
