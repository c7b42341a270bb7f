"""Which engines can run a folder without torch: an export in it, and the package that runs it."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from dragoman.config.load import load_written
from dragoman.durable import verify_folder
from dragoman.errors import MissingExtra, ModelError, UsageError
from dragoman.inference.light import Light
from dragoman.inference.runtime import Engine, Name
from dragoman.models.calibration import FILE as CALIBRATION
from dragoman.models.calibration import Calibration, read_calibration
from dragoman.text.build import load as load_text
from dragoman.text.pair import TextPair

SETTINGS = "settings.toml"


class Export(NamedTuple):
    """`folder` in a model folder has this `file`; `module` has open_engine(folder, text) → Engine."""

    folder: str
    file: str
    package: str
    module: str


EXPORTS: dict[Name, Export] = {
    "ct2": Export("ct2", "model.bin", "ctranslate2", "dragoman.inference.ct2"),
    "onnx": Export("onnx", "step.onnx", "onnxruntime", "dragoman.inference.onnx"),
}


def exported(folder: Path, name: Name) -> Path | None:
    """Where the export is: in the model folder, or the folder itself, which can be copied alone."""
    export = EXPORTS[name]
    return next(
        (place for place in (folder / export.folder, folder) if (place / export.file).is_file()), None
    )


def runnable(folder: Path) -> Name | None:
    """The engine that runs this folder where none is asked for."""
    return next(
        (name for name in EXPORTS if exported(folder, name) and is_installed(EXPORTS[name].package)), None
    )


def is_installed(package: str) -> bool:
    return find_spec(package) is not None


def open_light(folder: Path, name: Name) -> Light:
    if name not in EXPORTS:
        raise UsageError(
            f'There is no runtime "{name}".',
            where="runtime",
            expected="one of " + ", ".join([*EXPORTS, "torch"]),
            hint="Leave it out: the model folder knows what can run it.",
        )
    home = exported(folder, name)
    if home is None:
        raise UsageError(
            f"This folder holds no export that {name} runs.",
            where=str(folder),
            expected=str(folder / EXPORTS[name].folder / EXPORTS[name].file),
            hint=f"dragoman export {folder} --to {name}",
        )
    if not is_installed(EXPORTS[name].package):
        raise MissingExtra(
            f"Running this export needs {EXPORTS[name].package}, which is not installed.",
            where=str(home),
            hint=f"pip install {EXPORTS[name].package}",
        )
    refuse_damaged(home)
    text = load_text(home / "text")
    return Light(open_engine(name, home, text), load_written(home / SETTINGS), text, learned(folder, home))


def open_engine(name: Name, home: Path, text: TextPair) -> Engine:
    engine: Engine = import_module(EXPORTS[name].module).open_engine(home, text)
    return engine


def refuse_damaged(home: Path) -> None:
    if fault := verify_folder(home, [SETTINGS]):
        raise ModelError(
            f"The export is damaged: {fault}.",
            where=str(home),
            expected="a folder as dragoman export wrote it",
            hint="Copy the folder again, or export the model again.",
        )


def learned(folder: Path, home: Path) -> Calibration | None:
    """The calibration: the model's own, which may be newer than the export."""
    if fault := verify_folder(folder, only=[CALIBRATION]):
        raise ModelError(
            f"The model folder is damaged: {fault}.",
            where=str(folder),
            hint="Copy the folder again, or train it again.",
        )
    return read_calibration(folder) or read_calibration(home)
