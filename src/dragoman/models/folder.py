"""Checks of a model folder before loading, without torch: no missing or extra files, and no stale exports.

An export has its own manifest, so that it can be copied separately. Its proof.json has the SHA-256 of the
weights it was made from; if the weights of the model folder differ, it is not run.
"""

from __future__ import annotations

import json
from pathlib import Path

from dragoman.config.load import load_written
from dragoman.config.model import ModelConfig
from dragoman.config.parameters import largest_table, least_parameters
from dragoman.errors import ModelError
from dragoman.manifest import Manifest
from dragoman.models.header import MAX_HEADER_BYTES

WEIGHTS, SETTINGS, TEXT, CARD, PROOF = "weights.safetensors", "settings.toml", "text", "card.md", "proof.json"
# Folders next to the weights, and files of which each has one.
EXPORTS = {"ct2": ("model.bin",), "onnx": ("step.onnx", "network.onnx")}
PACKAGE = ".argosmodel"  # read by Argos only, never by Dragoman
MADE_FROM = "weights_sha256"  # a key in the proof of an export
# Elements: the position tables of a tiny model may be larger than its weights.
MIN_TABLE_LIMIT = 1 << 20
MAX_TABLE_RATIO = 16  # maximum size of position tables, relative to the weights
# Maximum bytes per parameter that the settings imply: 8, doubled because they may imply only half of them.
BYTES = 16


def open_folder(folder: Path) -> Manifest:
    """Return the manifest of a model folder or a separate export; raise ModelError on extra files."""
    if is_export(folder):
        return open_export(folder)
    manifest = Manifest(folder, "model folder", "Copy the folder again, or train the model again.")
    manifest.refuse_others(apart=[*EXPORTS, *packages(folder)])
    for name in exports(folder):
        open_export(folder / name, manifest)
    settings = load_written(folder / SETTINGS, manifest.read)
    numbers = manifest.facts(WEIGHTS).bytes // 2  # at least two bytes each
    refuse_oversized(settings.model, numbers, folder / SETTINGS)
    units = sum(facts.bytes for name, facts in manifest.files.items() if name.startswith(f"{TEXT}/"))
    refuse_swollen(manifest, settings.model, units, units)  # each entry takes at least one byte
    return manifest


def open_export(home: Path, model: Manifest | None = None) -> Manifest:
    """Return the manifest of an export; raise ModelError if it was not made from the weights of `model`."""
    manifest = Manifest(home, "export", "Copy the folder again, or export the model again.")
    manifest.refuse_others()
    if model is not None and made_from(manifest) != model.facts(WEIGHTS).sha256:
        raise ModelError(
            f"{home.name} is an export of another model: it was not made from the weights in this folder.",
            where=str(home),
            expected=f"an export of {model.folder / WEIGHTS}",
            hint=f"Run dragoman export {model.folder} --to {home.name} to export it again, or remove it.",
        )
    return manifest


def is_export(folder: Path) -> bool:
    return not (folder / WEIGHTS).exists() and any(holds_export(folder, name) for name in EXPORTS)


def holds_export(folder: Path, name: str) -> bool:
    """Return whether this is the folder of such an export."""
    return any((folder / file).is_file() for file in EXPORTS[name])


def exports(folder: Path) -> list[str]:
    """Return the names of the exports in a model folder; a file with such a name is not one."""
    return [name for name in EXPORTS if (folder / name).is_dir()]


def packages(folder: Path) -> list[str]:
    """Return the names of the Argos packages in a folder."""
    return sorted(file.name for file in folder.iterdir() if file.suffix == PACKAGE)


def made_from(export: Manifest) -> str:
    """Return the SHA-256 of the weights that the export was verified against."""
    file = export.folder / PROOF
    try:
        return str(json.loads(export.read(file).decode("utf-8"))[MADE_FROM])
    except (ValueError, KeyError, TypeError, RecursionError):
        raise ModelError(
            "The export does not name the weights it was made from.",
            where=str(file),
            expected=f"{MADE_FROM}, as dragoman export writes it",
            hint=f"dragoman export {export.folder.parent} --to {export.folder.name}",
        ) from None


def refuse_swollen(manifest: Manifest, model: ModelConfig, *entries: int) -> None:
    """Raise ModelError if the weights are far larger than the settings need, before they are read."""
    if not model.is_ours:  # how large its parts are is not known
        return
    size, most = manifest.facts(WEIGHTS).bytes, BYTES * least_parameters(model, *entries) + MAX_HEADER_BYTES
    if size > most:
        raise ModelError(
            f"The weights belong to a far larger model than the settings: {size:,} bytes.",
            where=str(manifest.folder / WEIGHTS),
            expected=f"at most {most:,} bytes for these settings",
            hint="Copy the folder again, or train the model again.",
        )


def refuse_oversized(model: ModelConfig, numbers: int, file: Path, *entries: int) -> None:
    """Raise ModelError if the settings need far more memory than the weights, before it is allocated.

    `entries` are the sizes of the source and target vocabularies, if known.
    """
    least, table = least_parameters(model, *entries), largest_table(model)
    if least > numbers or table > MAX_TABLE_RATIO * max(numbers, MIN_TABLE_LIMIT):
        what = f"at least {least:,} parameters" if least > numbers else f"tables of {table:,} numbers"
        raise ModelError(
            f"The settings describe a far larger model than the weights: {what}.",
            where=str(file),
            expected=f"the settings of {WEIGHTS}, which has at most {numbers:,} parameters",
            hint="Copy the folder again, or train the model again.",
        )
