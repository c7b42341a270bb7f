"""Export of a model folder to a verified, self-contained ONNX directory."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import onnxruntime

from dragoman.config.exportable import reasons
from dragoman.durable import new_folder
from dragoman.errors import ModelError
from dragoman.export.ct2 import Exported, copy_kept, refuse_foreign, write_proof
from dragoman.export.onnx.graphs import write
from dragoman.export.probe_sentences import sentences
from dragoman.export.verify import prove
from dragoman.inference.find_model import find_model
from dragoman.inference.runtimes.onnx import OnnxEngine
from dragoman.inference.runtimes.onnx_file import STEP
from dragoman.models.bundle import Bundle, load_bundle
from dragoman.models.folder import open_folder

NAME = "onnx"


def export_onnx(model: str | Path, out: Path | None) -> Exported:
    """Export a model to ONNX, by default into the model folder; raise ModelError if that is not possible."""
    source = find_model(model)
    folder = out or source / NAME
    refuse_foreign(folder, STEP)
    manifest, bundle = open_folder(source), load_bundle(source)
    refuse(bundle)

    with new_folder(folder) as new:
        write(bundle.seq2seq, bundle.config.model.longest_source + 1, new)
        proof = prove(bundle, OnnxEngine(new), new / STEP, sentences(bundle))
        facts = {"engine": f"onnxruntime {onnxruntime.__version__}", "float32": asdict(proof)}
        write_proof(new, manifest, facts)
        copy_kept(manifest, new)
    return Exported(folder, proof, None)


def refuse(bundle: Bundle) -> None:
    if against := reasons(bundle.config.model, NAME):
        raise ModelError(
            f"This model cannot be exported to ONNX: {' · '.join(against)}.",
            where="[model] in its settings.toml",
            expected="a recurrent or convolutional network on both sides",
            hint="dragoman export MODEL --to ct2 exports Transformers; dragoman run needs no export.",
        )
