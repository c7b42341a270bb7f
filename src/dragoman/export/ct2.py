"""Export of a model folder to a verified, self-contained CTranslate2 directory."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

import ctranslate2

from dragoman.durable import new_folder
from dragoman.errors import ModelError, UsageError
from dragoman.export.chosen_search import chosen_search, keep_search
from dragoman.export.ct2_spec import Quantization, refuse, write
from dragoman.export.probe_sentences import RANDOM, sentences
from dragoman.export.verify import GREEDY, Agreement, Proof, compare, needs_bars, prove
from dragoman.export.verify_answers import AnswerProof
from dragoman.inference.find_model import find_model
from dragoman.inference.runtimes.ct2 import CTranslate2Engine
from dragoman.inference.runtimes.ct2_file import read_ct2
from dragoman.manifest import MANIFEST, Manifest
from dragoman.metrics.sentence_distance import chrf_distance
from dragoman.models.bundle import Bundle, load_bundle
from dragoman.models.calibration import FILE as CALIBRATION
from dragoman.models.folder import (
    CARD,
    EXPORTS,
    MADE_FROM,
    PROOF,
    SETTINGS,
    TEXT,
    holds_export,
    open_folder,
)
from dragoman.models.folder import WEIGHTS as MODEL_WEIGHTS
from dragoman.tasks.search_choice import SearchChoice

NAME = "ct2"
(WEIGHTS,) = EXPORTS[NAME]
KEPT = (SETTINGS, CARD, TEXT, CALIBRATION)  # copied from the model, so that the directory is self-contained
ALIKE = 0.8  # smallest mean chrF of the outputs after quantization and before


class Exported(NamedTuple):
    path: Path
    proof: Proof | AnswerProof  # of the float32 weights
    rounded: Agreement | None  # greedy outputs with quantized weights, compared with PyTorch
    search: SearchChoice | None = None  # None if it is that of the model


def export_ct2(model: str | Path, out: Path | None, quantization: Quantization) -> Exported:
    """Export a model as float32, verify it, then quantize it; by default into the model folder."""
    source = find_model(model)
    folder = out or source / NAME
    refuse_foreign(folder)
    manifest, bundle = open_folder(source), load_bundle(source)
    refuse(bundle)

    with new_folder(folder) as new:
        proof, rounded = fill_proven(bundle, new, quantization)
        choice = chosen_search(bundle, CTranslate2Engine(new, bundle.text))
        write_proof(new, manifest, facts(proof, rounded, quantization))
        copy_kept(manifest, new)
        keep_search(bundle, choice, new)
        read_ct2(new, Path.read_bytes, bundle.config.model, bundle.text)  # refused here, not where it is run
    return Exported(folder, proof, rounded, choice)


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
    rounded = compare(bundle, bundle.seq2seq, CTranslate2Engine(folder, bundle.text), samples, GREEDY)
    # For random tokens any model writes garbage, which the least rounding changes.
    if samples.origin != RANDOM and (found := likeness(rounded)) < ALIKE:
        raise ModelError(
            f"Quantized to {quantization}, only {rounded.same} of {rounded.sentences} outputs are unchanged, "
            f"and all of them are {found:.0%} like those before.",
            where=str(folder / WEIGHTS),
            expected=f"a mean chrF of at least {ALIKE:.0%}",
            hint="Export it with --quantization float32.",
        )
    return proof, rounded


def likeness(rounded: Agreement) -> float:
    """Return the mean chrF, from 0 to 1, between the outputs of two engines."""
    distance = chrf_distance()
    return 1 - sum(distance(each.theirs, each.ours) for each in rounded.differences) / rounded.sentences


def facts(proof: Proof, rounded: Agreement | None, quantization: str) -> dict[str, object]:
    return {
        "engine": f"ctranslate2 {ctranslate2.__version__}",
        "quantization": quantization,
        "float32": asdict(proof),
        "rounded": asdict(rounded) if rounded else None,
    }


def write_proof(new: Path, model: Manifest, facts: Mapping[str, object]) -> None:
    """Write the results of the verification and the hash of the original weights."""
    proof = {MADE_FROM: model.facts(MODEL_WEIGHTS).sha256, **facts}
    (new / PROOF).write_text(json.dumps(proof, indent=1) + "\n", encoding="utf-8")


def copy_kept(model: Manifest, new: Path) -> None:
    for name in model.files:
        if name.partition("/")[0] in KEPT:
            (new / name).parent.mkdir(exist_ok=True)
            (new / name).write_bytes(model.read(model.folder / name))


def refuse_foreign(folder: Path, name: str = NAME) -> None:
    """Raise UsageError if the folder contains anything but an earlier export."""
    is_ours = (folder / MANIFEST).is_file() and holds_export(folder, name)
    if folder.exists() and not is_ours and not (folder.is_dir() and not any(folder.iterdir())):
        raise UsageError(
            "The folder exists and is not an export.",
            where=str(folder),
            expected="a new or empty folder, or an earlier export to replace",
            hint=f"-o {folder}-new",
        )
