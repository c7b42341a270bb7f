"""Compare models on one test set: paired tests against the first, and the sentences whose outputs differ."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from dragoman.arguments import known_keywords, paths_of, wrong_type
from dragoman.config.dump import leaves
from dragoman.config.root import Config
from dragoman.data.pair import Pair
from dragoman.errors import UsageError
from dragoman.inference.model import Model
from dragoman.inspection.data import Curve, LearningCurves
from dragoman.metrics.names import ALL_TITLES, ERRORS, TITLES
from dragoman.metrics.significance import compare as paired_tests
from dragoman.metrics.significance import difference_interval
from dragoman.reports.answered import COMPUTED_AS, Answered, as_scores
from dragoman.reports.measured_on import kept_outputs, measured_on
from dragoman.reports.report import ComparedSentence, Comparison, Contrast, EvaluationSet, System
from dragoman.reports.run_card import NOT_SETTINGS, name_of, run_card, run_of
from dragoman.reports.verdict import contrasted
from dragoman.tasks.load import TaskModel, load
from dragoman.tasks.scores_text import ScoresText
from dragoman.training.progress import VALIDATION, recorded_progress

CHANCE = 0.05  # differences with a larger p could be chance


@known_keywords()
def compare(
    models: Sequence[Model | TaskModel | str | Path],
    *test: str | Path,
    languages: tuple[str, str] | None = None,
) -> Comparison:
    """Compare models, or their folders, on a test set; the default is as for `report`."""
    if isinstance(models, str | Path) or len(models) < 2:
        raise wrong_type(
            "models", models, "two models or more", 'dragoman.compare(["old", "new"], "test.tsv")'
        )
    loaded = [one if isinstance(one, Model | TaskModel) else load(one) for one in models]
    pairs, on, _ = measured_on(loaded[0], paths_of(test, "test"), languages)
    return compare_on(loaded, pairs, on, [kept_outputs(model, pairs) for model in loaded])


def compare_on(
    models: Sequence[Model | TaskModel],
    pairs: Sequence[Pair],
    test: EvaluationSet,
    outputs: Sequence[Sequence[str] | None],
) -> Comparison:
    """Compare the models on the pairs; `outputs` are the answers of each, if they are known."""
    refuse_texts(models)
    sources, references = [pair.src for pair in pairs], [pair.tgt for pair in pairs]
    answered = [
        Answered(model, sources, references, list(found) if found is not None else answers(model, sources))
        for model, found in zip(models, outputs, strict=True)
    ]
    # All are measured alike: by the metrics of one task, and without capitals if a model has none.
    judge = next((one for one in answered if one.config.text.lowercase), answered[0])
    systems = [replace(judge, outputs=one.outputs) for one in answered]
    names = names_of(models)
    contrasts = [
        contrast
        for name, system in zip(names[1:], systems[1:], strict=True)
        for contrast in contrasts_of(name, system, systems[0])
    ]
    main = judge.main_metric
    measured = [
        System(
            name,
            tuple(as_scores(system.scores, {}, system.config.task)),
            run_card(one.model.folder, one.config),
        )
        for name, one, system in zip(names, answered, systems, strict=True)
    ]
    return Comparison(
        contrasted([one for one in contrasts if one.metric == main], measured),
        test,
        tuple(measured),
        tuple(contrasts),
        judge.sentence_score,
        tuple(sorted(sentences_of(systems), key=lambda one: -one.spread)),
        differing([one.config for one in answered]),
        validation_curves(names, models, main),
    )


def refuse_texts(models: Sequence[Model | TaskModel]) -> None:
    for model in models:
        if isinstance(model, TaskModel) and isinstance(model.task, ScoresText):
            raise UsageError(
                "Language models give no answers that could be compared sentence by sentence.",
                where=str(model.folder),
                hint=f"dragoman score {model.folder} TEST, for each of them",
            )


def answers(model: Model | TaskModel, sources: list[str]) -> list[str]:
    return [answer.text for answer in model(sources)]


def names_of(models: Sequence[Model | TaskModel]) -> list[str]:
    """Return the names of the run folders; numbered if two are the same."""
    names = [name_of(run_of(model.folder)) for model in models]
    if len(set(names)) == len(names):
        return names
    return [f"{name} ({number})" for number, name in enumerate(names, start=1)]


def contrasts_of(name: str, system: Answered, first: Answered) -> Iterator[Contrast]:
    task, lowercase = system.config.task, system.config.text.lowercase
    computed = {metric: COMPUTED_AS.get((task, metric), metric) for metric in first.scores.scores}
    known = {metric: as_ for metric, as_ in computed.items() if as_ in TITLES}
    sides = [system.tags_only(lines) for lines in (system.outputs, first.outputs, system.references)]
    rows = paired_tests(*sides, lowercase=lowercase, metrics=list(known.values()), sources=system.sources)
    for metric, row in zip(known, rows, strict=True):
        difference = row.system - row.baseline
        is_better = (difference < 0) == (metric in ERRORS)
        interval = None
        if metric == first.main_metric:
            interval = difference_interval(known[metric], *sides, lowercase=lowercase)
        yield Contrast(
            name,
            metric,
            ALL_TITLES[metric],
            difference,
            row.p_value,
            is_better if row.p_value < CHANCE else None,
            interval,
        )


def sentences_of(systems: Sequence[Answered]) -> Iterator[ComparedSentence]:
    """Yield the sentences whose outputs differ."""
    first = systems[0]
    measure = first.sentence_measure()
    outputs = zip(*(system.outputs for system in systems), strict=True)
    sides = zip(first.sources, first.references, outputs, strict=True)
    for line, (source, reference, found) in enumerate(sides, start=1):
        if len(set(found)) > 1:
            scores = tuple(measure(output, reference) for output in found)
            yield ComparedSentence(line, source, reference, found, scores)


def differing(configs: Sequence[Config]) -> dict[str, tuple[str, ...]]:
    """Return the settings of which two systems have different values; "" if one does not have it."""
    tables = [dict(leaves(config.model_dump(mode="json"))) for config in configs]
    found = {}
    for path in dict.fromkeys(path for table in tables for path in table):
        values = tuple(
            json.dumps(table[path], ensure_ascii=False) if table.get(path) is not None else ""
            for table in tables
        )
        name = ".".join(path)
        if len(set(values)) > 1 and not name.startswith(NOT_SETTINGS):
            found[name] = values
    return found


def validation_curves(
    names: Sequence[str], models: Sequence[Model | TaskModel], metric: str
) -> LearningCurves:
    losses, metrics = [], []
    for name, model in zip(names, models, strict=True):
        curves = recorded_progress(run_of(model.folder)).curves
        losses += [Curve(name, curve.points) for curve in curves.losses if curve.name == VALIDATION]
        metrics += [Curve(name, curve.points) for curve in curves.metrics if curve.name == ALL_TITLES[metric]]
    return LearningCurves(tuple(losses), tuple(metrics))
