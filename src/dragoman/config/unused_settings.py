"""Refusal of settings that have no effect in combination with the others.

A run writes every setting to settings.toml, whether it has an effect or not, so that file is not checked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from dragoman.config.explain import Places
from dragoman.config.objective import MinimumRiskPart, SamplingOptions
from dragoman.config.parts.recurrent import RNNDecoderPart, RNNEncoderPart
from dragoman.config.parts.transformer import TransformerPart
from dragoman.config.root import Config
from dragoman.config.search import SearchConfig
from dragoman.errors import ConfigError

WRITTEN = "settings.toml"  # written by a run
SUBWORDS = ("bpe", "unigram")
C = TypeVar("C")


class UnusedSetting(NamedTuple, Generic[C]):
    names: Sequence[str]
    is_idle: Callable[[C], bool]
    why: str  # the reason; and the fix, after a semicolon


def feeds_nothing(config: Config) -> bool:
    decoder = config.model.decoder
    return isinstance(decoder, RNNDecoderPart) and decoder.input_feeding and decoder.form != "luong"


def has_no_attention(config: Config) -> bool:
    return isinstance(config.model.decoder, RNNDecoderPart) and not config.model.decoder.attends


def joins_nothing(config: Config) -> bool:
    return isinstance(config.model.encoder, RNNEncoderPart) and not config.model.encoder.bidirectional


def is_relative(part: object) -> bool:
    return isinstance(part, TransformerPart) and part.positions == "relative"


def samples_nothing(config: Config) -> bool:
    kinds = {config.text.src_units.kind, config.text.tgt_units.kind}
    return config.text.sampling > 0 and not kinds & {*SUBWORDS}


def has_no_truth_to_smooth(config: Config) -> bool:
    objective = config.training.objective
    smoothing = config.training.label_smoothing
    return isinstance(objective, MinimumRiskPart) and not objective.after and smoothing > 0


def never_falls(config: Config) -> bool:
    objective = config.training.objective
    return isinstance(objective, SamplingOptions) and objective.decay == "constant"


RELATIVE = "relative positions have no limit; remove it, or choose other positions"
SETTINGS: Sequence[UnusedSetting[Config]] = (
    UnusedSetting(
        ["model.decoder.input_feeding"],
        feeds_nothing,
        'only form = "luong" has input feeding; set model.decoder.form=luong, or remove it',
    ),
    UnusedSetting(
        ["model.decoder.attention"],
        has_no_attention,
        "the decoder's form has no attention; set model.decoder.form=luong or bahdanau, or remove it",
    ),
    UnusedSetting(
        ["model.encoder.join"],
        joins_nothing,
        "a unidirectional encoder has nothing to join; set model.encoder.bidirectional=true, or remove it",
    ),
    UnusedSetting(
        ["model.encoder.max_positions"], lambda config: is_relative(config.model.encoder), RELATIVE
    ),
    UnusedSetting(
        ["model.decoder.max_positions"], lambda config: is_relative(config.model.decoder), RELATIVE
    ),
    UnusedSetting(
        ["model.decoder.reads_end"],
        lambda config: (
            isinstance(config.model.decoder, TransformerPart) and not config.model.decoder.reads_end
        ),
        "only an encoder reads the </s> of the source; set model.encoder.reads_end",
    ),
    UnusedSetting(
        ["text.sampling"],
        samples_nothing,
        "only sub-word segmentation can be sampled; set text.kind=bpe or unigram, or remove it",
    ),
    UnusedSetting(
        ["training.label_smoothing"],
        has_no_truth_to_smooth,
        "minimum risk training has no reference tokens to smooth; remove it, or set training.objective.after",
    ),
    UnusedSetting(
        ["training.objective.half_at"],
        never_falls,
        'with decay = "constant" nothing decays; set training.objective.reference_floor, or another decay',
    ),
    UnusedSetting(
        ["training.valid_metric"],
        lambda config: config.training.valid_metric != "loss" and not config.training.valid_decode,
        "without decoded pairs only the loss is known; set training.valid_decode, or valid_metric=loss",
    ),
)
SEARCHES: Sequence[UnusedSetting[SearchConfig]] = (
    UnusedSetting(
        ["search.temperature", "search.top_k", "search.top_p", "search.seed"],
        lambda search: search.kind not in ("sample", "mbr"),
        "only sampling uses it; set search.kind=sample, or remove it",
    ),
    UnusedSetting(
        ["search.samples", "search.utility"],
        lambda search: search.kind != "mbr",
        "only minimum Bayes risk compares samples; set search.kind=mbr, or remove it",
    ),
    UnusedSetting(
        ["search.diversity"],
        lambda search: search.kind == "beam" and search.groups == 1,
        "a single group has no other to differ from; set search.groups=2 or more, or remove it",
    ),
)


def refuse_unused(config: Config, given: Mapping[str, Any], places: Places) -> None:
    """Raise ConfigError for a setting in `given`, the table before presets and defaults, without effect."""
    if places.file is None or places.file.name != WRITTEN:
        refuse(SETTINGS, config, given, places)
        refuse(SEARCHES, config.search, {"search": not_default(given.get("search"))}, places)


def not_default(search: Any) -> dict[str, Any]:
    """Return the search settings that differ from the defaults, which are written to every project file."""
    fields = SearchConfig.model_fields
    given = search.items() if isinstance(search, Mapping) else ()
    return {key: value for key, value in given if key in fields and value != fields[key].default}


def refuse(rules: Sequence[UnusedSetting[C]], config: C, given: Mapping[str, Any], places: Places) -> None:
    for rule in rules:
        for name in rule.names:
            path = tuple(name.split("."))
            if is_given(given, path) and rule.is_idle(config):
                reason, _, fix = rule.why.partition("; ")
                raise ConfigError(
                    f"The setting {name} has no effect: {reason}.",
                    where=places.of(path),
                    hint=fix[:1].upper() + fix[1:] + ".",
                )


def is_given(table: Any, path: Sequence[str]) -> bool:
    for key in path:
        if not isinstance(table, Mapping) or key not in table:
            return False
        table = table[key]
    return table is not None
