"""The step table: what was written, how probable it was, and the most likely alternatives."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.inspection.data import OutputStep
from dragoman.inspection.pictures.labels import label, labelled
from dragoman.inspection.pictures.picture import Chart, Spec, cells_with_text, token_axis

CELL, ROW = 128, 24


def step_table(steps: Sequence[OutputStep]) -> Chart:
    """Draw a row for each step: the most likely tokens from left to right, then the entropy."""
    tokens, y = labelled([step.token for step in steps]), token_axis("step", "tokens")
    return Chart(
        "steps",
        "Steps: the most likely tokens, and the entropy of each step",
        "A row is one step: left the token that was written, then the most likely tokens with their "
        "probabilities. The entropy, in nats, is 0 if only one token was possible.",
        {
            "params": [{"name": "tokens", "value": tokens}],
            "hconcat": [choices_panel(steps, y), entropy_panel(steps, y)],
        },
    )


def choices_panel(steps: Sequence[OutputStep], y: Spec) -> Spec:
    every = [(t, rank, one) for t, step in enumerate(steps) for rank, one in enumerate(step.top, start=1)]
    values = [
        {"step": t, "rank": rank, "p": round(one.p, 4), "shown": f"{label(shown, 12)}  {one.p:.2f}"}
        for (t, rank, one), shown in zip(every, labelled([one.token for *_, one in every]), strict=True)
    ]
    x = {"field": "rank", "type": "ordinal", "axis": {"labelAngle": 0, "orient": "top"}}
    return {
        "data": {"values": values},
        "width": {"step": CELL},
        "height": {"step": ROW},
        "encoding": {"x": x, "y": y},
        "layer": cells_with_text("p", "shown", 1.0),
    }


def entropy_panel(steps: Sequence[OutputStep], y: Spec) -> Spec:
    axis = {"orient": "top", "tickCount": 2, "format": ".2~g"}
    return {
        "data": {"values": [{"step": t, "entropy": round(s.entropy, 4)} for t, s in enumerate(steps)]},
        "width": 120,
        "height": {"step": ROW},
        "mark": {"type": "bar", "height": 8},
        "encoding": {
            "x": {"field": "entropy", "type": "quantitative", "title": "entropy", "axis": axis},
            "y": {**y, "axis": None},
        },
    }
