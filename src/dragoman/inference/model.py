"""A model folder as a function: load("en-de")("A man.").text."""

from __future__ import annotations

from pathlib import Path
from typing import Unpack, overload

from dragoman.config.search import SearchConfig
from dragoman.inference.folder import find_model
from dragoman.inference.same_bits import ask_for_same_bits
from dragoman.inference.steering import Asked
from dragoman.inference.translator import Result, Translator
from dragoman.models.bundle import load_bundle


class Model:
    """A trained model: a text gives a Result, a list of texts a list of them."""

    def __init__(self, folder: Path, translator: Translator) -> None:
        self.folder = folder
        self.translator = translator

    @overload
    def __call__(
        self, texts: str, search: SearchConfig | None = None, *, details: bool = False, **asked: Unpack[Asked]
    ) -> Result: ...

    @overload
    def __call__(
        self,
        texts: list[str] | tuple[str, ...],
        search: SearchConfig | None = None,
        *,
        details: bool = False,
        **asked: Unpack[Asked],
    ) -> list[Result]: ...

    def __call__(
        self,
        texts: str | list[str] | tuple[str, ...],
        search: SearchConfig | None = None,
        *,
        details: bool = False,
        **asked: Unpack[Asked],
    ) -> Result | list[Result]:
        """With `details` each result has its tokens' probabilities and what the model looked at.

        `prefix`, `glossary`, `forbid` and `keep` say what is asked of the outputs.
        """
        if isinstance(texts, str):
            return self.translator([texts], search, details=details, **asked)[0]
        return self.translator(texts, search, details=details, **asked)

    def __repr__(self) -> str:
        return f"Model({str(self.folder)!r})"


def load(path: str | Path) -> Model:
    """The model in a run folder, its model/ or a project folder."""
    ask_for_same_bits()
    folder = find_model(path)
    return Model(folder, Translator(load_bundle(folder)))
