"""A model folder, verified: every file as it was written, and each of them what it has to be."""

from __future__ import annotations

import json
from pathlib import Path

from dragoman.durable import MANIFEST, verify_folder
from dragoman.errors import ModelError
from dragoman.inference.folder import find_model
from dragoman.models.bundle import load_bundle

EXPORTS = ("ct2", "onnx")  # folders beside the weights, with a manifest of their own


def check_model(path: str | Path) -> dict[str, str]:
    """What was found, part by part; a ModelError that names the file which is broken."""
    folder = find_model(path)
    bundle = load_bundle(folder)
    model, text = bundle.config.model, bundle.text
    found = {
        "manifest": f"{count(folder)} files, each with its size and SHA-256",
        "settings": f"{model.encoder.name} encoder, {model.decoder.name} decoder",
        "text": f"{text.src.size:,} {text.src.kind} units → {text.tgt.size:,} {text.tgt.kind} units",
        "weights": f"{sum(p.numel() for p in bundle.model.parameters()):,} numbers, all finite",
    }
    for name in EXPORTS:
        if (folder / name).exists():
            found[name] = check_export(folder / name)
    return found


def check_export(folder: Path) -> str:
    if fault := verify_folder(folder):
        raise ModelError(
            f"The export is damaged: {fault}.",
            where=str(folder),
            expected="a folder as dragoman export wrote it",
            hint=f"dragoman export {folder.parent} --to {folder.name}",
        )
    return f"{count(folder)} files, each with its size and SHA-256"


def count(folder: Path) -> int:
    files = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))["files"]
    return len(files)
