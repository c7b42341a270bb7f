"""The step table: what was written, how probable it was, and the most likely alternatives."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.inspection.data import OutputStep
from dragoman.inspection.pictures.labels import label
from dragoman.inspection.pictures.picture import Chart, cells_with_text, token_axis

CELL, ROW = 128, 24


def step_table(steps: Sequence[OutputStep]) -> Chart:
    """Draw a row for each step: the most likely tokens from left to right, then the entropy."""
    tokens = [label(step.token) for step in steps]
    choices = [
        {
            "step": t,
            "rank": rank,
            "p": round(choice.p, 4),
            "shown": f"{label(choice.token, 12)} · {choice.p:.2f}",
        }
        for t, step in enumerate(steps)
        for rank, choice in enumerate(step.top, start=1)
    ]
    entropies = [{"step": t, "entropy": round(step.entropy, 4), "p": step.p} for t, step in enumerate(steps)]
    y = token_axis("step", "tokens")
    return Chart(
        "steps",
        "Steps: the most likely tokens, and the entropy of each step",
        "A row is one step: left the token that was written, then the most likely tokens with their "
        "probabilities. The entropy, in nats, is 0 if only one token was possible.",
        {
            "params": [{"name": "tokens", "value": tokens}],
            "hconcat": [
                {
                    "data": {"values": choices},
                    "width": {"step": CELL},
                    "height": {"step": ROW},
                    "encoding": {
                        "x": {"field": "rank", "type": "ordinal", "axis": {"labelAngle": 0, "orient": "top"}},
                        "y": y,
                    },
                    "layer": cells_with_text("p", "shown", 1.0),
                },
                {
                    "data": {"values": entropies},
                    "width": 120,
                    "height": {"step": ROW},
                    "mark": {"type": "bar", "height": 8},
                    "encoding": {
                        "x": {
                            "field": "entropy",
                            "type": "quantitative",
                            "title": "entropy",
                            "axis": {"orient": "top", "tickCount": 2, "format": ".2~g"},
                        },
                        "y": {**y, "axis": None},
                    },
                },
            ],
        },
    )
