"""Sources that are pictures, sounds or series: drawn alone, and with the attention of a caption to them."""

from __future__ import annotations

from statistics import fmean

from dragoman.inspection.data import AttentionLayer, Matrix
from dragoman.inspection.pictures.labels import labelled
from dragoman.inspection.pictures.picture import Chart, Spec, strength, token_axis

WIDE, COLUMNS, ROWS = 760, 240, 40  # pixels; the most cells of a source that are drawn
LOW, HIGH = 80, 240  # pixels
DIGITS = 4


def frame_axis(frames: int) -> Spec:
    return {"type": "quantitative", "scale": {"domain": [0, frames], "nice": False}, "title": None}


def source_panel(source: Matrix, frames: int, x: Spec) -> Spec:
    """Return the features of the source as a picture of at most so many cells, low features at the bottom."""
    columns, rows = min(len(source), COLUMNS), min(len(source[0]), ROWS)
    values = []
    for column in range(columns):
        some = source[len(source) * column // columns : len(source) * (column + 1) // columns]
        for row in range(rows):
            low, high = (len(source[0]) * (row + more) // rows for more in (0, 1))
            values.append(
                {
                    "from": round(frames * column / columns, 3),
                    "to": round(frames * (column + 1) / columns, 3),
                    "row": row,
                    "value": round(fmean(v for one in some for v in one[low:high]), 3),
                }
            )
    y = {"field": "row", "type": "ordinal", "axis": None, "scale": {"padding": 0}}
    return {
        "data": {"values": values},
        "width": WIDE,
        "height": min(max(WIDE * len(source[0]) / len(source), LOW), HIGH),
        "mark": {"type": "rect", "clip": True},
        "encoding": {
            "x": {**x, "field": "from", "axis": None},
            "x2": {"field": "to"},
            "y": y,
            "color": {
                "field": "value",
                "type": "quantitative",
                "legend": None,
                "scale": {"interpolate": "rgb", "zero": False},
            },
        },
    }


def frame_attention(source: Matrix, layer: AttentionLayer) -> Chart:
    """Draw the source, and below it how much of each part every token of the caption reads."""
    frames = len(layer.keys)
    values = [
        {"from": key, "to": key + 1, "query": query, "weight": round(weight, DIGITS)}
        for query, row in enumerate(layer.mean)
        for key, weight in enumerate(row)
    ]
    x = frame_axis(frames)
    weights = {
        "data": {"values": values},
        "width": WIDE,
        "height": {"step": 24},
        "mark": {"type": "rect", "clip": True},
        "encoding": {
            "x": {**x, "field": "from", "title": "frame"},
            "x2": {"field": "to"},
            "y": token_axis("query", "queries"),
            "color": {
                "field": "weight",
                "type": "quantitative",
                "scale": strength(1.0, type="sqrt"),
                "legend": None,
            },
            "tooltip": [{"field": name} for name in ("from", "weight")],
        },
    }
    return Chart(
        "frames",
        "Attention to the parts of the source",
        "Above, the source. Each row below it is a token of the output and sums to 1: how much of each part "
        "of the source it reads, as the mean of the heads.",
        {
            "params": [{"name": "queries", "value": labelled(layer.queries)}],
            "vconcat": [source_panel(source, frames, x), weights],
            "spacing": 6,
            "resolve": {"scale": {"color": "independent"}},
        },
    )
