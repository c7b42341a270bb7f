"""A model folder before it is loaded: whole, nothing added, exports of these very weights. Without torch.

An export has a manifest of its own, so that it can be copied alone. Its proof.json names the SHA-256 of the
weights that it was made from: where others stand beside it, it is not run.
"""

from __future__ import annotations

import json
from pathlib import Path

from dragoman.config.load import load_written
from dragoman.config.model import ModelConfig
from dragoman.config.parameters import largest_table, least_parameters
from dragoman.errors import ModelError
from dragoman.manifest import MANIFEST, Manifest
from dragoman.models.header import MAX_HEADER_BYTES

WEIGHTS, SETTINGS, TEXT, CARD, PROOF = "weights.safetensors", "settings.toml", "text", "card.md", "proof.json"
EXPORTS = {"ct2": "model.bin", "onnx": "step.onnx"}  # folders beside the weights, and a file of each
PACKAGE = ".argosmodel"  # a file that Argos reads, and Dragoman never
MADE_FROM = "weights_sha256"  # in the proof of an export
FEW = 1 << 20  # numbers: tables of places may outgrow the weights of a tiny model
TABLES = 16  # as many numbers as the weights have, at most
BYTES = 16  # of the weights for each parameter that is known of: eight, and half of the parameters unknown


def open_folder(folder: Path) -> Manifest:
    """The manifest of a model folder, or of an export that stands alone, with nothing beside its files."""
    if is_export(folder):
        return open_export(folder)
    manifest = Manifest(folder, "model folder", "Copy the folder again, or train it again.")
    manifest.refuse_others(apart=[*EXPORTS, *packages(folder)])
    for name in exports(folder):
        open_export(folder / name, manifest)
    settings = load_written(folder / SETTINGS, manifest.read)
    numbers = manifest.facts(WEIGHTS).bytes // 2  # of two bytes each, or more
    refuse_oversized(settings.model, numbers, folder / SETTINGS)
    units = sum(facts.bytes for name, facts in manifest.files.items() if name.startswith(f"{TEXT}/"))
    refuse_swollen(manifest, settings.model, units, units)  # none is spelt with less than a byte
    return manifest


def open_export(home: Path, model: Manifest | None = None) -> Manifest:
    """The manifest of an export, made from the weights of the `model` in whose folder it is."""
    manifest = Manifest(home, "export", "Copy the folder again, or export the model again.")
    manifest.refuse_others()
    if model is not None and made_from(manifest) != model.facts(WEIGHTS).sha256:
        raise ModelError(
            f"{home.name} is an export of another model, made from other weights than those beside it.",
            where=str(home),
            expected=f"an export of {model.folder / WEIGHTS}",
            hint=f"dragoman export {model.folder} --to {home.name} makes it anew; or remove it.",
        )
    return manifest


def is_export(folder: Path) -> bool:
    return not (folder / WEIGHTS).exists() and any((folder / file).exists() for file in EXPORTS.values())


def exports(folder: Path) -> list[str]:
    """Those in a model folder; what only has the name of one is refused as what it is."""
    return [name for name in EXPORTS if (folder / name).is_dir()]


def packages(folder: Path) -> list[str]:
    """Of Argos, and their signatures."""
    return sorted(file.name for file in folder.iterdir() if PACKAGE in file.suffixes)


def signable(folder: Path) -> list[Path]:
    """All that a signature has to cover, so that nothing can be run that its maker has not signed."""
    manifests = [folder / MANIFEST, *(folder / name / MANIFEST for name in exports(folder))]
    return [*manifests, *(folder / name for name in packages(folder) if name.endswith(PACKAGE))]


def made_from(export: Manifest) -> str:
    """The SHA-256 of the weights that were proven to be these."""
    file = export.folder / PROOF
    try:
        return str(json.loads(export.read(file).decode("utf-8"))[MADE_FROM])
    except (ValueError, KeyError, TypeError, RecursionError):
        raise ModelError(
            "This export does not say which weights it was made from.",
            where=str(file),
            expected=f"{MADE_FROM}, as dragoman export writes it",
            hint=f"dragoman export {export.folder.parent} --to {export.folder.name}",
        ) from None


def refuse_swollen(manifest: Manifest, model: ModelConfig, *entries: int) -> None:
    """Weights that are far more than the settings have use for: they would be read before that is seen."""
    size, most = manifest.facts(WEIGHTS).bytes, BYTES * least_parameters(model, *entries) + MAX_HEADER_BYTES
    if size > most:
        raise ModelError(
            f"The weights are those of a far larger model than the settings: {size:,} bytes.",
            where=str(manifest.folder / WEIGHTS),
            expected=f"at most {most:,} bytes for these settings",
            hint="Copy the folder again, or train it again.",
        )


def refuse_oversized(model: ModelConfig, numbers: int, file: Path, *entries: int) -> None:
    """Settings of a far larger model than the weights: it would take the memory before shapes are compared.

    `entries` of the source and target vocabularies count where they are known.
    """
    least, table = least_parameters(model, *entries), largest_table(model)
    if least > numbers or table > TABLES * max(numbers, FEW):
        what = f"{least:,} numbers at least" if least > numbers else f"tables of {table:,} numbers"
        raise ModelError(
            f"The settings are those of a far larger model than the weights: {what}.",
            where=str(file),
            expected=f"the settings of {WEIGHTS}, which has {numbers:,} numbers at most",
            hint="Copy the folder again, or train it again.",
        )
