"""Verdicts of good, middling and useless models, by task: what a person reads first."""

from __future__ import annotations

import pytest

from dragoman.inspection.data import Curve
from dragoman.reports.report import Contrast, Editing, EvaluationSet, Gain, RunCard, Score, System
from dragoman.reports.verdict import contrasted, editing_text, learning, verdict

VALIDATION, TEST = "validation set", "test set"
COPY, NEAREST, LABEL, TAG, HMM = (
    "copy of the source",
    "nearest training pair",
    "most frequent label",
    "most frequent tag",
    "HMM",
)
FELL = tuple((100.0 * n, loss) for n, loss in enumerate([4.0, 3.0, 2.0, 1.5, 1.0], start=1))
ROSE = tuple((100.0 * n, loss) for n, loss in enumerate([4.0, 1.0, 2.0, 2.0, 2.0], start=1))
FLAT = tuple((100.0 * n, loss) for n, loss in enumerate([4.0, 2.0, 1.0, 1.0, 1.0], start=1))

# metric, title, unit, is an error, what it counts
EXACT = ("exact_match", "exact match", "%", False, "examples")
LABELS = ("accuracy", "accuracy", "%", False, "examples")
TAGS = ("accuracy", "accuracy", "%", False, "tags")
BLEU = ("bleu", "BLEU", "", False, "")
CER = ("cer", "CER", "%", True, "characters")
SPANS = ("span_f1", "span F1", "", False, "")
PERPLEXITY = ("perplexity", "perplexity", "", True, "")


def measured(
    metric: tuple[str, str, str, bool, str], value: float, interval: tuple[float, float], **baselines: float
) -> Score:
    name, title, unit, is_error, counted = metric
    return Score(name, title, value, interval, unit, is_error, "", baselines, counted)


def said(
    score: Score,
    test: tuple[str, int, str],
    curve: tuple[tuple[float, float], ...] = FLAT,
    gains: tuple[tuple[str, float, float], ...] = (),
    editing: Editing | None = None,
) -> str:
    kind, size, items = test
    found = [
        Gain(score.metric, score.title, name, score.value - score.baselines[name], (low, high))
        for name, low, high in gains
    ]
    return verdict(EvaluationSet(kind, (), size, items), [score], found, Curve("validation", curve), editing)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        pytest.param(
            said(
                measured(EXACT, 100.0, (96.3, 100.0), **{COPY: 0.0}),
                (VALIDATION, 100, "examples"),
                FELL,
                ((COPY, 100.0, 100.0),),
            ),
            "All 100 held-out examples are right: of new ones expect at least 96 %. "
            "Copying the source gets none.",
            id="dates, perfect",
        ),
        pytest.param(
            said(
                measured(EXACT, 62.4, (58.1, 66.5), **{COPY: 0.0, NEAREST: 4.0}),
                (TEST, 500, "examples"),
                FELL,
                ((COPY, 58.0, 66.6), (NEAREST, 54.0, 62.6)),
            ),
            "312 of 500 test examples are right (62 %); the nearest training pair gets 20. "
            "Its validation loss was still falling when training stopped, so longer training should help.",
            id="dates, middling",
        ),
        pytest.param(
            said(
                measured(EXACT, 0.0, (0.0, 0.8), **{COPY: 0.0}),
                (VALIDATION, 500, "examples"),
                FLAT,
                ((COPY, 0.0, 0.0),),
            ),
            "None of the 500 held-out examples is right; copying the source gets none, either.",
            id="dates, useless",
        ),
        pytest.param(
            said(
                measured(EXACT, 0.7, (0.3, 1.4), **{COPY: 0.0}),
                (TEST, 1000, "examples"),
                FLAT,
                ((COPY, 0.2, 1.2),),
            ),
            "Not usable yet: 7 of 1,000 test examples are right (0.7 %); copying the source gets none.",
            id="dates, hardly begun",
        ),
        pytest.param(
            said(
                measured(BLEU, 34.2, (33.0, 35.4), **{COPY: 3.1, NEAREST: 8.0}),
                (TEST, 1000, "sentences"),
                FLAT,
                ((COPY, 29.8, 32.4), (NEAREST, 24.9, 27.5)),
                Editing(210, 400, 390),
            ),
            "34.2 BLEU on 1,000 test sentences; the nearest training pair gets 8.0.",
            id="translation, good",
        ),
        pytest.param(
            said(
                measured(BLEU, 2.5, (2.1, 2.9), **{COPY: 0.4}),
                (VALIDATION, 500, "sentences"),
                FELL,
                ((COPY, 1.7, 2.5),),
                Editing(0, 10, 490),
            ),
            "Not usable yet: 2.5 BLEU on 500 held-out sentences; copying the source gets 0.4. "
            "Its validation loss was still falling when training stopped, so longer training should help.",
            id="translation, better than nothing and useless",
        ),
        pytest.param(
            said(
                measured(BLEU, 8.2, (7.5, 8.9), **{NEAREST: 8.0}),
                (TEST, 1000, "sentences"),
                ROSE,
                ((NEAREST, -0.6, 1.0),),
                Editing(20, 200, 780),
            ),
            "No clear gain over the nearest training pair: 8.2 BLEU on 1,000 test sentences, "
            "against 8.0. Its validation loss rose after update 200 of 500: more data should help, "
            "more time will not.",
            id="translation, no better than a translation memory",
        ),
        pytest.param(
            said(
                measured(BLEU, 2.1, (1.8, 2.4), **{COPY: 3.1}),
                (TEST, 1000, "sentences"),
                FLAT,
                ((COPY, -1.4, -0.6),),
                Editing(0, 10, 990),
            ),
            "Worse than copying the source: 2.1 BLEU on 1,000 test sentences, against 3.1.",
            id="translation, worse than nothing",
        ),
        pytest.param(
            said(
                measured(SPANS, 81.3, (78.0, 84.0), **{TAG: 55.0, HMM: 70.2}),
                (TEST, 300, "sentences"),
                FLAT,
                ((TAG, 23.0, 29.0), (HMM, 8.0, 14.0)),
            ),
            "81.3 span F1 on 300 test sentences; a hidden Markov model gets 70.2.",
            id="names in sentences, good",
        ),
        pytest.param(
            said(
                measured(TAGS, 88.0, (87.0, 89.0), **{TAG: 90.1}),
                (TEST, 300, "sentences"),
                FLAT,
                ((TAG, -3.0, -1.2),),
            ),
            "Worse than the most frequent tag of each word: 88 % of the tags in 300 test sentences are "
            "right, against 90 %.",
            id="tags, useless",
        ),
        pytest.param(
            said(
                measured(LABELS, 99.6, (98.0, 99.9), **{LABEL: 14.2}),
                (TEST, 500, "examples"),
                FELL,
                ((LABEL, 82.0, 88.0),),
            ),
            "498 of 500 test examples are right (99.6 %); always answering with the most frequent label "
            "gets 71.",
            id="classes, good",
        ),
        pytest.param(
            said(measured(CER, 83.25, (80.0, 86.0)), (VALIDATION, 300, "examples"), FELL),
            "Not usable yet: 83.2 of 100 characters are wrong in 300 held-out examples (CER). "
            "Its validation loss was still falling when training stopped, so longer training should help.",
            id="transcription, useless",
        ),
        pytest.param(
            said(measured(PERPLEXITY, 42.13, (40.0, 44.0)), (VALIDATION, 200, "lines")),
            "On 200 held-out lines it is as unsure of each token as if it chose among 42 equally likely "
            "ones (perplexity 42.1).",
            id="language model, middling",
        ),
    ],
)
def test_a_verdict_says_the_result_first(found: str, expected: str) -> None:
    assert found == expected


