"""Checks of the shapes in signatures that cost little: once for each combination of shapes.

A training run calls the same functions with the same shapes thousands of times, and a check takes longer
than many of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from beartype import beartype
from torch import Tensor


def once_per_shapes(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a checker of the arguments of `function`, for jaxtyping's import hook, which ignores its result.

    Arguments with types and shapes that were checked before are not checked again.
    """
    checked: Callable[..., Any] | None = None
    seen: set[tuple[Any, ...]] = set()

    def check(*args: Any, **kwargs: Any) -> None:
        nonlocal checked
        kinds = (*map(kind, args), *kwargs, *map(kind, kwargs.values()))
        try:
            if kinds in seen:
                return
        except TypeError:  # symbolic sizes, while a graph is exported, have no hash
            kinds = ()
        checked = checked or beartype(function)  # not before it is needed: this takes time as well
        checked(*args, **kwargs)
        if kinds:
            seen.add(kinds)

    return check


def kind(value: Any) -> Any:
    """Return the type of a value, with its shape and those of its parts; of a list, of its first part."""
    if isinstance(value, Tensor):
        return value.dtype, value.shape
    if isinstance(value, tuple):
        return type(value), *map(kind, value)
    if isinstance(value, list | dict) and value:
        return type(value), kind(next(iter(value.values() if isinstance(value, dict) else value)))
    return type(value)
