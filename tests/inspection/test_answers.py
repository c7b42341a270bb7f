"""Explanations of tags, labels and transcriptions, and the charts of many sentences."""

from __future__ import annotations

import json
import math
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from dragoman.config.load import validate
from dragoman.inference.runtimes.ctc import CTCRuntime
from dragoman.inspection.data import Curve, LearningCurves, Matrix
from dragoman.inspection.explanation import Explanation
from dragoman.inspection.pictures.answers import ctc_alignment
from dragoman.inspection.pictures.frames import source_panel
from dragoman.inspection.pictures.learning_curve import panels
from dragoman.inspection.pictures.line_chart import ticks
from dragoman.inspection.pictures.picture import Chart
from dragoman.inspection.pictures.statistics import (
    confusion,
    learning_curves,
    positional_encodings,
    quality_by_length,
    reliability,
)
from dragoman.inspection.positions import positions_of
from dragoman.inspection.statistics import confusion_of, curve_by_length, reliability_of
from dragoman.metrics.calibration import calibration_error
from dragoman.metrics.confusion import macro_f1
from dragoman.metrics.length_buckets import by_length
from dragoman.models.builders.network import new_model
from dragoman.models.bundle import Bundle
from dragoman.nn.position import sinusoids
from dragoman.tasks.answerers import build_answerer
from dragoman.tasks.explain import explain
from dragoman.text.build import learn
from support.pairs import model_of
from support.signals import write_pictures
from tasks.test_words_battery import model as words_model

LINE = "eins zwei vier fünf"


def drawn(chart: Chart) -> ET.Element:
    svg = chart.svg()
    assert "NaN" not in svg
    return ET.fromstring(svg)


def explained(name: str) -> tuple[Any, Explanation]:
    bundle = words_model(name)
    answerer = build_answerer(bundle)
    (answer,) = answerer([LINE])
    return answer, explain(answerer, LINE)


@pytest.mark.parametrize("name", ["crf", "crf and label", "tags transformer", "tags conv"])
def test_marginals_of_tags_are_the_probabilities_of_the_answer(name: str) -> None:
    answer, found = explained(name)
    assert found.output == answer.text
    assert found.tags is not None
    for row, word, tag in zip(found.tags.p, answer.words, found.tags.chosen, strict=True):
        assert sum(row) == pytest.approx(1.0, abs=1e-5)
        assert tag == word.tag
        assert row[found.tags.tags.index(tag)] == pytest.approx(word.p, abs=1e-5)
    assert [step.p for step in found.steps] == pytest.approx([word.p for word in answer.words], abs=1e-5)
    json.dumps(found.asdict(), allow_nan=False)


def test_the_chosen_tags_are_framed() -> None:
    _, found = explained("crf")
    chart = found.picture("tags")
    assert isinstance(chart, Chart)
    drawn(chart)
    assert found.tags is not None
    tags = chart.spec["params"][0]["value"]
    framed = [tags[row["tag"]] for row in chart.spec["layer"][-1]["data"]["values"]]
    assert framed == list(found.tags.chosen)
    assert {"tags", "steps", "gates", "states"} <= set(found.pictures)


@pytest.mark.parametrize("name", ["label 0", "label transformer"])
def test_a_label_has_its_pooling_weights(name: str) -> None:
    answer, found = explained(name)
    assert found.output == answer.text
    assert found.steps[0].p == pytest.approx(answer.p, abs=1e-5)
    (pooled,) = [layer for layer in found.attention if layer.kind == "pooling"]
    expected = [weight for _, weight in answer.weights]
    assert pooled.heads[0][0] == pytest.approx(expected, abs=1e-5)
    assert pooled.keys == tuple(token for token, _ in answer.weights)


def transcriber() -> CTCRuntime:
    config = validate(
        {
            "task": "transcribe",
            "data": {"train": "train.tsv"},
            "text": {"kind": "char"},
            "model": {
                "encoder": {"kind": "rnn", "layers": 1, "width": 16, "embedding": 16},
                "head": {"kind": "ctc", "split": 3},
            },
        }
    )
    text = learn(config.text, [("abcde", "ABKSDE")])
    network = new_model(config, text).eval()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.mul_(4.0)
    runtime = build_answerer(Bundle(config, text, network))
    assert isinstance(runtime, CTCRuntime)
    return runtime


def test_an_alignment_has_the_tokens_where_they_were_read() -> None:
    runtime = transcriber()
    (answer,) = runtime(["abcdeab"])
    found = explain(runtime, "abcdeab")
    assert found.output == answer.text
    assert found.ctc is not None
    assert [(t.token, t.start, t.end) for t in found.ctc.tokens] == [c[:3] for c in answer.characters]
    assert len(found.ctc.posteriors) == 3 * 8, "three frames for each letter and </s>"
    columns = sorted(set(answer.tokens))
    for token, id in zip(found.ctc.tokens, answer.tokens, strict=True):
        column = columns.index(id)
        assert found.ctc.labels[column] == runtime.text.tgt.piece(id)
        frames = [found.ctc.posteriors[frame][column] for frame in range(token.start, token.end)]
        assert sum(frames) / len(frames) == pytest.approx(token.confidence, abs=1e-5)
    drawn(ctc_alignment(found.ctc))


