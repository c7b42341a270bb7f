"""Constraints that a caller may put on the outputs of one call."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TypedDict

from dragoman.arguments import text_of, wrong_type
from dragoman.errors import UsageError
from dragoman.steering.glossary import Glossary
from dragoman.steering.placeholders import DEFAULT_KINDS, KINDS, Kind
from dragoman.steering.step_tokens import StepTokens

LENGTH_STEP = 32  # tokens

GlossaryLike = Glossary | Mapping[str, str | Sequence[str]] | str | Path


class SteeringOptions(TypedDict, total=False):
    prefix: str | Sequence[str] | None  # how the outputs begin; one for all texts, or one per text
    # A file, a mapping or a Glossary; one for all texts, or one per text.
    glossary: GlossaryLike | Sequence[GlossaryLike] | None
    forbid: Sequence[str]  # words that no output may contain
    keep: bool | Kind | Collection[Kind]  # what outputs preserve: see steering.placeholders
    steps: StepTokens | None  # tokens that are written, or not, at given steps of all outputs


def round_up_length(tokens: int) -> int:
    """Round the length allowance for constraints up to whole steps, so that more texts share a batch."""
    return -(-tokens // LENGTH_STEP) * LENGTH_STEP


def one_per_text(prefix: str | Sequence[str] | None, texts: Sequence[str]) -> list[str]:
    """Return one prefix per text."""
    if prefix is None or isinstance(prefix, str):
        return [prefix or ""] * len(texts)
    if not isinstance(prefix, list | tuple):
        raise wrong_type(
            "prefix", prefix, "a str for all texts, or a list with one per text", 'prefix="Dear"'
        )
    require_one_each("prefixes", len(prefix), len(texts))
    return [text_of("" if one is None else one, f"prefix[{index}]") for index, one in enumerate(prefix)]


def require_one_each(things: str, number: int, texts: int) -> None:
    if number != texts:
        raise UsageError(
            f"There are {number:,} {things} for {texts:,} texts.",
            where="constraints on the outputs",
            expected="one for all texts, or one per text",
            hint='Use "" or {} for a text without one.',
        )


def placeholder_kinds(keep: bool | Kind | Collection[Kind] | None) -> tuple[Kind, ...]:
    if keep is None or isinstance(keep, bool):
        return DEFAULT_KINDS if keep else ()
    if not isinstance(keep, Collection | re.Pattern):
        raise wrong_type("keep", keep, "True, patterns, or some of " + ", ".join(KINDS), "keep=True")
    named = (keep,) if isinstance(keep, str | re.Pattern) else tuple(keep)
    for kind in named:
        if not isinstance(kind, re.Pattern) and kind not in KINDS:
            raise UsageError(
                f'"{kind}" is not a kind of placeholder to keep.',
                where="keep",
                expected="some of " + ", ".join(KINDS) + ", or a compiled pattern",
                hint="keep=True preserves " + ", ".join(DEFAULT_KINDS) + ".",
            )
    return named
