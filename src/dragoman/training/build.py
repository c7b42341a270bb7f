"""Builders of the components of training from a TrainingConfig."""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_never

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
from dragoman.protocols import Network
from dragoman.text.tokenizer import Tokenizer
from dragoman.training.ddp import DdpUpdater
from dragoman.training.distributed.ranks import Ranks
from dragoman.training.distributed.recursive_halving import Partition
from dragoman.training.objectives import sampling_decay as decay
from dragoman.training.objectives.attention_losses import GuidedAlignmentLoss, coverage_loss
from dragoman.training.objectives.minimum_risk import MinimumRisk
from dragoman.training.objectives.model_tokens import NextToken, argmax, sampled
from dragoman.training.objectives.scheduled_sampling import StepwiseObjective, Term
from dragoman.training.objectives.teacher_forcing import Objective, teacher_forcing
from dragoman.training.objectives.two_pass import TwoPassSampling
from dragoman.training.optim.adam import Adam
from dragoman.training.optim.flat_parameters import FlatParameters
from dragoman.training.optim.learning_rate import (
    Schedule,
    constant,
    cosine,
    inverse_sqrt,
    linear,
    warmup_stable_decay,
)
from dragoman.training.step import Updater


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


def build_adam(config: TrainingConfig, flat: FlatParameters, mine: slice) -> Adam:
    return Adam(
        flat,
        mine,
        betas=config.betas,
        eps=config.eps,
        weight_decay=config.weight_decay,
        decoupled=config.optimizer == "adamw",
    )


def build_updater(
    config: TrainingConfig,
    model: Network,
    flat: FlatParameters,
    objective: Objective,
    ranks: Ranks,
    clock: Callable[[], float],
) -> Updater:
    if config.parallel == "ddp" and ranks.count > 1:
        whole = Partition(Ranks(), [0, len(flat)])
        adam = build_adam(config, flat, whole.mine)
        return DdpUpdater(model, flat, adam, whole, config.seed, config.clip, objective, clock, ranks)
    partition = Partition(ranks, flat.cuts(ranks.count))
    adam = build_adam(config, flat, partition.mine)
    return Updater(model, flat, adam, partition, config.seed, config.clip, objective, clock)


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
