"""A model folder as a function: load("en-de")("A man.").text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Unpack, overload

from dragoman.config.load import load as load_config
from dragoman.config.search import SearchConfig
from dragoman.inference.folder import find_model
from dragoman.inference.same_bits import ask_for_same_bits
from dragoman.inference.steering import Asked
from dragoman.inference.translator import Result, Translator
from dragoman.models.bundle import load_bundle

Choice = SearchConfig | Mapping[str, Any]  # a whole [search], or what to change of the model's own


class Model:
    """A trained model: a text gives a Result, a list of texts a list of them."""

    def __init__(self, folder: Path, translator: Translator) -> None:
        self.folder = folder
        self.translator = translator

    @overload
    def __call__(
        self,
        texts: str,
        search: Choice | None = None,
        *,
        details: bool = False,
        trace: bool = False,
        **asked: Unpack[Asked],
    ) -> Result: ...

    @overload
    def __call__(
        self,
        texts: list[str] | tuple[str, ...],
        search: Choice | None = None,
        *,
        details: bool = False,
        trace: bool = False,
        **asked: Unpack[Asked],
    ) -> list[Result]: ...

    def __call__(
        self,
        texts: str | list[str] | tuple[str, ...],
        search: Choice | None = None,
        *,
        details: bool = False,
        trace: bool = False,
        **asked: Unpack[Asked],
    ) -> Result | list[Result]:
        """`search` changes the model's own.

        With `details` each result has its tokens' probabilities and what the model looked at, with `trace`
        every candidate of its search. `prefix`, `glossary`, `forbid` and `keep` say what is asked of the
        outputs.
        """
        several = [texts] if isinstance(texts, str) else texts
        results = self.translator(several, self._search(search), details=details, trace=trace, **asked)
        return results[0] if isinstance(texts, str) else results

    def _search(self, search: Choice | None) -> SearchConfig | None:
        if isinstance(search, Mapping):
            return load_config(self.folder / "settings.toml", base={"search": dict(search)}).search
        return search

    def __repr__(self) -> str:
        return f"Model({str(self.folder)!r})"


def load(
    path: str | Path, *, ensemble: Sequence[str | Path] = (), reverse: str | Path | None = None
) -> Model:
    """The model in a run folder, its model/ or a project folder.

    Those of `ensemble` decide together with it; the one in `reverse` was trained the other way round, and
    re-ranks what they find.
    """
    ask_for_same_bits()
    folder = find_model(path)
    more = [load_bundle(find_model(other)) for other in ensemble]
    back = load_bundle(find_model(reverse)) if reverse is not None else None
    return Model(folder, Translator(load_bundle(folder), *more, reverse=back))
