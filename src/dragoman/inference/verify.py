"""Verification of a model folder: every file is unchanged and has valid content.

Anyone who receives a model can do this, as PyTorch is not required. With PyTorch, the shapes of the weights
are also compared with the settings.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import numpy as np

from dragoman.config.load import load_written
from dragoman.config.root import Config
from dragoman.errors import ModelError
from dragoman.inference.find_model import find_model
from dragoman.inference.runtimes.ct2_file import read_ct2
from dragoman.inference.runtimes.exports import is_installed
from dragoman.inference.runtimes.onnx_file import (
    NETWORK,
    SCORE,
    STEP,
    read_network,
    read_onnx,
    read_score,
)
from dragoman.manifest import Manifest
from dragoman.models.folder import (
    SETTINGS,
    TEXT,
    WEIGHTS,
    exports,
    holds_export,
    is_export,
    open_export,
    open_folder,
    refuse_oversized,
    refuse_swollen,
)
from dragoman.models.header import entries
from dragoman.text.build import load as load_text
from dragoman.text.tokenizer_pair import TokenizerPair

TYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2"}
EXPONENT = 0x7F80  # of a bfloat16, which NumPy does not have; all ones in NaN and infinity


def verify_model(path: str | Path) -> dict[str, str]:
    """Return a description of each part; raise a ModelError that names a broken file."""
    folder = find_model(path)
    manifest = open_folder(folder)
    config, text = read_parts(manifest)
    found = {
        "manifest": counted(manifest),
        "settings": config.model.brief,
        "text": f"{text.src.size:,} {text.src.kind} units → {text.tgt.size:,} {text.tgt.kind} units",
    }
    if is_export(folder):
        verify_export(manifest)
        return found
    opened = {name: open_export(folder / name, manifest) for name in exports(folder)}
    for export in opened.values():  # before torch is imported for the weights
        verify_export(export)
    found["weights"] = verify_weights(manifest, config, text)
    manifest.verify()
    return found | {name: f"{counted(e)}, exported from these weights" for name, e in opened.items()}


def verify_export(manifest: Manifest) -> None:
    """Verify an export, including that it is safe to pass its files to the engine."""
    config, text = read_parts(manifest)
    folder, read = manifest.folder, manifest.read
    if holds_export(folder, "ct2"):
        read_ct2(folder, read, config.model, text)
    if STEP in manifest:
        read_onnx(folder, read, text.tgt.size)
    if SCORE in manifest:
        read_score(folder, read)
    if NETWORK in manifest:
        read_network(folder, read, config.task, text.tgt.size)
    manifest.verify()


def read_parts(manifest: Manifest) -> tuple[Config, TokenizerPair]:
    folder = manifest.folder
    return load_written(folder / SETTINGS, manifest.read), load_text(folder / TEXT, manifest.read)


def verify_weights(manifest: Manifest, config: Config, text: TokenizerPair) -> str:
    file = manifest.folder / WEIGHTS
    refuse_swollen(manifest, config.model, text.src.size, text.tgt.size)
    if is_installed("torch") and is_installed("jaxtyping"):
        model = import_module("dragoman.models.bundle").load_bundle(manifest.folder).model
        return f"{sum(p.numel() for p in model.parameters()):,} numbers, all finite"
    raw = manifest.read(file)
    try:
        found = entries(raw)
    except ValueError as error:
        raise ModelError(
            f"The weights cannot be read: {error}.", where=str(file), hint="Copy the folder again."
        ) from None
    numbers = sum(entry.numbers for entry in found.values())
    refuse_oversized(config.model, numbers, manifest.folder / SETTINGS, text.src.size, text.tgt.size)
    for name, entry in found.items():
        if not is_finite(raw[entry.begin : entry.end], entry.kind):
            raise ModelError(
                f"The weights hold NaN or infinity, in {name}.",
                where=str(file),
                expected="finite numbers",
                hint="Train it again, with a smaller training.lr.",
            )
    return f"{numbers:,} numbers, all finite; comparing their shapes needs PyTorch"


def is_finite(raw: bytes, kind: str) -> bool:
    if kind == "BF16":
        return not bool((np.frombuffer(raw, "<u2") & EXPONENT == EXPONENT).any())
    return bool(np.isfinite(np.frombuffer(raw, TYPES[kind])).all())


def counted(manifest: Manifest) -> str:
    return f"{len(manifest.files)} files, each with its size and SHA-256"
