"""Engines that can run a folder without PyTorch: each needs an export and its package."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from dragoman.config.load import load_written
from dragoman.config.root import Config
from dragoman.errors import MissingExtra, UsageError
from dragoman.inference.runtimes.exported import ExportRuntime
from dragoman.inference.runtimes.runtime import Engine, RuntimeName
from dragoman.manifest import Manifest, Read
from dragoman.models.calibration import FILE as CALIBRATION
from dragoman.models.calibration import Calibration, read_calibration
from dragoman.models.folder import EXPORTS, SETTINGS, TEXT, holds_export, open_export, open_folder
from dragoman.text.build import load as load_text
from dragoman.text.tokenizer_pair import TokenizerPair


class RuntimePackage(NamedTuple):
    """The package that runs an export; `module` has open_engine, which checks the files first."""

    name: str
    module: str
    requirement: str  # what to install


PACKAGES: dict[RuntimeName, RuntimePackage] = {
    "ct2": RuntimePackage("ctranslate2", "dragoman.inference.runtimes.ct2", "ctranslate2"),
    "onnx": RuntimePackage("onnxruntime", "dragoman.inference.runtimes.onnx", '"dragoman[onnx]"'),
}


def find_export(folder: Path, name: RuntimeName) -> Path | None:
    """Return the folder of an export: in the model folder, or `folder` itself, if it is an export."""
    return next((p for p in (folder / name, folder) if holds_export(p, name)), None)


def pick_runtime(folder: Path) -> RuntimeName | None:
    """Return the default engine of this folder; None if there is no export, or only PyTorch can run it."""
    exports = [name for name in PACKAGES if find_export(folder, name)]
    installed = [name for name in exports if is_installed(PACKAGES[name].name)]
    # Without PyTorch an export is the only way: opening it says which package is missing.
    usable = installed or ([] if is_installed("torch") else exports)
    return next(iter(usable), None)


def is_installed(package: str) -> bool:
    return find_spec(package) is not None


class ExportParts(NamedTuple):
    """The parts of an export, whose graphs or weights are read by `read`."""

    folder: Path
    read: Read
    config: Config
    text: TokenizerPair
    calibration: Calibration | None


def open_parts(folder: Path, name: RuntimeName) -> tuple[ExportParts, Manifest]:
    """Return the export for an engine and its manifest; raise UsageError or MissingExtra if there is none."""
    if name not in PACKAGES:
        raise UsageError(
            f'There is no runtime "{name}".',
            where="runtime",
            expected="one of " + ", ".join([*PACKAGES, "torch"]),
            hint="Leave it out to use the default of the model folder.",
        )
    home, package = find_export(folder, name), PACKAGES[name]
    if home is None:
        raise UsageError(
            f"This folder has no export for {name}.",
            where=str(folder),
            expected=" or ".join(str(folder / name / file) for file in EXPORTS[name]),
            hint=f"dragoman export {folder} --to {name}",
        )
    if not is_installed(package.name):
        raise MissingExtra(
            f"Running this export needs {package.name}, which is not installed.",
            where=str(home),
            hint=f"pip install {package.requirement}",
        )
    model = open_folder(folder)
    export = model if home == folder else open_export(home, model)
    # The model's own calibration may be newer than the one in its export.
    calibration = load_calibration(model) or load_calibration(export)
    config, text = load_written(home / SETTINGS, export.read), load_text(home / TEXT, export.read)
    return ExportParts(home, export.read, config, text, calibration), export


def open_export_runtime(folder: Path, name: RuntimeName, device: str = "cpu") -> ExportRuntime:
    (home, read, config, text, calibration), manifest = open_parts(folder, name)
    engine: Engine = import_module(PACKAGES[name].module).open_engine(home, read, config.model, text, device)
    manifest.verify()
    return ExportRuntime(engine, config, text, calibration)


def load_calibration(manifest: Manifest) -> Calibration | None:
    """Return the calibration in this folder, if there is one."""
    if CALIBRATION not in manifest:
        return None
    return read_calibration(manifest.folder / CALIBRATION, manifest.read)
