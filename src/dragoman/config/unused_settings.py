"""Settings that were given and would change nothing beside the others: they are refused, with the way out.

What a run writes down has every setting, in effect or not, so settings.toml is let alone.
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

WRITTEN = "settings.toml"  # by a run
SUBWORDS = ("bpe", "unigram")
C = TypeVar("C")


class UnusedSetting(NamedTuple, Generic[C]):
    names: Sequence[str]
    is_idle: Callable[[C], bool]
    why: str  # and what to do, behind a semicolon


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


RELATIVE = "relative positions have no limit; leave it out, or choose other positions"
SETTINGS: Sequence[UnusedSetting[Config]] = (
    UnusedSetting(
        ["model.decoder.input_feeding"],
        feeds_nothing,
        'only form = "luong" has input feeding; set model.decoder.form=luong, or leave it out',
    ),
    UnusedSetting(
        ["model.decoder.attention"],
        has_no_attention,
        "the decoder's form has no attention; set model.decoder.form=luong or bahdanau, or leave it out",
    ),
    UnusedSetting(
        ["model.encoder.join"],
        joins_nothing,
        "one direction has nothing to join; set model.encoder.bidirectional=true, or leave it out",
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
        "only an encoder reads the end of the source; set model.encoder.reads_end",
    ),
    UnusedSetting(
        ["text.sampling"],
        samples_nothing,
        "only sub-words can be cut another way; set text.kind=bpe or unigram, or leave it out",
    ),
    UnusedSetting(
        ["training.label_smoothing"],
        has_no_truth_to_smooth,
        "minimum risk has no references to smooth; leave it out, or set training.objective.after",
    ),
    UnusedSetting(
        ["training.objective.half"],
        never_falls,
        'with decay = "constant" nothing falls; set training.objective.truth, or another decay',
    ),
    UnusedSetting(
        ["training.valid_metric"],
        lambda config: config.training.valid_metric != "loss" and not config.training.valid_decode,
        "without decoded pairs there is only the loss; set training.valid_decode, or valid_metric=loss",
    ),
)
SEARCHES: Sequence[UnusedSetting[SearchConfig]] = (
    UnusedSetting(
        ["search.temperature", "search.top_k", "search.top_p", "search.seed"],
        lambda search: search.kind not in ("sample", "mbr"),
        "only samples are drawn; set search.kind=sample, or leave it out",
    ),
    UnusedSetting(
        ["search.samples", "search.utility"],
        lambda search: search.kind != "mbr",
        "only minimum Bayes risk compares samples; set search.kind=mbr, or leave it out",
    ),
    UnusedSetting(
        ["search.diversity"],
        lambda search: search.kind == "beam" and search.groups == 1,
        "one group has no other to differ from; set search.groups=2 or more, or leave it out",
    ),
)


def refuse_unused(config: Config, given: Mapping[str, Any], places: Places) -> None:
    """`given` is the table before presets and defaults."""
    if places.file is None or places.file.name != WRITTEN:
        refuse(SETTINGS, config, given, places)
        refuse(SEARCHES, config.search, {"search": not_usual(given.get("search"))}, places)


def not_usual(search: Any) -> dict[str, Any]:
    """What a file says of the search besides the defaults, which a folder that Dragoman made has, too."""
    fields = SearchConfig.model_fields
    given = search.items() if isinstance(search, Mapping) else ()
    return {key: value for key, value in given if key in fields and value != fields[key].default}


def refuse(rules: Sequence[UnusedSetting[C]], config: C, given: Mapping[str, Any], places: Places) -> None:
    for rule in rules:
        for name in rule.names:
            path = tuple(name.split("."))
            if is_given(given, path) and rule.is_idle(config):
                because, _, do = rule.why.partition("; ")
                raise ConfigError(
                    f"The setting {name} would change nothing: {because}.",
                    where=places.of(path),
                    hint=do[:1].upper() + do[1:] + ".",
                )


def is_given(table: Any, path: Sequence[str]) -> bool:
    for key in path:
        if not isinstance(table, Mapping) or key not in table:
            return False
        table = table[key]
    return table is not None
