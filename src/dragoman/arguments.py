"""Argument checks of the Python API: an unknown keyword or a wrong type raises a UsageError."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from functools import wraps
from inspect import Parameter, signature
from pathlib import Path
from typing import ParamSpec, TypeVar

from dragoman.errors import UsageError
from dragoman.spelling import closest, did_you_mean

P = ParamSpec("P")
R = TypeVar("R")

MAX_SHOWN_CHARACTERS = 60  # longer values are cut in messages


def known_keywords(*more: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Make an unknown keyword of a public function an error that suggests the nearest one.

    `more` are the keywords that the function accepts as **kwargs.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        parameters = signature(function).parameters.items()
        variadic = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
        named = [name for name, one in parameters if one.kind not in variadic and name != "self"]
        names = [*named, *more]

        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            for name in kwargs:
                if name not in names:
                    raise unknown_keyword(name, names, called(function.__qualname__))
            return function(*args, **kwargs)

        return call

    return decorate


def called(name: str) -> str:
    """Return a function's name as in a call: Model.__call__ → model(…)"""
    return name.removesuffix(".__call__").lower() + "(…)"


def unknown_keyword(name: str, names: list[str], where: str) -> UsageError:
    close = closest(name, names)
    return UsageError(
        f'There is no keyword "{name}".' + did_you_mean(close),
        where=where,
        expected="some of " + ", ".join(names),
        hint=f"Write {close}=…" if close else f"Leave {name}= out.",
    )


def wrong_type(name: str, value: object, expected: str, hint: str) -> UsageError:
    text = repr(value)
    shown = text if len(text) <= MAX_SHOWN_CHARACTERS else text[: MAX_SHOWN_CHARACTERS - 1] + "…"
    return UsageError(
        f"{name} cannot be {shown}.",
        where=f"{name}, of type {type(value).__name__}",
        expected=expected,
        hint=hint,
    )


def path_of(value: object, name: str) -> Path:
    if isinstance(value, str) or (isinstance(value, os.PathLike) and isinstance(os.fspath(value), str)):
        refuse_address(os.fspath(value), name, is_written=name == "out")
        return Path(value)
    raise wrong_type(name, value, "a path: a str or a pathlib.Path", f"Give the path of {name} as a str.")


# What copies a folder from an address, and a folder to it.
COPIES = {
    "s3": ("aws s3 sync {0} {1}", "aws s3 sync {1} {0}"),
    "gs": ("gcloud storage cp -r {0} {1}", "gcloud storage cp -r {1} {0}"),
    "hf": ("hf download {2} --local-dir {1}", "hf upload {2} {1}"),
    "http": ("curl -LO {0}", "curl -T {1} {0}"),
    "https": ("curl -LO {0}", "curl -T {1} {0}"),
}
ADDRESS = re.compile(
    r"\A([A-Za-z][A-Za-z0-9+.-]++):/++(.*)\Z", re.DOTALL
)  # a Path has one slash; C:/ is a disk


def refuse_address(value: str | Path, where: str, *, is_written: bool = False) -> None:
    """Refuse s3://bucket/run and the like, which would otherwise become folders of these names here."""
    found = ADDRESS.match(str(value))
    if not found:
        return
    scheme, rest = found[1].lower(), found[2].strip("/")
    address, here = f"{scheme}://{rest}", rest.rpartition("/")[2] or "here"
    copy = COPIES.get(scheme, ("", ""))[is_written].format(address, here, rest)
    order = f"Write to {here}, then copy it" if is_written else f"Copy it here first, then name {here}"
    raise UsageError(
        "This is an address, not a path.",
        where=f"{where}: {address}",
        expected="a file or folder on this machine",
        hint=f"{order}:  {copy}" if copy else f"{order}.",
    )


def paths_of(value: object, name: str) -> list[Path]:
    if not isinstance(value, list | tuple):
        raise wrong_type(name, value, "a list of paths", f'{name}=["path/to/it"]')
    return [path_of(path, f"{name}[{index}]") for index, path in enumerate(value)]


def texts_of(value: object) -> list[str]:
    """Return the texts of a list or tuple; a single text is an error."""
    if not isinstance(value, list | tuple):
        expected = "a str, or a list or iterator of them"
        fix = 'text.decode("utf-8")' if isinstance(value, bytes) else 'model("a text"), or model(iter(texts))'
        raise wrong_type("texts", value, expected, fix)
    return [text_of(text, f"texts[{index}]") for index, text in enumerate(value)]


def text_of(value: object, name: str) -> str:
    if not isinstance(value, str):
        raise wrong_type(name, value, "a str", 'Decode bytes with .decode("utf-8"); an empty text is "".')
    return value
