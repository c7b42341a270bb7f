"""Gather a report: measure and analyse the answers to a test set, and look into some of them.

Training writes one at its end, from the validation outputs it has kept.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from dragoman.analysis.error_analysis import LEXICON_PAIRS, ErrorAnalysis
from dragoman.arguments import known_keywords, paths_of
from dragoman.data.pair import Pair
from dragoman.errors import DragomanError
from dragoman.inference.model import Model
from dragoman.inspection.explanation import Explanation
from dragoman.reports.answered import Answered, as_scores, config_of
from dragoman.reports.measured_on import measured_on, validation_of
from dragoman.reports.report import Editing, EvaluationSet, Example, Explained, Gain, Report, Score
from dragoman.reports.run_card import name_of, run_card, run_of
from dragoman.reports.verdict import verdict
from dragoman.tasks.load import TaskModel, load
from dragoman.tasks.scores_text import ScoresText
from dragoman.training.progress import VALIDATION, recorded_progress
from dragoman.training.validation_outputs import read_outputs

NAME = "report.html"
# The report of a training: with more pairs, or less time left than reading them takes, they are not read.
MOST_PAIRS = 50_000
PAIRS_PER_SECOND = 3_000  # that are read and compared, on a slow core
SECONDS_BESIDES = 3.0  # for everything else

DRAWN = 10  # random examples
SEED = 1
LONGEST_EXPLAINED = 160  # characters: more do not fit into a picture
LISTED_LINES = 200  # of a text whose tokens are scored one by one
TOO_LARGE = (
    "The training data is not compared here, so that training ends soon: rare words, omissions, "
    "hallucinations and the nearest training pair are left out. dragoman show {name} -o report.html has them."
)
GONE = "The training data is not there any more, so what needs it is left out."


@dataclass(frozen=True)
class Effort:
    """What a report may cost: training data with more pairs is not read, a lexicon is learned from some of
    them, and some sentences are explained."""

    training_pairs: float = math.inf
    lexicon_pairs: int = LEXICON_PAIRS
    explained: int = 3


@dataclass(frozen=True)
class Findings:
    """What was measured on a test set."""

    scores: list[Score]
    gains: list[Gain]
    sentence_score: str
    sentences: list[Example]
    editing: Editing | None = None
    errors: ErrorAnalysis | None = None
    notes: tuple[str, ...] = ()


@known_keywords()
def report(
    model: Model | TaskModel | str | Path, *test: str | Path, languages: tuple[str, str] | None = None
) -> Report:
    """Report on a model, or its folder: run it on a test set, measure and analyse the result.

    Without files it is the test set of the model's settings, or else the validation pairs of its run.
    `languages` selects the two sides of a file with several languages.
    """
    loaded = model if isinstance(model, Model | TaskModel) else load(model)
    return report_on(loaded, *measured_on(loaded, paths_of(test, "test"), languages))


def write_report(out: Path, seconds_left: float = math.inf) -> Report | None:
    """Write the report of a finished run into its folder; None if the run decoded no validation pairs."""
    if read_outputs(out) is None:
        return None
    model = load(out, runtime="torch")
    pairs, test, outputs = validation_of(model)
    most = min(MOST_PAIRS, PAIRS_PER_SECOND * max(0.0, seconds_left - SECONDS_BESIDES))
    found = report_on(model, pairs, test, outputs, Effort(most, lexicon_pairs=5_000, explained=2))
    found.save(out / NAME)
    return found


def report_on(
    model: Model | TaskModel,
    pairs: Sequence[Pair],
    test: EvaluationSet,
    outputs: Sequence[str] | None = None,
    effort: Effort | None = None,
) -> Report:
    """Return the report of a model on the pairs; `outputs` are its answers, if they are known."""
    effort, out, card = effort or Effort(), run_of(model.folder), run_card(model.folder, config_of(model))
    if isinstance(model, TaskModel) and isinstance(model.task, ScoresText):
        found = text_findings(model, model.task, pairs)
    else:
        sources = [pair.src for pair in pairs]
        answers = list(outputs) if outputs is not None else [answer.text for answer in model(sources)]
        answered = Answered(model, sources, [pair.tgt for pair in pairs], answers)
        is_read = sum(corpus.read for corpus in card.corpora) <= effort.training_pairs
        notes = () if is_read else (TOO_LARGE.format(name=name_of(out)),)
        found = findings(answered, notes, effort.lexicon_pairs)
    explained, unseen = looked_into(model, found.sentences, effort.explained)
    curves = recorded_progress(out).curves
    held_out = next(curve for curve in curves.losses if curve.name == VALIDATION)
    return Report(
        name=name_of(out),
        verdict=verdict(test, found.scores, found.gains, held_out, found.editing),
        test=test,
        scores=tuple(found.scores),
        gains=tuple(found.gains),
        editing=found.editing,
        sentence_score=found.sentence_score,
        sentences=tuple(found.sentences),
        drawn=drawn(len(found.sentences)),
        errors=found.errors,
        curves=curves if held_out.points else None,
        explained=tuple(explained),
        run=card,
        notes=(*found.notes, *unseen),
    )


def findings(answered: Answered, notes: tuple[str, ...], lexicon_pairs: int) -> Findings:
    """Measure and analyse the answers. If there are notes, the training data is not to be read."""
    is_read = not notes
    errors = answered.errors(is_read, lexicon_pairs)
    outputs, values = answered.baselines(errors, is_read)
    scores = sorted(
        as_scores(answered.scores, values, answered.config.task),
        key=lambda one: one.metric != answered.main_metric,
    )
    if is_read and errors and errors.omissions is None:
        notes = (GONE,)
    return Findings(
        scores,
        list(answered.gains(outputs, values)),
        answered.sentence_score,
        answered.examples(errors),
        answered.editing(),
        errors,
        notes,
    )


def text_findings(model: TaskModel, task: ScoresText, pairs: Sequence[Pair]) -> Findings:
    """Measure how likely a text is; the score of a line is the geometric mean of the p of its tokens."""
    lines = []
    for pair in pairs[:LISTED_LINES]:
        if tokens := task.token_scores(model.answerer, pair.tgt):
            p = math.exp(math.fsum(log_p for _, log_p in tokens) / len(tokens))
            lines.append(Example(pair.line, 100 * p, pair.tgt, "", ""))
    scores = list(as_scores(task.score_text(model.answerer, pairs), {}, model.config.task))
    return Findings(scores, [], "mean p of a token, %", sorted(lines, key=lambda one: one.score))


def drawn(sentences: int) -> tuple[int, ...]:
    return tuple(sorted(random.Random(SEED).sample(range(sentences), min(DRAWN, sentences))))


def looked_into(
    model: Model | TaskModel, sentences: Sequence[Example], most: int
) -> tuple[list[Explained], list[str]]:
    """Explain some answers; or return why there is nothing to look into."""
    some = islice(chosen(sentences), most)
    try:
        return [Explained(why, one.line, explain(model, one.source)) for why, one in some], []
    except DragomanError as error:
        return [], [f"No answer was looked into: {error.what}"]


def chosen(sentences: Sequence[Example]) -> Iterator[tuple[str, Example]]:
    """Yield a typical sentence, one of the worst and one of the best, of those that fit into a picture."""
    fitting = [one for one in sentences if 0 < len(one.source) <= LONGEST_EXPLAINED]
    if not fitting:
        return
    worst, typical, best = fitting[0], fitting[len(fitting) // 2], fitting[-1]
    yield "a typical sentence", typical
    if worst.score < typical.score:
        yield "one of the worst", worst
    if best.score > typical.score:
        yield "one of the best", best


def explain(model: Model | TaskModel, text: str) -> Explanation:
    return model.explain(text, saliency=False) if isinstance(model, Model) else model.explain(text)
