"""The choice of the search at the end of training, repeated with the weights and the engine of an export."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

from dragoman.config.dump import to_toml
from dragoman.data.pair import Pair
from dragoman.data.readers.open_pairs import open_pairs
from dragoman.errors import DragomanError
from dragoman.inference.runtimes.exported import ExportRuntime
from dragoman.inference.runtimes.runtime import Engine
from dragoman.models.bundle import Bundle
from dragoman.models.folder import SETTINGS
from dragoman.tasks.search_choice import MOST_PAIRS, SearchChoice, careful, choose, greedy_of, is_open


def chosen_search(bundle: Bundle, engine: Engine) -> SearchChoice | None:
    """Return the scores of greedy search and the beam in this engine.

    None if the search of the model is not open, or its validation files are gone; then its choice is kept.
    """
    config = bundle.config
    if not (is_open(config) and config.is_text_to_text) or not (pairs := validation_pairs(bundle)):
        return None
    runtime = ExportRuntime(engine, config, bundle.text, bundle.calibration)
    sources = [pair.src for pair in pairs]
    greedy, beam = (
        [result.text for result in runtime(sources, search)]
        for search in (greedy_of(config.search), config.search)
    )
    return choose(config, [pair.tgt for pair in pairs], greedy, beam)


def validation_pairs(bundle: Bundle) -> list[Pair]:
    config, text, corpus = bundle.config, bundle.text, bundle.config.data.valid
    if corpus is None:  # held out from the training pairs
        return []
    try:
        found = islice(open_pairs(corpus.files, languages=corpus.languages), MOST_PAIRS)
        pairs = [pair for pair in found if pair.src.strip() and pair.tgt.strip()]
    except (DragomanError, OSError):
        return []
    return [pair for pair in pairs if len(text.src.encode(pair.src)) <= config.model.longest_source]


def keep_search(bundle: Bundle, choice: SearchChoice | None, folder: Path) -> None:
    """Write the choice to the settings of an export."""
    if choice and choice.is_careful:
        (folder / SETTINGS).write_text(to_toml(careful(bundle.config)), encoding="utf-8")
