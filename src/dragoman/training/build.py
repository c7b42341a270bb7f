"""Builders of the components of training from a TrainingConfig."""

from __future__ import annotations

from typing import assert_never

import torch
from torch import nn

from dragoman.config.objective import (
    AttentionTerms,
    MinimumRiskPart,
    ObjectivePart,
    SamplingOptions,
    ScheduledSamplingPart,
    TeacherForcingPart,
    TwoPassSamplingPart,
)
from dragoman.config.training import TrainingConfig
from dragoman.metrics.sentence_distance import DISTANCES
from dragoman.text.tokenizer import Tokenizer
from dragoman.training.objectives import sampling_decay as decay
from dragoman.training.objectives.attention_losses import GuidedAlignmentLoss, coverage_loss
from dragoman.training.objectives.minimum_risk import MinimumRisk
from dragoman.training.objectives.model_tokens import NextToken, argmax, sampled
from dragoman.training.objectives.scheduled_sampling import StepwiseObjective, Term
from dragoman.training.objectives.teacher_forcing import Objective, teacher_forcing
from dragoman.training.objectives.two_pass import TwoPassSampling
from dragoman.training.schedule import (
    Schedule,
    constant,
    cosine,
    inverse_sqrt,
    linear,
    warmup_stable_decay,
)


def build_schedule(config: TrainingConfig, updates: int) -> Schedule:
    warmup = config.warmup_of(updates)
    match config.schedule:
        case "inverse_sqrt":
            return inverse_sqrt(config.lr, warmup)
        case "cosine":
            return cosine(config.lr, warmup, updates)
        case "linear":
            return linear(config.lr, warmup, updates)
        case "warmup_stable_decay":
            return warmup_stable_decay(config.lr, warmup, updates)
        case "constant":
            return constant(config.lr, warmup)
        case _:
            assert_never(config.schedule)


def build_optimizer(config: TrainingConfig, model: nn.Module) -> torch.optim.Optimizer:
    """Return AdamW. Matrices decay, vectors (biases, norms) do not; what is frozen is left out."""
    trained = [(name, p) for name, p in model.named_parameters() if p.requires_grad]
    groups = [
        {"params": [item for item in trained if item[1].ndim >= 2], "weight_decay": config.weight_decay},
        {"params": [item for item in trained if item[1].ndim < 2], "weight_decay": 0.0},
    ]
    groups = [group for group in groups if group["params"]]
    return torch.optim.AdamW(groups, lr=config.lr, betas=config.betas, eps=config.eps, fused=True)


NEXT_TOKEN: dict[str, NextToken] = {"sample": sampled, "argmax": argmax}


def build_objective(
    part: ObjectivePart, text: Tokenizer, longest: int, alignment_loss: GuidedAlignmentLoss | None = None
) -> Objective:
    """Return the objective of `part`.

    `text` and `longest` are the tokenizer and the maximum length of outputs. `alignment_loss` is given if
    word alignments guide the attention.
    """
    match part:
        case TeacherForcingPart(is_active=False):
            return teacher_forcing
        case TeacherForcingPart():
            return StepwiseObjective(decay.constant(1.0), sampled, build_terms(part, alignment_loss))
        case ScheduledSamplingPart():
            return StepwiseObjective(
                build_decay(part), NEXT_TOKEN[part.own_token], build_terms(part, alignment_loss)
            )
        case TwoPassSamplingPart():
            return TwoPassSampling(build_decay(part), NEXT_TOKEN[part.own_token])
        case MinimumRiskPart():
            distance = DISTANCES[part.metric]()
            return MinimumRisk(distance, text, part.samples, part.alpha, part.after, longest)
        case _:
            assert_never(part)


def build_terms(part: AttentionTerms, alignment_loss: GuidedAlignmentLoss | None) -> list[tuple[float, Term]]:
    """Return the attention losses that are added to the cross-entropy, each with its weight."""
    terms: list[tuple[float, Term]] = [(part.coverage, coverage_loss)] if part.coverage else []
    return [*terms, (part.alignment, alignment_loss)] if alignment_loss else terms


def build_decay(part: SamplingOptions) -> decay.Decay:
    """Return the decay of p(i). Unless it is constant, p is one half at update `part.half_at`."""
    match part.decay:
        case "constant":
            return decay.constant(part.reference_floor)
        case "linear":
            return decay.linear(1.0, 0.5 / part.half_at, part.reference_floor)
        case "exponential":
            return decay.at_least(part.reference_floor, decay.exponential(0.5 ** (1.0 / part.half_at)))
        case "inverse_sigmoid":
            k = decay.sigmoid_falling_to_half(part.half_at)
            return decay.at_least(part.reference_floor, decay.inverse_sigmoid(k))
        case _:
            assert_never(part.decay)
