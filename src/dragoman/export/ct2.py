"""A model folder → a CTranslate2 directory that is proven, whole, and copied as it is; or nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

import ctranslate2

from dragoman.durable import write_folder
from dragoman.errors import ModelError, UsageError
from dragoman.export.ct2_spec import Quantization, refuse, write
from dragoman.export.probe_sentences import sentences
from dragoman.export.verify import GREEDY, Agreement, Proof, compare, needs_bars, prove
from dragoman.inference.find_model import find_model
from dragoman.inference.runtimes.ct2 import CTranslate2Engine
from dragoman.manifest import MANIFEST, Manifest
from dragoman.models.bundle import Bundle, load_bundle
from dragoman.models.calibration import FILE as CALIBRATION
from dragoman.models.folder import CARD, EXPORTS, MADE_FROM, PROOF, SETTINGS, TEXT, open_folder
from dragoman.models.folder import WEIGHTS as MODEL_WEIGHTS

NAME = "ct2"
WEIGHTS = EXPORTS[NAME]
KEPT = (SETTINGS, CARD, TEXT, CALIBRATION)  # of the model: the directory is enough
LEAST = 0.1  # of the outputs stay the same with rounded weights, or the rounding has gone wrong


class Exported(NamedTuple):
    path: Path
    proof: Proof  # of the float32 weights
    rounded: Agreement | None  # greedy outputs with rounded weights, beside those of torch


def export_ct2(model: str | Path, out: Path | None, quantization: Quantization) -> Exported:
    """Written as float32, proven, then rounded as asked. By default it goes into the model folder."""
    source = find_model(model)
    folder = out or source / NAME
    refuse_foreign(folder)
    manifest, bundle = open_folder(source), load_bundle(source)
    refuse(bundle)
    proven: list[Exported] = []

    def fill(new: Path) -> None:
        proof, rounded = fill_proven(bundle, new, quantization)
        proven.append(Exported(folder, proof, rounded))
        write_proof(new, manifest, facts(proof, rounded, quantization))
        copy_kept(manifest, new)

    write_folder(folder, fill)
    return proven[0]


def fill_proven(bundle: Bundle, folder: Path, quantization: Quantization) -> tuple[Proof, Agreement | None]:
    samples = sentences(bundle)
    bars = needs_bars(bundle, samples)
    write(bundle, folder, "float32", bars_specials=bars)
    proof = prove(
        bundle, CTranslate2Engine(folder, bundle.text), folder / WEIGHTS, samples, bars_specials=bars
    )
    if quantization == "float32":
        return proof, None
    for file in folder.iterdir():
        file.unlink()
    write(bundle, folder, quantization, bars_specials=bars)
    rounded = compare(bundle, bundle.model, CTranslate2Engine(folder, bundle.text), samples, GREEDY)
    if rounded.same < LEAST * rounded.sentences:
        raise ModelError(
            f"Rounded to {quantization}, {rounded.same} of {rounded.sentences} outputs stay the same.",
            where=str(folder / WEIGHTS),
            expected=f"{LEAST:.0%} at least",
            hint="Export it with --quantization float32.",
        )
    return proof, rounded


def facts(proof: Proof, rounded: Agreement | None, quantization: str) -> dict[str, object]:
    return {
        "engine": f"ctranslate2 {ctranslate2.__version__}",
        "quantization": quantization,
        "float32": asdict(proof),
        "rounded": asdict(rounded) if rounded else None,
    }


def write_proof(new: Path, model: Manifest, facts: Mapping[str, object]) -> None:
    """What was compared, and the weights that it was compared with."""
    proof = {MADE_FROM: model.facts(MODEL_WEIGHTS).sha256, **facts}
    (new / PROOF).write_text(json.dumps(proof, indent=1) + "\n", encoding="utf-8")


def copy_kept(model: Manifest, new: Path) -> None:
    for name in model.files:
        if name.partition("/")[0] in KEPT:
            (new / name).parent.mkdir(exist_ok=True)
            (new / name).write_bytes(model.read(model.folder / name))


def refuse_foreign(folder: Path, weights: str = WEIGHTS) -> None:
    """An export takes the place of an earlier one, and of nothing else."""
    is_ours = (folder / MANIFEST).is_file() and (folder / weights).is_file()
    if folder.exists() and not is_ours and not (folder.is_dir() and not any(folder.iterdir())):
        raise UsageError(
            "There is something else already.",
            where=str(folder),
            expected="a new folder, or an earlier export to replace",
            hint=f"-o {folder}-new",
        )
