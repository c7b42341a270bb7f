"""Loading of a Config from TOML and overrides. Errors name file:line and the nearest known key."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from dragoman.config.auto_preset import (
    AUTO,
    FRAMES,
    LEARNED,
    AutoPreset,
    choose,
    corpora_of,
    default_batch_tokens,
    default_decay,
    default_learning_rate,
    default_vocabulary_size,
    guess_length,
    guess_pairs,
)
from dragoman.config.explain import Places, Table, explain, kind_in, short, wrong_value
from dragoman.config.init_from import FINE_TUNING_SHARE, inherited, other_vocabulary, settings_file
from dragoman.config.key_lookup import KeyPath, all_names, holds_bool, keys_at, nearest
from dragoman.config.model import ModelConfig
from dragoman.config.parts.embedding import FRAME_DEFAULTS
from dragoman.config.parts.head import AdaptiveHeadPart
from dragoman.config.paths import from_here
from dragoman.config.presets import PRESETS
from dragoman.config.root import Config
from dragoman.config.search import SearchConfig
from dragoman.config.section import Section
from dragoman.config.task_defaults import TASK_DEFAULTS
from dragoman.config.text import TextConfig
from dragoman.config.training import TrainingConfig, seconds
from dragoman.config.unused_settings import SEARCHES, WRITTEN, refuse, refuse_unused
from dragoman.cores import cores
from dragoman.errors import ConfigError, ModelError
from dragoman.manifest import Read
from dragoman.spelling import did_you_mean

S = TypeVar("S", bound=Section)

BY_FREQUENCY = ("word", "unigram", "char")  # units; the last of bpe are single characters, often frequent

LARGEST_FILE = 100_000  # characters; no settings file is that long
MOST_DOTS = 500  # per line; tomllib takes quadratic time for a.b.c…
DEEPEST = 16  # nested tables
# Settings that earlier versions have written, and that change nothing in how a trained model runs.
GONE = [("training", name) for name in ("parallel", "optimizer", "keep")]
# Sections whose keys depend on their kind.
PARTS = (
    "encoder",
    "decoder",
    "head",
    "src_embedding",
    "tgt_embedding",
    "pooling",
    "objective",
    "source",
)


def load(
    file: Path | None,
    overrides: Sequence[str] = (),
    base: Table | None = None,
    elsewhere: str = "the command line",
    *,
    read_bytes: Read = Path.read_bytes,
    run: Path | None = None,
    is_new: bool = False,
    gpu: bool = False,
) -> Config:
    """Load the settings: the preset, overridden by the file, by `base` and by `overrides`, in this order.

    `elsewhere` names the origin of `base` in error messages. Defaults that depend on data, machine and time
    are as a run that has begun in `run` chose them; with a `gpu`, data alone decide. With `is_new`, a run
    begins, with the settings of the model that it starts from, if it does; settings that a run has written
    contain them.
    """
    text = read(file, read_bytes) if file else ""
    table = overridden(from_here(parse(text, file), file.parent) if file else {}, base or {})
    over, given = parsed(overrides)
    whole, places = overridden(table, over), Places(file, text, given, elsewhere)
    if is_new:
        whole = with_initial_model(whole, places)
    config = validate(whole, places, choices_of(run) if run else {}, gpu=gpu)
    if is_new:
        refuse_unordered_clusters(config, places)
    refuse_unused(config, over or table, places)  # an override may disable a setting of the file
    return config


def parsed(overrides: Sequence[str]) -> tuple[Table, dict[KeyPath, str]]:
    """Return the table of all overrides, and the override that set each path."""
    given: dict[KeyPath, str] = {}
    over: Table = {}
    for override in overrides:
        path, value = parse_override(override)
        given[path] = override
        over = merge(over, nest(path, value))
    return over, given


def load_written(file: Path, read_bytes: Read) -> Config:
    """Load the settings.toml of a model folder, as training wrote it."""
    try:
        return load(file, read_bytes=read_bytes)
    except ConfigError as error:
        raise ModelError(
            f"The model's settings cannot be read: {error.what}",
            where=error.where,
            hint="pip install --upgrade dragoman",
        ) from error


def validate(
    table: Table, places: Places | None = None, chosen: Table | None = None, *, gpu: bool = False
) -> Config:
    """`chosen` are values of an earlier run, for defaults that depend on data, machine and time."""
    places, chosen = places or Places(), chosen or {}
    table = with_source_defaults(with_task_defaults(table))
    corpora = corpora_of(table.get("data"))
    pairs = guess_pairs(corpora, tagged=table.get("task") == "tag")
    time = math.inf if gpu else cores() * budget_of(table.get("training"))
    by_data = choose(pairs, cores(), time, gpu=gpu)
    fine = fine_length(table, corpora)
    table = with_data_defaults(with_preset(table, by_data, chosen, places), pairs, time, chosen, gpu, fine)
    return checked(Config, with_objective(table), places)


def is_begun(run: Path) -> bool:
    return any((run / "checkpoints").glob("step-*"))


def choices_of(run: Path) -> Table:
    """Return what an earlier run chose by data, machine and time; an empty table if there is none."""
    file = run / "settings.toml"
    if not file.is_file() or not is_begun(run):
        return {}
    was = load_written(file, Path.read_bytes)
    return {
        "preset": was.model.preset,
        "why": was.model.why,
        "parts": {name: {"dropout": part.dropout} for name, part in was.model.parts.items()},
        "size": was.text.size,
        "batch_tokens": was.training.batch_tokens,
        "schedule": was.training.schedule,
        "lr": was.training.lr,
    }


def with_initial_model(table: Table, places: Places) -> Table:
    """Add the settings of the model that the run starts from, where it has none of its own."""
    training = table.get("training")
    init_from = training.get("init_from") if isinstance(training, dict) else None
    if not isinstance(init_from, str):
        return table
    file = settings_file(init_from)
    if not file.is_file():
        raise ConfigError(
            "There is no model to start from.",
            where=init_from,
            expected="the folder of a trained model",
            hint="--from MODEL, which dragoman train -o MODEL wrote",
        )
    initial = inherited(from_here(parse(read(file, Path.read_bytes), file), file.parent))
    if other := other_vocabulary(table.get("text"), initial.get("text", {})):
        raise ConfigError(
            f"text.{other} cannot change: the vocabulary is that of {init_from}.",
            where=places.of(("text", *other.split("."))),
            expected=f"no text.{other}, or the value in {file}",
            hint="Leave it out; or train without --from.",
        )
    return merge(initial, table)


def refuse_unordered_clusters(config: Config, places: Places) -> None:
    """Raise ConfigError if the clusters of new weights would have frequent tokens among the rare ones.

    Models that were trained so are still run, resumed and fine-tuned.
    """
    kind, is_adaptive = config.text.tgt_units.kind, isinstance(config.model.head, AdaptiveHeadPart)
    if is_adaptive and kind not in BY_FREQUENCY and not config.training.init_from:
        raise ConfigError(
            "The adaptive head takes large ids for rare tokens, which they are not with "
            f'text.tgt.kind = "{kind}".',
            where=places.of(("model", "head", "kind")),
            expected=f"units that are numbered by frequency: {', '.join(BY_FREQUENCY)}",
            hint="text.kind=unigram, or model.head.kind=softmax",
        )


def with_changes(search: SearchConfig, changes: Mapping[str, Any]) -> SearchConfig:
    """Return the search settings of a model with the changes of one call."""
    table = {"search": {**search.model_dump(), **changes}}
    return checked(Searching, table, Places(elsewhere="the search of this call")).search


def with_overrides(search: SearchConfig, overrides: Sequence[str]) -> SearchConfig:
    """Return the search settings of a model with command-line overrides; others cannot be changed."""
    for override in overrides:
        if not override.startswith("search."):
            raise ConfigError(
                "Only search.… settings can be changed for a trained model.",
                where=f'"{override}" on the command line',
                hint="search.size=1",
            )
    over, given = parsed(overrides)
    places = Places(overrides=given, elsewhere="the search of the model")
    changed = checked(Searching, merge({"search": search.model_dump()}, over), places).search
    refuse(SEARCHES, changed, over, places)
    return changed


class Searching(Section):
    search: SearchConfig


def checked(kind: type[S], table: Table, places: Places) -> S:
    refuse_true_as_number(table, (), places)
    try:
        return kind.model_validate(table)
    except ValidationError as error:
        raise explain(error, table, places) from None


def read(file: Path, read_bytes: Read) -> str:
    try:
        text = read_bytes(file).decode("utf-8").replace("\r\n", "\n")
    except FileNotFoundError:
        raise ConfigError(
            "There is no such settings file.",
            where=str(file),
            hint="dragoman new dates creates a folder with one.",
        ) from None
    except UnicodeDecodeError as error:
        raise ConfigError(
            "The settings file is not UTF-8.", where=f"{file}: byte {error.start}", hint="Save it as UTF-8."
        ) from None
    except OSError as error:
        raise ConfigError(
            f"The settings file cannot be read: {error.strerror}.",
            where=str(file),
            hint="Give the path of a file.",
        ) from None
    if len(text) > LARGEST_FILE or any(line.count(".") > MOST_DOTS for line in text.split("\n")):
        raise ConfigError(
            "The settings file is too long.",
            where=str(file),
            expected=f"at most {LARGEST_FILE:,} characters, and {MOST_DOTS} dots per line",
            hint="dragoman new dates creates a folder with one to start from.",
        )
    return text


def parse(text: str, file: Path) -> Table:
    try:
        table = tomllib.loads(text)
    # TOMLDecodeError is a ValueError; so is the error for a number of 5,000 digits.
    except (ValueError, RecursionError) as error:
        line = re.search(r"at line (\d+)", str(error))
        raise ConfigError(
            f"The settings file is not valid TOML: {short(str(error))}",
            where=f"{file}:{line[1]}" if line else str(file),
            expected='lines such as  key = "text"  or  key = 3  below a  [section]',
            hint="Fix that line.",
        ) from None
    refuse_deep(table, str(file))
    return without(table, GONE) if file.name == WRITTEN else table


def without(table: Table, paths: Sequence[KeyPath]) -> Table:
    for section, name in paths:
        if isinstance(inner := table.get(section), dict):
            table = {**table, section: {key: value for key, value in inner.items() if key != name}}
    return table


def refuse_deep(value: Any, where: str) -> None:
    level = [value]
    for _ in range(DEEPEST):
        inner = [v for v in level if isinstance(v, dict | list)]
        level = [v for i in inner for v in (i.values() if isinstance(i, dict) else i)]
    if level:
        raise ConfigError(
            "The settings are nested too deeply.",
            where=where,
            expected=f"at most {DEEPEST} levels of tables",
            hint="Write them as  key = value  below a  [section].",
        )


def refuse_true_as_number(table: Table, path: KeyPath, places: Places) -> None:
    """Raise ConfigError for `lr = true`, which pydantic would accept as 1."""
    for key, value in table.items():
        inner = (*path, key)
        if isinstance(value, dict):
            refuse_true_as_number(value, inner, places)
        elif isinstance(value, bool) and key in keys_at(path) and not holds_bool(inner):
            raise wrong_value(inner, value, kind_in(table, ()), places)


def overridden(table: Table, over: Table) -> Table:
    """Merge `over` over `table`. A preset in it replaces the parts of the network that it names."""
    model, chosen = table.get("model"), over.get("model")
    name = chosen.get("preset") if isinstance(chosen, dict) else None
    if isinstance(model, dict) and isinstance(name, str) and name in PRESETS:
        parts = PRESETS[name]()
        table = {**table, "model": {key: value for key, value in model.items() if key not in parts}}
    return merge(table, over)


def merge(low: Table, high: Table) -> Table:
    """Merge `high` over `low`, table by table. A part of another kind replaces the old one."""
    out = dict(low)
    for key, value in high.items():
        old = out.get(key)
        if (
            isinstance(old, dict)
            and isinstance(value, dict)
            and not (key in PARTS and other_kind(old, value))
        ):
            out[key] = merge(old, value)
        else:
            out[key] = value
    return out


def other_kind(old: Table, new: Table) -> bool:
    return "kind" in old and "kind" in new and old["kind"] != new["kind"]


def with_task_defaults(table: Table) -> Table:
    task = table.get("task")
    return merge(TASK_DEFAULTS[task], table) if isinstance(task, str) and task in TASK_DEFAULTS else table


def with_source_defaults(table: Table) -> Table:
    """Choose how vectors are made by what the sources are: frames have no vocabulary."""
    part = FRAME_DEFAULTS.get(kind_at(table, "data", "source"))
    return merge({"model": {"src_embedding": {"kind": part}, "tied": "target"}}, table) if part else table


def with_preset(table: Table, by_data: AutoPreset, chosen: Table, places: Places) -> Table:
    model = table.get("model", {})
    if not isinstance(model, dict):
        return table
    name, parts = model.get("preset", ModelConfig.model_fields["preset"].default), {}
    if name == AUTO:
        name, why = chosen.get("preset", by_data.preset), chosen.get("why", by_data.why)
        model, parts = {**model, "preset": name, "why": why}, chosen.get("parts", by_data.parts)
    if not isinstance(name, str) or name not in PRESETS:
        close = nearest(str(name), (*PRESETS, AUTO))
        raise ConfigError(
            f'There is no preset "{short(name)}".{did_you_mean(close)}',
            where=places.of(("model", "preset")),
            expected="one of " + ", ".join((*PRESETS, AUTO)),
            hint=f"model.preset={close or AUTO}",
        )
    return {**table, "model": merge(merge({**PRESETS[name](), "preset": name}, parts), model)}


def budget_of(training: Any) -> float:
    """Return the budget in seconds; infinity if there is none, or an invalid one that is refused later."""
    try:
        return seconds(training["budget"])
    except (KeyError, TypeError, ValueError):
        return math.inf


def fine_length(table: Table, corpora: Sequence[Sequence[Path]]) -> float:
    """Return about how many letters or frames a line has, or 0 if its tokens are larger."""
    if kind_at(table, "data", "source") in FRAME_DEFAULTS:
        return FRAMES
    is_spelled, is_tagged = kind_at(table, "text", "src") == "spelled", table.get("task") == "tag"
    return guess_length(corpora, tagged=is_tagged) if is_spelled else 0.0


def kind_at(table: Table, section: str, part: str) -> str:
    """Return the kind of a part, or "" if it is not set, or in a table that is refused later."""
    try:
        kind = table[section][part]["kind"]
    except (KeyError, TypeError):
        return ""
    return kind if isinstance(kind, str) else ""


def with_data_defaults(table: Table, pairs: int, time: float, chosen: Table, gpu: bool, fine: float) -> Table:
    """Set what is unset: vocabulary, batch size and schedule by data and time, learning rate by the model."""
    text, training = table.get("text", {}), table.get("training", {})
    if isinstance(text, dict) and not {"size", "file", "src", "tgt"} & text.keys():
        kind = text.get("kind", TextConfig.model_fields["kind"].default)
        size = chosen.get("size", default_vocabulary_size(pairs, time)) if kind in LEARNED else None
        table = {**table, "text": {**text, "size": size}} if size else table
    model = table.get("model")
    if isinstance(training, dict) and isinstance(model, dict):
        translates = table.get("task", Config.model_fields["task"].default) == "translate"
        encoder, decoder = model.get("encoder"), model.get("decoder")
        is_lm = isinstance(encoder, dict) and encoder.get("kind") == "none"
        part = decoder if is_lm else encoder
        lr = default_learning_rate(part, time, model.get("preset") if translates else None)
        defaults: Table = {"batch_tokens": default_batch_tokens(pairs, time, gpu=gpu, fine=fine), "lr": lr}
        if training.get("init_from"):
            defaults["lr"] = FINE_TUNING_SHARE * lr
        else:
            defaults["schedule"] = default_decay(time)
        kept = {key: chosen[key] for key in defaults if key in chosen}
        table = {**table, "training": {**defaults, **kept, **training}}
    return table


def with_objective(table: Table) -> Table:
    """Set the default kind of an objective without one, so that its weights can be set alone."""
    training = table.get("training")
    objective = training.get("objective") if isinstance(training, dict) else None
    if not isinstance(training, dict) or not isinstance(objective, dict):
        return table
    kind = TrainingConfig.model_fields["objective"].default.kind
    return {**table, "training": {**training, "objective": {"kind": kind, **objective}}}


def parse_override(text: str) -> tuple[KeyPath, Any]:
    key, sign, raw = text.partition("=")
    if not sign or not re.fullmatch(r"[a-z_]+(\.[a-z_]+)*", key):
        raise ConfigError(
            f'"{short(text)}" is not a setting.',
            where="the command line",
            expected="section.key=value, such as training.updates=2000",
            hint='Quote values with spaces: \'data.train=["a b.en", "a b.de"]\'.',
        )
    path = tuple(key.split("."))
    check_path(path, text, f'"{short(text)}" on the command line')
    try:
        value = tomllib.loads(f"x = {raw}")["x"]
    except (ValueError, RecursionError):
        value = raw
    refuse_deep(value, f'"{short(text)}" on the command line')
    return path, value


def check_path(path: KeyPath, text: str, where: str) -> None:
    for depth, key in enumerate(path):
        keys = keys_at(path[:depth])
        if key not in keys:
            name, names = ".".join(path), all_names()
            close = nearest(name, names)
            raise ConfigError(
                f"Unknown setting {name}.{did_you_mean(close)}",
                where=where,
                expected="one of " + ", ".join([".".join((*path[:depth], k)) for k in keys] or names),
                hint=f"{close}={short(text.partition('=')[2])}"
                if close
                else "dragoman info --settings lists them all.",
            )


def nest(path: KeyPath, value: Any) -> Table:
    return {path[0]: nest(path[1:], value) if len(path) > 1 else value}
