"""A foreign model → a model folder of ours, or a refusal that names what stands in the way."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from dragoman.config.load import validate
from dragoman.config.root import Config
from dragoman.errors import ConfigError, ModelError, UsageError
from dragoman.importing.eole import read_eole
from dragoman.importing.files import refusal
from dragoman.importing.foreign_model import UNKNOWN_DATA, Found
from dragoman.importing.marian import read_marian
from dragoman.models.bundle import load_weights, new_model, save_bundle
from dragoman.models.folder import refuse_oversized

PROGRAMS = (".pt", ".pth", ".ckpt", ".pkl", ".pickle", ".bin")
CARD = """\
# An imported model

Made from {path}, a model of {maker}, by `dragoman import`. What it was trained on, how well it does and under
which licence it may be used is for its makers to say: look where you got it from.

Sources are read up to {longest} tokens.
"""


class Imported(NamedTuple):
    folder: Path
    maker: str
    parameters: int
    entries: tuple[int, int]


def import_model(path: Path, out: Path) -> Imported:
    if out.exists() and any(out.iterdir()):
        raise UsageError(
            "There is something else already.",
            where=str(out),
            expected="a folder that is not there yet",
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
    return Imported(out, found.maker, count, (found.text.src.size, found.text.tgt.size))


def settings_of(found: Found, out: Path, path: Path) -> Config:
    try:
        return validate({"data": {"train": str(out / UNKNOWN_DATA)}, **found.settings})
    except ConfigError as error:
        raise refusal([error.what.rstrip(".")], str(path)) from None


def read(path: Path) -> Found:
    """Which importer, by the files that are there."""
    if not path.exists():
        raise ModelError(
            "There is no such model.",
            where=str(path),
            expected="a folder with a model of Marian or Eole, or an .npz file",
            hint="Check the spelling of the path.",
        )
    if path.suffix == ".npz" or (path.is_dir() and any(path.glob("*.npz"))):
        return read_marian(path)
    if path.is_dir() and (path / "vocab.json").is_file() and any(path.glob("*.safetensors")):
        return read_eole(path)
    programs = [f for f in ([path] if path.is_file() else sorted(path.iterdir())) if f.suffix in PROGRAMS]
    if programs:
        raise refusal([f"{programs[0].name} is a pickle: a program, which is never run"], str(path))
    raise refusal(
        ["no .npz of Marian in it, and no config.json, vocab.json and .safetensors of Eole"], str(path)
    )
