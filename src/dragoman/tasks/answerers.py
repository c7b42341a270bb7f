"""Models of every task that are ready to answer, by PyTorch."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import assert_never, cast

from dragoman.data.examples import TokenIds
from dragoman.data.pair import Pair
from dragoman.device import choose_device
from dragoman.inference.captions import CaptionRuntime
from dragoman.inference.continuation import ContinuationRuntime
from dragoman.inference.quality.checks import learn_output_bounds
from dragoman.inference.quality.confidence import calibrate
from dragoman.inference.reranking import refuse_other_language
from dragoman.inference.result import Result
from dragoman.inference.runtimes.ctc import CTCRuntime
from dragoman.inference.runtimes.torch import TorchRuntime
from dragoman.inference.runtimes.torch_network import TorchNetwork
from dragoman.inference.runtimes.torch_scorers import TorchAttentionScorer, TorchTokenLogP
from dragoman.models.bundle import Bundle, load_bundle
from dragoman.models.calibration import Calibration
from dragoman.models.ctc import JointCTC
from dragoman.models.language_model import LanguageModel
from dragoman.search.prefix_scorer import PrefixScorer
from dragoman.tasks.classify import LabelAnswerer
from dragoman.tasks.sources import build_reader
from dragoman.tasks.tag import TagAnswerer
from dragoman.tasks.task import Answer, Answerer


def build_answerer(bundle: Bundle, valid: Sequence[TokenIds] = (), lm: Bundle | None = None) -> Answerer:
    """Return how answers are found. `valid` are validation rows, if limits are learned from them.

    `lm` is a language model that is fused into the search of a model that transcribes.
    """
    config, text, model = bundle.config, bundle.text, bundle.model
    match config.task:
        case "translate" if not config.is_text_to_text:
            return CaptionRuntime(TorchRuntime(bundle, read=build_reader(config, text)))
        case "translate":
            return TorchRuntime(bundle, bounds=learn_output_bounds(text, valid) if valid else None)
        case "transcribe":
            return build_transcriber(bundle, lm)
        case "lm":
            log_p = TorchTokenLogP(cast(LanguageModel, model))
            return ContinuationRuntime(TorchRuntime(bundle), log_p, bundle.longest_target)
        case "tag":
            return TagAnswerer(TorchNetwork(model), config, text)
        case "classify":
            return LabelAnswerer(TorchNetwork(model), config, text)
        case _:
            assert_never(config.task)


def build_transcriber(bundle: Bundle, lm: Bundle | None) -> CTCRuntime:
    model, config = bundle.model, bundle.config
    read = build_reader(config, bundle.text)
    runtime = CTCRuntime(TorchNetwork(model), bundle.text, config.search, read, config.longest_source)
    if isinstance(model, JointCTC):
        runtime.attention, runtime.ctc_weight = TorchAttentionScorer(model), model.ctc_weight
    if lm:
        refuse_other_language(bundle, lm)
        device = next(model.parameters()).device
        lm.model.to(device)
        runtime.scorer = PrefixScorer(lm.stepper, device)
    return runtime


def open_answerer(folder: Path, device: str, lm: Path | None = None) -> Answerer:
    """Return the model of a folder, ready to answer; `lm` is fused into its search."""
    bundle = load_bundle(folder)
    bundle.model.to(choose_device(device, "device"))
    return build_answerer(bundle, lm=None if lm is None else load_bundle(lm))


def learn_calibration(
    answerer: Answerer, pairs: Sequence[Pair], answers: Sequence[Answer]
) -> Calibration | None:
    """Return the calibration of confidences, learned on validation pairs and the answers to them; None if the
    task has none."""
    if not isinstance(answerer, TorchRuntime):
        return None
    return calibrate(answerer, pairs, answerer.checker.bounds, cast(Sequence[Result], answers))