@pytest.mark.parametrize(
    ("value", "sentences", "expected"),
    [
        (100.0, 1, "The only test example is right: of new ones expect at least 20 %."),
        (0.0, 1, "Not usable yet: the only test example is wrong."),
        (0.04, 2500, "Not usable yet: 1 of 2,500 test examples is right (0.04 %)."),
        (99.96, 2500, "2,499 of 2,500 test examples are right (99.96 %)."),
        (99.5, 200, "199 of 200 test examples are right (99.5 %)."),
    ],
)
def test_few_examples_and_nearly_all_or_none_of_many(value: float, sentences: int, expected: str) -> None:
    assert said(measured(EXACT, value, (20.7, 100.0)), (TEST, sentences, "examples")) == expected


def test_one_sentence_is_one() -> None:
    assert EvaluationSet(TEST, (), 1).described == "1 sentence of the test set"
    assert EvaluationSet(TEST, (), 1000).described == "1,000 sentences of the test set"


@pytest.mark.parametrize(
    ("losses", "expected"), [(FELL, "still falling"), (FLAT, ""), (ROSE, "rose after"), (FELL[:2], "")]
)
def test_a_verdict_says_what_would_help(losses: tuple[tuple[float, float], ...], expected: str) -> None:
    found = learning(Curve("validation", losses))
    assert expected in found
    assert bool(found) == bool(expected)


@pytest.mark.parametrize(
    ("editing", "expected"),
    [
        (Editing(209, 402, 389), "Of 100 sentences you would leave 21, edit 40 and retype 39."),
        (Editing(1, 1, 1000), "Of 100 sentences you would leave 0, edit 0 and retype 100."),
        (Editing(334, 333, 333), "Of 100 sentences you would leave 34, edit 33 and retype 33."),
        (Editing(12, 20, 8), "Of 40 sentences you would leave 12, edit 20 and retype 8."),
        (Editing(0, 1, 0), "Of 1 sentence you would leave 0, edit 1 and retype 0."),
    ],
)
def test_sentences_to_edit_are_given_of_a_hundred(editing: Editing, expected: str) -> None:
    assert editing_text(editing) == expected


@pytest.mark.parametrize(
    ("difference", "p", "is_better", "expected"),
    [
        (3.2, 0.0009, True, "wide is better than small: BLEU 34.2 against 31.0, a difference of +3.2 "),
        (-3.2, 0.01, False, "wide is worse than small: BLEU 27.8 against 31.0, a difference of −3.2 "),
        (
            0.3,
            0.41,
            None,
            "wide is not clearly different from small: BLEU 31.3 against 31.0, a difference",
        ),
        (
            -0.04,
            0.41,
            None,
            "wide is not clearly different from small: BLEU 31.0 against 31.0, a difference of +0.0 ",
        ),
        (0.0, 1.0, None, "wide scores the same as small: BLEU 31.0."),
    ],
)
def test_a_comparison_has_both_values(
    difference: float, p: float, is_better: bool | None, expected: str
) -> None:
    run = RunCard("translate", "", (), "", "", True, 1, {}, {})
    systems = [
        System(name, (measured(BLEU, value, (0.0, 50.0)),), run)
        for name, value in (("small", 31.0), ("wide", 31.0 + difference))
    ]
    one = Contrast("wide", "bleu", "BLEU", difference, p, is_better, (difference - 1, difference + 1))
    assert contrasted([one], systems).startswith(expected)
