"""A model folder → an ONNX directory that is proven, whole, and copied as it is; or nothing."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import onnxruntime

from dragoman.config.exportable import reasons
from dragoman.durable import write_folder
from dragoman.errors import ModelError
from dragoman.export.ct2 import Exported, copy_kept, refuse_foreign, write_proof
from dragoman.export.onnx.graphs import write
from dragoman.export.probe_sentences import sentences
from dragoman.export.verify import Proof, prove
from dragoman.inference.find_model import find_model
from dragoman.inference.runtimes.onnx import OnnxEngine
from dragoman.inference.runtimes.onnx_file import STEP
from dragoman.models.bundle import Bundle, load_bundle
from dragoman.models.folder import open_folder

NAME = "onnx"


def export_onnx(model: str | Path, out: Path | None) -> Exported:
    """By default it goes into the model folder."""
    source = find_model(model)
    folder = out or source / NAME
    refuse_foreign(folder, STEP)
    manifest, bundle = open_folder(source), load_bundle(source)
    refuse(bundle)
    proven: list[Proof] = []

    def fill(new: Path) -> None:
        write(bundle.model, bundle.config.model.longest_source + 1, new)
        proven.append(prove(bundle, OnnxEngine(new), new / STEP, sentences(bundle)))
        facts = {"engine": f"onnxruntime {onnxruntime.__version__}", "float32": asdict(proven[0])}
        write_proof(new, manifest, facts)
        copy_kept(manifest, new)

    write_folder(folder, fill)
    return Exported(folder, proven[0], None)


def refuse(bundle: Bundle) -> None:
    if against := reasons(bundle.config.model, NAME):
        raise ModelError(
            f"This model is not written as ONNX: {' · '.join(against)}.",
            where="[model] in its settings.toml",
            expected="a recurrent or convolutional network on both sides",
            hint="dragoman export MODEL --to ct2 writes Transformers; dragoman run uses any model as it is.",
        )
