"""What a page may ask for: plain data, checked before a model sees it."""

from __future__ import annotations

from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from dragoman.errors import UsageError

LONGEST_TEXT = 20_000  # characters
MOST_RULES = 1_000


class Asked(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class SearchAsked(Asked):
    """The settings of [search] that a page can change."""

    kind: Literal["greedy", "beam", "sample"] | None = None
    size: int | None = Field(default=None, ge=1, le=32)
    length_penalty: float | None = Field(default=None, ge=0, le=5)
    temperature: float | None = Field(default=None, gt=0, le=5)
    seed: int | None = Field(default=None, ge=0)


class DecodeAsked(Asked):
    """A text, and the decisions that are changed: see `StepTokens` and `Model.explain`."""

    model: int = Field(default=0, ge=0)
    text: str = Field(max_length=LONGEST_TEXT)
    search: SearchAsked = SearchAsked()
    write: dict[int, int] = Field(default_factory=dict, max_length=MOST_RULES)
    avoid: dict[int, list[int]] = Field(default_factory=dict, max_length=MOST_RULES)
    forbid: list[str] = Field(default_factory=list, max_length=MOST_RULES)
    attend: dict[int, int] = Field(default_factory=dict, max_length=MOST_RULES)


class StepAsked(DecodeAsked):
    """The equations of one step of the output, and of one head of its last attention."""

    step: int = Field(ge=0)
    head: int = Field(default=0, ge=0)


class PictureAsked(DecodeAsked):
    format: Literal["svg", "json"] = "svg"
    theme: Literal["light", "dark"] = "light"


A = TypeVar("A", bound=Asked)


def checked(kind: type[A], data: Any) -> A:
    """Return what was asked for, or raise UsageError with the first thing that is wrong."""
    try:
        return kind.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise UsageError(
            f"The page asked for something else than {kind.__name__} has: {first['msg']}.",
            where=".".join(map(str, first["loc"])) or "the request",
            hint="Reload the page.",
        ) from None