def test_the_source_of_an_alignment_is_reduced_to_means() -> None:
    source: Matrix = tuple(tuple(float(10 * t + f) for f in range(80)) for t in range(500))
    panel = source_panel(source, 125, {})
    values = panel["data"]["values"]
    assert len(values) == 240 * 40
    assert values[-1]["to"] == 125
    assert np.mean([v["value"] for v in values]) == pytest.approx(np.mean(source), rel=0.01)


def test_reliability_has_the_bins_of_the_calibration_error() -> None:
    found = reliability_of([0.05, 0.15, 0.95, 0.97, 1.0], [False, True, True, True, False])
    assert found.count == (1, 1, 0, 0, 0, 0, 0, 0, 0, 3)
    assert found.confidence[9] == pytest.approx(2.92 / 3)
    assert found.accuracy[9] == pytest.approx(2 / 3)
    gaps = [n * abs(a - c) for c, a, n in zip(found.confidence, found.accuracy, found.count, strict=True)]
    assert found.error == pytest.approx(sum(gaps) / 5)
    assert found.error == calibration_error([0.05, 0.15, 0.95, 0.97, 1.0], [0, 1, 1, 1, 0])
    drawn(reliability(found))


def test_confusions_are_counted() -> None:
    found = confusion_of(macro_f1(["a", "b", "b", "c"], ["a", "a", "b", "b"]))
    assert found.labels == ("b", "a", "c")
    assert found.counts == ((1, 0, 1), (1, 1, 0), (0, 0, 0))
    drawn(confusion(found))


def test_quality_by_length_has_a_point_for_each_bucket() -> None:
    sources = [" ".join(["x"] * n) for n in range(1, 31)]
    found = by_length(sources, sources, sources, metrics=["chrf"])
    curve = curve_by_length("copy", found, "chrf")
    assert len(curve.points) == len(found.buckets)
    assert all(score == pytest.approx(100.0) for _, score in curve.points)
    drawn(quality_by_length([curve], "chrF", found.unit))


def test_learning_curves_have_the_lines_of_a_run() -> None:
    run = LearningCurves((Curve("training", ((1.0, 3.0), (2.0, 2.0))),), (Curve("chrF", ((2.0, 50.0),)),))
    root = drawn(learning_curves(run))
    shown = {element.text for element in root.iter("{http://www.w3.org/2000/svg}text")}
    assert {"Loss per token", "training", "chrF"} <= shown


@pytest.mark.parametrize(("losses", "is_log"), [((9.0, 6.0, 3.5), False), ((4.0, 0.3, 0.012), True)])
def test_no_loss_is_cut_off(losses: tuple[float, ...], is_log: bool) -> None:
    curve = Curve("training", tuple(enumerate(losses, start=1)))
    (panel,) = panels(LearningCurves((curve,), ()))
    assert panel.y.log is is_log
    assert panel.y.low <= min(losses) < max(losses) <= panel.y.high
    assert len(ticks(panel.y)) >= 3


def test_a_loss_that_was_lost_has_no_place_on_the_chart() -> None:
    points = ((1.0, 3.0), (2.0, math.inf), (3.0, math.nan), (4.0, 2.0))
    run = LearningCurves((Curve("training", points), Curve("validation", points[1:3])), ())
    (panel,) = panels(run)
    assert [(line.label, line.points) for line in panel.lines] == [("training", [(1.0, 3.0), (4.0, 2.0)])]
    drawn(learning_curves(run))


def test_positions_are_the_tables_of_the_network() -> None:
    (found,) = positions_of(model_of(("transformer", "transformer")))
    assert found.kind == "sinusoidal"
    assert found.vectors == tuple(map(tuple, sinusoids(64, 16).tolist()))
    assert [table.kind for table in positions_of(model_of(("conv", "conv")))] == ["learned", "learned"]
    assert positions_of(model_of(("gru", "cho"))) == ()
    drawn(positional_encodings([found]))


def test_a_caption_attends_to_frames_by_their_numbers(tmp_path: Path) -> None:
    part = {"kind": "rnn", "layers": 1, "width": 16, "embedding": 16}
    config = validate(
        {
            "data": {"train": "train.tsv", "source": {"kind": "picture", "height": 16}},
            "text": {"kind": "char"},
            "model": {"encoder": part, "decoder": part},
            "search": {"max_length": 5},
        }
    )
    write_pictures(tmp_path, ["ab"])
    text = learn(config.text, [("", "abc")])
    answerer = build_answerer(Bundle(config, text, new_model(config, text).eval()))
    file = str(tmp_path / "train" / "0.png")
    found = explain(answerer, file)
    assert found.output == answerer([file])[0].text
    assert found.source == ()
    assert found.saliency == ()
    (cross,) = found.attention
    assert cross.keys == tuple(str(n) for n in range(1, len(cross.keys) + 1))
    assert cross.queries == found.tokens
    assert {"frames", "attention", "beam", "gates"} <= set(found.pictures)
    assert len(found.frames) >= len(cross.keys), "the columns of the picture"
    drawn(found.pictures["frames"])
