"""Export of a model folder to a verified, self-contained ONNX directory."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import cast

import onnxruntime

from dragoman.config.exportable import reasons
from dragoman.durable import new_folder
from dragoman.errors import ModelError
from dragoman.export.chosen_search import chosen_search, keep_search
from dragoman.export.ct2 import Exported, copy_kept, refuse_foreign, write_proof
from dragoman.export.onnx.graphs import write
from dragoman.export.onnx.language_models import write_language_model
from dragoman.export.onnx.networks import AtOnce, write_network
from dragoman.export.probe_sentences import sentences
from dragoman.export.verify import Proof, prove
from dragoman.export.verify_answers import AnswerProof, prove_answers
from dragoman.inference.find_model import find_model
from dragoman.inference.runtimes.exports import ExportParts
from dragoman.inference.runtimes.onnx import OnnxEngine
from dragoman.inference.runtimes.onnx_file import NETWORK, STEP
from dragoman.models.bundle import Bundle, load_bundle
from dragoman.models.folder import open_folder
from dragoman.models.language_model import LanguageModel
from dragoman.models.seq2seq import Seq2Seq
from dragoman.tasks import answerers, exported

NAME = "onnx"


def export_onnx(model: str | Path, out: Path | None) -> Exported:
    """Export a model to ONNX, by default into the model folder; raise ModelError if that is not possible."""
    source = find_model(model)
    folder = out or source / NAME
    refuse_foreign(folder, NAME)
    manifest, bundle = open_folder(source), load_bundle(source)
    refuse(bundle)

    with new_folder(folder) as new:
        proof = fill_proven(bundle, new)
        facts = {"engine": f"onnxruntime {onnxruntime.__version__}", "float32": asdict(proof)}
        choice = chosen_search(bundle, OnnxEngine(new)) if isinstance(bundle.model, Seq2Seq) else None
        write_proof(new, manifest, facts)
        copy_kept(manifest, new)
        keep_search(bundle, choice, new)
    return Exported(folder, proof, None, choice)


def fill_proven(bundle: Bundle, folder: Path) -> Proof | AnswerProof:
    """Write the graphs of a model, and compare their outputs with those of the model."""
    model, config = bundle.model, bundle.config
    if isinstance(model, Seq2Seq):
        write(model, config.model.longest_source + 1, folder)
        return prove(bundle, OnnxEngine(folder), folder / STEP, sentences(bundle))
    if isinstance(model, LanguageModel):
        write_language_model(model, bundle.longest_target, folder)
    else:
        write_network(cast(AtOnce, model), config, folder)
    parts = ExportParts(folder, Path.read_bytes, config, bundle.text, bundle.calibration)
    theirs = exported.build_answerer(parts, "cpu")
    file = folder / (STEP if isinstance(model, LanguageModel) else NETWORK)
    return prove_answers(bundle, answerers.build_answerer(bundle), theirs, file)


def refuse(bundle: Bundle) -> None:
    if against := reasons(bundle.config.model, NAME):
        raise ModelError(
            f"This model cannot be exported to ONNX: {' · '.join(against)}.",
            where="[model] in its settings.toml",
            expected="recurrent or convolutional networks on both sides, or a task without one of them",
            hint="dragoman export MODEL --to ct2 exports Transformers; dragoman run needs no export.",
        )
