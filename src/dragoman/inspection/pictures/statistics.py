"""Charts of many sentences: learning curves, quality by length, calibration, confusions; and positions."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.inspection.data import ConfusionCounts, Curve, LearningCurves, Positions, Reliability
from dragoman.inspection.pictures.labels import label, labelled
from dragoman.inspection.pictures.picture import Chart, Spec, cells_with_text, signed, slant, token_axis

WIDE, HIGH = 420, 240
CELLS = 64  # positions and features that are drawn


def learning_curves(found: LearningCurves) -> Chart:
    panels = [
        lines("Loss per token", found.losses, x="updates", y="loss"),
        lines("Validation, decoded", found.metrics, x="updates", y="score"),
    ]
    return Chart(
        "curves",
        "Learning curves",
        "The loss of the training data and of the validation pairs, and the metrics of the outputs for them.",
        {"hconcat": [panel for panel in panels if panel["layer"][0]["data"]["values"]]},
    )


def quality_by_length(curves: Sequence[Curve], metric: str, unit: str) -> Chart:
    """Draw a line for each system: its score in buckets of the length of the source, with intervals."""
    return Chart(
        "length",
        f"{metric} by the length of the source",
        "Each point is a bucket with about the same number of sentences; a band is its 95 % interval. A line "
        "that falls is a model that loses the beginning of long sentences.",
        lines("", curves, x=f"{unit} of the source", y=metric),
    )


def lines(title: str, curves: Sequence[Curve], *, x: str, y: str) -> Spec:
    values = [{"line": label(curve.name), "x": a, "y": b} for curve in curves for a, b in curve.points]
    bands = [
        {"line": label(curve.name), "x": a, "low": low, "high": high}
        for curve in curves
        for (a, _), (low, high) in zip(curve.points, curve.band, strict=False)
    ]
    across = {"field": "x", "type": "quantitative", "title": x, "scale": {"zero": False}}
    up = {"type": "quantitative", "title": y}
    colour = {
        "field": "line",
        "type": "nominal",
        "sort": None,
        "title": None,
        "legend": {"orient": "bottom"},
    }
    band = {
        "data": {"values": bands},
        "mark": {"type": "area", "opacity": 0.15},
        "encoding": {"x": across, "y": {**up, "field": "low"}, "y2": {"field": "high"}, "color": colour},
    }
    return {
        "title": {"text": title, "fontSize": 12} if title else None,
        "width": WIDE,
        "height": HIGH,
        "layer": [
            {
                "data": {"values": values},
                "mark": {"type": "line", "point": len(values) <= 60 * len(curves)},
                "encoding": {
                    "x": across,
                    "y": {**up, "field": "y"},
                    "color": colour,
                    "tooltip": [{"field": name} for name in ("line", "x", "y")],
                },
            },
            *([band] if bands else []),
        ],
    }


def reliability(found: Reliability) -> Chart:
    """Draw how often answers of a confidence are right; on the diagonal, as often as the model says."""
    bins = zip(found.confidence, found.accuracy, found.count, strict=True)
    values = [{"confidence": c, "accuracy": a, "count": n} for c, a, n in bins if n]
    ends = [{"confidence": end, "accuracy": end} for end in (0, 1)]
    x = {"field": "confidence", "type": "quantitative", "scale": {"domain": [0, 1]}}
    y = {"field": "accuracy", "type": "quantitative", "scale": {"domain": [0, 1]}}
    return Chart(
        "calibration",
        f"Calibration: expected error {found.error:.3f}",
        "A point is a group of answers with about the same confidence, as large as their number. On the "
        "diagonal they are right as often as the model says; below it, the model is too confident.",
        {
            "width": 320,
            "height": 320,
            "layer": [
                {
                    "data": {"values": ends},
                    "mark": {"type": "line", "style": "faint", "strokeDash": [4, 4]},
                    "encoding": {"x": x, "y": y},
                },
                {"data": {"values": values}, "mark": "line", "encoding": {"x": x, "y": y}},
                {
                    "data": {"values": values},
                    "mark": {"type": "point", "filled": True, "opacity": 1},
                    "encoding": {
                        "x": x,
                        "y": y,
                        "size": {"field": "count", "type": "quantitative", "title": "answers"},
                        "tooltip": [{"field": name} for name in ("confidence", "accuracy", "count")],
                    },
                },
            ],
        },
    )


def confusion(found: ConfusionCounts) -> Chart:
    """Draw how often each label is predicted as each, in shares of its row."""
    names = labelled(found.labels)
    values = [
        {"wanted": i, "predicted": j, "share": round(n / max(sum(row), 1), 4), "shown": str(n) if n else ""}
        for i, row in enumerate(found.counts)
        for j, n in enumerate(row)
    ]
    place = {
        "x": token_axis("predicted", "labels", **slant(names, above=True)),
        "y": token_axis("wanted", "labels"),
    }
    return Chart(
        "confusion",
        "Confusions: wanted (rows) and predicted (columns)",
        "The number of examples of a label that were predicted as each; the colour is its share of the row.",
        {
            "params": [{"name": "labels", "value": names}],
            "data": {"values": values},
            "width": {"step": 34},
            "height": {"step": 24},
            "encoding": place,
            "layer": cells_with_text("share", "shown", 1.0),
        },
    )


def positional_encodings(tables: Sequence[Positions]) -> Chart:
    return Chart(
        "positions",
        "Positional encodings",
        "A row is a position, a column a feature. Sinusoids are fast on the left of each half, sines before "
        "cosines, and slow on its right; learned vectors have no order of features.",
        {"hconcat": [position_panel(table) for table in tables]},
    )


def position_panel(table: Positions) -> Spec:
    rows = [row[:: max(len(row) // CELLS, 1)] for row in table.vectors[:CELLS]]
    values = [
        {"position": t, "feature": i * max(len(table.vectors[0]) // CELLS, 1), "value": round(value, 3)}
        for t, row in enumerate(rows)
        for i, value in enumerate(row)
    ]
    most = max((abs(value) for row in rows for value in row), default=0.0) or 1.0
    few = {"labelOverlap": True, "labelAngle": 0, "ticks": False, "domain": False}
    return {
        "title": {"text": f"{label(table.name, 40)}, {table.kind}", "fontSize": 12},
        "data": {"values": values},
        "width": {"step": 5},
        "height": {"step": 5},
        "mark": "rect",
        "encoding": {
            "x": {"field": "feature", "type": "ordinal", "axis": few},
            "y": {"field": "position", "type": "ordinal", "axis": few},
            "color": {
                "field": "value",
                "type": "quantitative",
                "scale": signed(most),
                "legend": {"title": None, "gradientLength": 90, "tickCount": 3},
            },
        },
    }
