"""Scores of a model on a test set."""

from __future__ import annotations

from pathlib import Path

from dragoman.arguments import known_keywords, paths_of
from dragoman.data.readers.open_pairs import open_pairs
from dragoman.inference.model import Model, load
from dragoman.metrics.report import ScoreReport
from dragoman.metrics.report import score as measure


@known_keywords()
def score(
    model: Model | str | Path,
    *test: str | Path,
    languages: tuple[str, str] | None = None,
    lowercase: bool = False,
) -> ScoreReport:
    """Translate the source side of a test set and measure the result against its target side.

    `languages` selects the two sides of a file with several languages. With `lowercase`, case is ignored.
    """
    loaded = model if isinstance(model, Model) else load(model)
    pairs = list(open_pairs(paths_of(test, "test"), languages=languages))
    outputs = [result.text for result in loaded([pair.src for pair in pairs])]
    return measure(outputs, [pair.tgt for pair in pairs], lowercase=lowercase)
