"""Models of other tasks than translation that are ready to answer, by ONNX Runtime and without torch."""

from __future__ import annotations

from pathlib import Path

from dragoman.inference.continuation import ContinuationRuntime
from dragoman.inference.runtimes.ctc import CTCRuntime
from dragoman.inference.runtimes.exported import ExportRuntime
from dragoman.inference.runtimes.exports import ExportParts, open_parts
from dragoman.inference.runtimes.onnx import open_engine, providers_of
from dragoman.inference.runtimes.onnx_network import OnnxNetwork, OnnxTokenLogP
from dragoman.tasks.classify import LabelAnswerer
from dragoman.tasks.sources import build_reader
from dragoman.tasks.tag import TagAnswerer
from dragoman.tasks.task import Answerer


def open_exported(folder: Path, device: str) -> Answerer:
    """Return the ONNX export in a folder, ready to answer."""
    export, manifest = open_parts(folder, "onnx")
    answerer = build_answerer(export, device)
    manifest.verify()
    return answerer


def build_answerer(export: ExportParts, device: str) -> Answerer:
    home, read, config, text, calibration = export
    providers = providers_of(device)
    if config.task == "lm":
        engine = open_engine(home, read, config.model, text, device)
        log_p = OnnxTokenLogP(home, read=read, providers=providers)
        runtime = ExportRuntime(engine, config, text, calibration)
        return ContinuationRuntime(runtime, log_p, config.model.longest_target)
    network = OnnxNetwork(home, config.task, text.tgt.size, read=read, providers=providers)
    match config.task:
        case "transcribe":
            reader = build_reader(config, text)
            return CTCRuntime(network, text, config.search, reader, config.longest_source)
        case "tag":
            return TagAnswerer(network, config, text)
        case _:
            return LabelAnswerer(network, config, text)
