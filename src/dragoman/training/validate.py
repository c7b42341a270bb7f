"""Validation with the fp32 weights: loss, and metrics of outputs that are decoded greedily."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
import torch

from dragoman.config.data import DataConfig
from dragoman.config.root import Config
from dragoman.data.bucketing import by_length, greedy, padded
from dragoman.data.pair import Pair
from dragoman.data.readers.bad_line import Skipped
from dragoman.data.signals.corpus import FiledFrames
from dragoman.errors import DataError
from dragoman.metrics.validation import LOWER_IS_BETTER, Metric, Metrics
from dragoman.models.builders.network import new_model
from dragoman.models.bundle import Bundle
from dragoman.protocols import Batch, Network
from dragoman.tasks.answerers import build_answerer
from dragoman.tasks.build import build_task
from dragoman.tasks.collate import build_collate
from dragoman.tasks.examples import build_examples
from dragoman.tasks.search_choice import MOST_PAIRS, greedy_of
from dragoman.tasks.task import Answer, Answerer
from dragoman.text.tokenizer_pair import TokenizerPair

VALID_BATCH_TOKENS = 4096  # of the longer side, with padding


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
        self.config, self.text, self.device = config, text, device
        self.task, self.collate = build_task(config), build_collate(config)
        limit, on_bad = config.longest_side, Skipped(is_strict=not config.data.skip_bad)
        usable = build_examples(config).validation_rows(pairs, text, limit, on_bad)
        if not usable:
            raise unusable(config.data, limit)
        self.rows = [row for _, row in usable]
        decode = config.training.valid_decode
        self.decoded = [p for p, _ in usable[:decode]]
        self.compared = [p for p, _ in usable[: max(decode, MOST_PAIRS)]] if decode else []
        # The answers to other tasks are not searched, or sampled.
        is_searched = config.task in ("translate", "transcribe")
        self.greedy: dict[str, Any] = {"search": greedy_of(config.search)} if is_searched else {}

    # Made when they are first used: only the first rank validates.
    @cached_property
    def model(self) -> Network:
        return new_model(self.config, self.text).to(self.device).eval()

    @cached_property
    def answerer(self) -> Answerer:
        return build_answerer(Bundle(self.config, self.text, self.model), self.rows)

    def batches(self) -> Iterator[Batch]:
        """Yield the pairs in batches of similar length, as in training."""
        src_len, tgt_len = np.array([(len(src), len(tgt)) for src, tgt in self.rows]).T
        order = by_length(src_len, tgt_len, key=0)
        starts = greedy(padded(src_len[order], tgt_len[order]), VALID_BATCH_TOKENS)
        for places in np.split(order, starts[1:]):
            rows = (self.rows[place] for place in places)
            loaded = [(src.load() if isinstance(src, FiledFrames) else src, tgt) for src, tgt in rows]
            yield self.collate(loaded).to(self.device)

    def __call__(self, weights: Mapping[str, torch.Tensor]) -> ValidationResult:
        start = time.perf_counter()
        self.load(weights)
        with torch.no_grad():
            sums = [(float(self.model(batch).nll), int(batch.tgt_keep.sum())) for batch in self.batches()]
        nll, tokens = map(math.fsum, zip(*sums, strict=True))
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
