"""Command-line parsing shared by the verbs."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

from dragoman.spelling import closest

Arguments: TypeAlias = argparse.ArgumentParser | argparse._ArgumentGroup
SETTABLE = {"train": "", "prepare": "", "run": "search.", "score": "search.", "show": "search."}
_OVERRIDE = re.compile(r"^(task|[a-z_]+(\.[a-z_]+)+)=")


def add_languages(parser: Arguments) -> None:
    parser.add_argument(
        "--languages",
        nargs=2,
        metavar="NAME",
        help="which languages or columns to read as source and target, such as en de",
    )


def add_data(parser: argparse.ArgumentParser) -> Callable[..., argparse.Action]:
    """Add the options of `train` and `prepare` that name data, settings and the run's folder.

    Return what adds further options of the output."""
    parser.add_argument(
        "data",
        nargs="*",
        metavar="FILE|DIR",
        help="two text files whose lines match, or .tsv, .csv, .jsonl, .tmx, .xliff or .po files, or a "
        "folder; then settings",
    )
    group = parser.add_argument_group("data and settings")
    add = group.add_argument
    add("--valid", nargs="+", metavar="FILE", help="validation pairs (default: some of the training pairs)")
    add("--test", nargs="+", metavar="FILE", help="test pairs, for a later `dragoman score MODEL`")
    add_languages(group)
    add("--skip-bad", action="store_true", help="skip lines that cannot be read, and count them")
    add("-c", "--config", type=Path, metavar="FILE", help="a settings file (TOML)")
    add(
        "--from",
        dest="init_from",
        metavar="MODEL",
        help="start with the weights and vocabulary of this model",
    )
    add = parser.add_argument_group("output").add_argument
    add("-o", "--out", type=Path, metavar="DIR", help="the run's folder")
    return add


def split_overrides(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split positionals into files or texts and `section.key=value` overrides. Existing paths are files."""
    others: list[str] = []
    overrides: list[str] = []
    for argument in arguments:
        is_override = _OVERRIDE.match(argument) is not None and not is_there(argument)
        (overrides if is_override else others).append(argument)
    return others, overrides


def split_texts(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split positionals into texts and overrides. An override begins with a section, or nearly with one."""
    from dragoman.config.key_lookup import keys_at

    texts: list[str] = []
    overrides: list[str] = []
    for argument in arguments:
        near = closest(argument.partition(".")[0], keys_at(()), cutoff=0.8)
        is_override = bool(near) and _OVERRIDE.match(argument) is not None
        (overrides if is_override else texts).append(argument)
    return texts, overrides


def setting_named(option: str, verb: str) -> str | None:
    """Return the setting that an option is named after: model.preset=… for --preset."""
    from dragoman.config.key_lookup import SYNONYMS, all_names, nearest

    name = option.lstrip("-").replace("-", "_")
    section = SETTABLE.get(verb)
    settings = [] if section is None else [s for s in all_names() if s.startswith(section)]
    is_one = any(s.rpartition(".")[2] in (name, SYNONYMS.get(name)) for s in settings)
    return f"{nearest(name, settings)}=…" if is_one else None


def after_dashes(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split arguments at "--". Everything after it is text, whatever it looks like."""
    words = list(arguments)
    cut = words.index("--") if "--" in words else len(words)
    return words[:cut], words[cut + 1 :]


def is_there(name: str) -> bool:
    try:
        return Path(name).exists()
    except (OSError, ValueError):  # a long text is not a file name
        return False


def is_file(name: str) -> bool:
    return is_there(name) and Path(name).is_file()
