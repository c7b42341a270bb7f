"""Verification of an export of other tasks than translation: both engines must give the same answers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dragoman.config.search import SearchConfig
from dragoman.export.probe_inputs import running_texts, signals, sources
from dragoman.export.probe_sentences import ROW, every_entry
from dragoman.export.verify import BEAM_5, GREEDY, SCORE, TOKEN, Agreement, mismatch, worst_of
from dragoman.inference.continuation import ContinuationRuntime
from dragoman.inference.runtimes.ctc import CTCRuntime
from dragoman.inference.runtimes.exported import ExportRuntime
from dragoman.inference.text_scoring import Sliding, TextScorer, Window
from dragoman.models.bundle import Bundle
from dragoman.tasks.task import Answer, Answerer

PROMPTS, WRITTEN = 16, 16  # texts that a language model continues, and the tokens that it adds


@dataclass(frozen=True)
class AnswerProof:
    origin: str  # of the examples
    searches: dict[str, Agreement]
    worst_token: float | None = None  # of a language model: the largest relative difference between log p


def prove_answers(bundle: Bundle, ours: Answerer, theirs: Answerer, file: Path) -> AnswerProof:
    """Compare the answers of PyTorch with those of an export; raise ModelError if they differ."""
    match ours, theirs:
        case CTCRuntime(), CTCRuntime():
            proof = prove_transcriptions(bundle, ours, theirs)
        case ContinuationRuntime(), ContinuationRuntime():
            proof = prove_language_model(bundle, ours, theirs, file)
        case _:
            texts, origin = sources(bundle)
            proof = AnswerProof(origin, {"answers": compare(ours(texts), theirs(texts))})
    for name, agreement in proof.searches.items():
        refuse(agreement, name, file)
    return proof


def prove_transcriptions(bundle: Bundle, ours: CTCRuntime, theirs: CTCRuntime) -> AnswerProof:
    rows, origin = signals(bundle)
    searches = {"best path": GREEDY, "beam 5": BEAM_5.model_copy(update={"n_best": 5})}
    found = {
        name: compare(ours.transcribe(rows, search), theirs.transcribe(rows, search))
        for name, search in searches.items()
    }
    return AnswerProof(origin, found)


def prove_language_model(
    bundle: Bundle, ours: ContinuationRuntime, theirs: ContinuationRuntime, file: Path
) -> AnswerProof:
    worst = worst_token(bundle, ours, theirs)
    if not worst <= TOKEN:
        raise mismatch(f"log p of a token differs by {worst:.2g}", file, f"at most {TOKEN:g}")
    texts, origin = running_texts(bundle)
    tgt = bundle.text.tgt
    longest = min(ROW, max(bundle.longest_target - WRITTEN, 1))
    rows = [tgt.encode(text)[:longest] for text in texts[:PROMPTS]]
    prompts = [tgt.decode(row[: 1 + n % longest]) for n, row in enumerate(rows)]
    # An engine takes a beginning as tokens, and a beam of torch as text, which may be split in several ways.
    searches: dict[str, tuple[SearchConfig, list[str]]] = {
        "greedy": (GREEDY, prompts),
        "beam 5": (BEAM_5, [""]),
    }
    found = {}
    for name, (search, begun) in searches.items():
        limited = search.model_copy(update={"max_length": WRITTEN})
        found[name] = compare(ours(begun, limited), theirs(begun, limited))
    return AnswerProof(origin, found, worst)


def worst_token(bundle: Bundle, ours: ContinuationRuntime, theirs: ContinuationRuntime) -> float:
    """Return the largest difference between log p of a token, in texts that have every token.

    The export has two graphs, of whole texts and of steps.
    """
    rows = every_entry(bundle.text.tgt.size, min(ROW, bundle.longest_target))
    windows = [Window(row, len(row)) for row in rows]
    mine, whole = (
        TextScorer(one.log_p, bundle.text.tgt, Sliding(ROW, ROW)).log_p(windows) for one in (ours, theirs)
    )
    assert isinstance(theirs.runtime, ExportRuntime)
    steps = theirs.runtime.engine.score([[row[0]] for row in rows], rows)
    return max(worst_of(mine, whole), worst_of(mine, steps))


def compare(ours: Sequence[Answer], theirs: Sequence[Answer]) -> Agreement:
    """Compare the texts of answers, and all numbers of those whose texts are the same."""
    found = Agreement(len(ours))
    for a, b in zip(ours, theirs, strict=True):
        if a.text == b.text:
            found.same += 1
            found.worst = max(found.worst, largest_gap([*numbers(a.asdict())], [*numbers(b.asdict())]))
    return found


def numbers(value: Any) -> Iterator[float]:
    """Yield all numbers of an answer with a fraction, such as probabilities."""
    match value:
        case float():
            yield value
        case dict():
            yield from numbers([*value.values()])
        case list() | tuple():
            for inner in value:
                yield from numbers(inner)


def largest_gap(a: Sequence[float], b: Sequence[float]) -> float:
    """Return the largest difference; infinity if there are more numbers in one, or one is NaN."""
    if len(a) != len(b):
        return math.inf
    gaps = [0.0 if x == y else abs(x - y) for x, y in zip(a, b, strict=True)]
    return max((math.inf if math.isnan(gap) else gap for gap in gaps), default=0.0)


def refuse(agreement: Agreement, name: str, file: Path) -> None:
    if agreement.same < agreement.sentences:
        count = f"{agreement.same} of {agreement.sentences} outputs ({name}) are the same"
        raise mismatch(count, file, "all of them")
    if not agreement.worst <= SCORE:
        raise mismatch(f"a number of {name} differs by {agreement.worst:.2g}", file, f"at most {SCORE:g}")
