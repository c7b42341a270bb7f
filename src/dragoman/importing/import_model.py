"""Import of a model of another toolkit into a model folder, or an error that names what is unsupported."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import NamedTuple

from dragoman.config.load import validate
from dragoman.config.root import Config
from dragoman.errors import ConfigError, ModelError, UsageError
from dragoman.importing.files import opened, refusal
from dragoman.importing.foreign_model import UNKNOWN_DATA, ForeignModel
from dragoman.importing.marian import read_marian
from dragoman.models.builders.network import new_model
from dragoman.models.bundle import load_weights, save_bundle
from dragoman.models.folder import refuse_oversized

PROGRAMS = (".pt", ".pth", ".ckpt", ".pkl", ".pickle", ".bin")
CARD = """\
# An imported model

Imported from {path}, a {maker} model, by `dragoman import`. For its training data, quality and licence, see
where you got it from.

Sources are limited to {longest} tokens.
"""


class Imported(NamedTuple):
    folder: Path
    maker: str
    parameters: int
    entries: tuple[int, int]
    notes: tuple[str, ...]


def import_model(path: Path, out: Path) -> Imported:
    if out.exists() and any(out.iterdir()):
        raise UsageError(
            "The folder is not empty.",
            where=str(out),
            expected="a new or empty folder",
            hint=f"-o {out}-imported",
        )
    found = read(path)
    config = settings_of(found, out, path)
    numbers = sum(tensor.numel() for tensor in found.weights.values())
    refuse_oversized(config.model, numbers, path, found.text.src.size, found.text.tgt.size)
    model = new_model(config, found.text)
    load_weights(model, found.weights, path)
    card = CARD.format(path=path.name, maker=found.maker, longest=config.model.encoder.longest)
    weights = {name: p.detach() for name, p in model.named_parameters()}
    save_bundle(out, config, found.text, weights, card)
    count = sum(p.numel() for p in model.parameters())
    return Imported(out, found.maker, count, (found.text.src.size, found.text.tgt.size), found.notes)


def settings_of(found: ForeignModel, out: Path, path: Path) -> Config:
    try:
        return validate({"data": {"train": str(out / UNKNOWN_DATA)}, **found.settings})
    except ConfigError as error:
        raise refusal([error.what.rstrip(".")], str(path)) from None


def read(path: Path) -> ForeignModel:
    """Read a model with the importer that its files require."""
    if not path.exists():
        raise ModelError(
            "There is no such model.",
            where=str(path),
            expected="a folder with a Marian model, or an .npz file",
            hint="Check the spelling of the path.",
        )
    if path.suffix == ".npz" or (path.is_dir() and any(path.glob("*.npz"))):
        return read_marian(path)
    programs = [f for f in ([path] if path.is_file() else sorted(path.iterdir())) if f.suffix in PROGRAMS]
    if programs and programs[0].suffix == ".bin" and is_marian_binary(programs[0]):
        raise refusal(
            [f"{programs[0].name} is in Marian's binary format"], str(path), "Import the .npz it was made of."
        )
    if programs:
        raise refusal([f"{programs[0].name} is a pickle, which can run code and is never loaded"], str(path))
    raise refusal(["it has no .npz of Marian"], str(path))


def is_marian_binary(file: Path) -> bool:
    """Return whether it begins as Marian's .bin: a version of 1 and a number of arrays, both of 64 bits."""
    with opened(file) as stream:
        version, arrays = struct.unpack("<QQ", stream.read(16).ljust(16, b"\0"))
    return bool(version == 1 and 0 < arrays < 1 << 20)
