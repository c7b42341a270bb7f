"""Validation with the fp32 weights: loss, and metrics of outputs that are decoded greedily."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import torch

from dragoman.config.data import DataConfig
from dragoman.config.root import Config
from dragoman.data.examples import Files
from dragoman.data.pair import Pair
from dragoman.data.readers.bad_line import Skipped
from dragoman.errors import DataError
from dragoman.metrics.validation import LOWER_IS_BETTER, Metric, Metrics
from dragoman.models.builders.network import new_model
from dragoman.models.bundle import Bundle
from dragoman.tasks.answerers import build_answerer
from dragoman.tasks.build import build_task
from dragoman.tasks.collate import build_collate
from dragoman.tasks.examples import build_examples
from dragoman.tasks.search_choice import MOST_PAIRS, greedy_of
from dragoman.tasks.task import Answer
from dragoman.text.tokenizer_pair import TokenizerPair

VALID_BATCH_ROWS = 64
VALID_BATCH_FILES = 8  # a picture or a sound has many more frames than a sentence has tokens


class ValidationResult(NamedTuple):
    loss: float  # per token, not smoothed: log perplexity
    metrics: Metrics  # of the decoded pairs
    answers: list[Answer]  # for the decoded pairs
    sample: dict[str, str]
    seconds: float

    @property
    def outputs(self) -> list[str]:
        return [answer.text for answer in self.answers]

    def value(self, metric: Metric | Literal["loss"]) -> float:
        """Return the value by which results are compared; larger is better."""
        if metric == "loss" or metric not in self.metrics:
            return -self.loss
        return -self.metrics[metric] if metric in LOWER_IS_BETTER else self.metrics[metric]


def unusable(data: DataConfig, limit: int) -> DataError:
    files = " ".join(file for corpus in ([data.valid] if data.valid else data.train) for file in corpus.files)
    return DataError(
        "No validation pair can be used: each has an empty side or is too long.",
        where=files if data.valid else f"pairs held out of {files}",
        expected=f"pairs of 1 to {limit} tokens per side",
        hint=f"dragoman check {files}" if data.valid else "Name validation pairs: --valid val.src val.tgt",
    )


class Validator:
    """A validator with its own copy of the model, so that the state of training is never changed."""

    def __init__(
        self, config: Config, text: TokenizerPair, pairs: Sequence[Pair], device: torch.device
    ) -> None:
        self.config = config
        self.task = build_task(config)
        self.model = new_model(config, text).to(device).eval()
        limit, examples = config.longest_side, build_examples(config)
        on_bad = Skipped(is_strict=not config.data.skip_bad)
        usable = examples.validation_rows(pairs, text, limit, on_bad)
        if not usable:
            raise unusable(config.data, limit)
        in_order = sorted(usable, key=lambda item: (len(item[1][1]), len(item[1][0])))
        collate = build_collate(config)
        rows = VALID_BATCH_FILES if isinstance(examples, Files) else VALID_BATCH_ROWS
        self.batches = [
            collate([i for _, i in in_order[k : k + rows]]).to(device) for k in range(0, len(in_order), rows)
        ]
        decode = config.training.valid_decode
        self.decoded = [p for p, _ in usable[:decode]]
        self.compared = [p for p, _ in usable[: max(decode, MOST_PAIRS)]] if decode else []
        self.answerer = build_answerer(Bundle(config, text, self.model), [i for _, i in usable])
        # The answers to other tasks are not searched, or sampled.
        is_searched = config.task in ("translate", "transcribe")
        self.greedy: dict[str, Any] = {"search": greedy_of(config.search)} if is_searched else {}

    def __call__(self, weights: Mapping[str, torch.Tensor]) -> ValidationResult:
        start = time.perf_counter()
        self.load(weights)
        with torch.no_grad():
            nll = math.fsum(float(self.model(batch).nll) for batch in self.batches)
        tokens = sum(int(batch.tgt_keep.sum()) for batch in self.batches)
        metrics, answers, sample = self.decode() if self.decoded else ({}, [], {})
        return ValidationResult(nll / tokens, metrics, answers, sample, time.perf_counter() - start)

    @torch.no_grad()
    def load(self, weights: Mapping[str, torch.Tensor]) -> None:
        for name, p in self.model.named_parameters():
            p.copy_(weights[name])

    def decode(self) -> tuple[Metrics, list[Answer], dict[str, str]]:
        answers = self.answers(self.decoded, **self.greedy)
        outputs = [answer.text for answer in answers]
        metrics = self.task.measure(outputs, [pair.tgt for pair in self.decoded])
        shown = self.decoded[0]
        sample = {"src": shown.src, "out": outputs[0], "ref": shown.tgt}
        return metrics, answers, sample

    def answers(self, pairs: Sequence[Pair], **options: Any) -> list[Answer]:
        """Return the answers of the loaded weights to the sources of these pairs."""
        return list(self.answerer([pair.src for pair in pairs], **options))
