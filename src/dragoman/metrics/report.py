"""ScoreReport: the metrics of one system, in one table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dragoman.errors import DataError, UsageError
from dragoman.metrics import bleu, chrf
from dragoman.metrics.corpus_score import CorpusScore
from dragoman.metrics.error_rates import cer, wer
from dragoman.metrics.exact_match import exact_match
from dragoman.metrics.names import USUAL, known_metrics
from dragoman.metrics.sacrebleu_bootstrap import corpus_score
from dragoman.metrics.table import BY_SACREBLEU, OF_LABELS, OF_SOURCES, measure_of


@dataclass(frozen=True)
class ScoreReport:
    """The scores of a system, from 0 to 100; `exact_match`, `wer` and `cer` are percentages.

    Error rates may exceed 100.
    """

    scores: dict[str, CorpusScore]
    sentences: int

    def _rows(self) -> list[tuple[str, str, str, str]]:
        """Return metric, value, and lower and upper bound of the interval."""
        figures = {name: (score.value, *score.interval) for name, score in self.scores.items()}
        return [(name, f"{a:.4g}", f"{b:.4g}", f"{c:.4g}") for name, (a, b, c) in figures.items()]

    def __repr__(self) -> str:
        rows = (f"{name} {value} [{low}, {high}]" for name, value, low, high in self._rows())
        return f"Report({', '.join(rows)}; {self.sentences:,} sentences)"

    def _repr_html_(self) -> str:
        rows = (
            f"<tr><td>{n}</td><td>{v}</td><td>{low} – {high}</td></tr>" for n, v, low, high in self._rows()
        )
        head = "<tr><th>metric</th><th>value</th><th>95 % interval</th></tr>"
        return f"<table>{head}{''.join(rows)}</table>"

    def asdict(self) -> dict[str, Any]:
        return {
            **{name: score.value for name, score in self.scores.items()},
            "signature": {name: s.signature for name, s in self.scores.items() if s.signature},
            "intervals": {name: list(score.interval) for name, score in self.scores.items()},
            "sentences": self.sentences,
        }


def values(
    hypotheses: Sequence[str], references: Sequence[str], *, lowercase: bool = False
) -> dict[str, float]:
    """Return the scores that validation needs, without intervals and without metrics that take long."""
    check(hypotheses, references)
    outputs, wanted = (as_compared(side, lowercase=lowercase) for side in (hypotheses, references))
    return {
        "bleu": float(bleu.metric(wanted).corpus_score(outputs, [wanted]).score),
        "chrf": float(chrf.metric().corpus_score(outputs, [wanted]).score),
        "exact_match": exact_match(outputs, wanted).percent,
        "wer": wer(outputs, wanted).percent,
        "cer": cer(outputs, wanted).percent,
    }


def signatures(references: Sequence[str]) -> dict[str, str]:
    """Return the signatures of sacreBLEU's metrics. They are available only after scoring."""
    found = {}
    for name, make in BY_SACREBLEU.items():
        metric = make(references)
        metric.corpus_score(["a"], [["a"]])
        found[name] = str(metric.get_signature())
    return found


def score(
    hypotheses: Sequence[str],
    *references: Sequence[str],
    lowercase: bool = False,
    metrics: Sequence[str] = USUAL,
    sources: Sequence[str] = (),
) -> ScoreReport:
    """Measure the outputs against one or more references for each."""
    names = checked_metrics(metrics, hypotheses, references, sources)
    return measured(names, sources, hypotheses, *references, lowercase=lowercase)


def measured(
    names: Sequence[str],
    sources: Sequence[str],
    hypotheses: Sequence[str],
    *references: Sequence[str],
    lowercase: bool,
) -> ScoreReport:
    """Return the scores of metrics that `checked_metrics` accepts."""
    origins, outputs, *wanted = (
        as_compared(side, lowercase=lowercase) for side in (sources, hypotheses, *references)
    )
    scores = {
        name: corpus_score(BY_SACREBLEU[name](references[0], lowercase=lowercase), hypotheses, *references)
        if name in BY_SACREBLEU
        else measure_of(name, origins)(outputs, *wanted).score()
        for name in names
    }
    return ScoreReport(scores, len(hypotheses))


def as_compared(texts: Sequence[str], *, lowercase: bool) -> list[str]:
    return [text.lower() if lowercase else text for text in texts]


def checked_metrics(
    asked: Sequence[str], outputs: Sequence[str], references: Sequence[Sequence[str]], sources: Sequence[str]
) -> list[str]:
    """Return the names of the metrics, if they can be computed from what there is."""
    names = known_metrics(asked)
    for one in references:
        check(outputs, one)
    for name in names:
        if name in OF_LABELS and len(references) > 1:
            raise UsageError(
                f"{name} compares with one reference, and there are {len(references)}.",
                where="the references",
                hint=f"Give one reference, or leave {name} out.",
            )
        if name in OF_SOURCES and len(sources) != len(outputs):
            raise UsageError(
                f"{name} needs the source of each output: there are {len(sources):,} for {len(outputs):,}.",
                where="the test set",
                expected="both sides of the test set",
                hint=f"dragoman score test.src test.tgt --hyp FILE --metrics {name}",
            )
    return names


def check(hypotheses: Sequence[str], references: Sequence[str]) -> None:
    if len(hypotheses) != len(references):
        raise DataError(
            f"There are {len(hypotheses):,} outputs for {len(references):,} references.",
            expected="one output for each reference, line for line",
            hint="Count the lines: wc -l FILE",
        )
    if not any(reference.strip() for reference in references):
        raise DataError(
            "There is no reference to score against.",
            expected="a test set with text on its target side",
            hint="dragoman score MODEL test.src test.tgt",
        )
