"""Gates and states over time: the mean and the spread of each gate, and the units that change most."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean, pvariance, quantiles

from dragoman.inspection.data import CellTrace, Matrix
from dragoman.inspection.pictures.labels import labelled
from dragoman.inspection.pictures.picture import Chart, Spec, signed, slant, token_axis

STEP, HEIGHT, UNIT, UNITS = 30, 130, 9, 16


def gate_traces(traces: Sequence[CellTrace]) -> Chart:
    """Draw the gates of each cell: a line for the mean over its units, a band for 80 % of them."""
    gated = [trace for trace in traces if trace.gates]
    return Chart(
        "gates",
        "Gates over time",
        "A line is the mean of a gate over the units of a cell, the band holds 80 % of them. A forget gate f "
        "near 1 keeps its cell state; an update gate u near 1 keeps the old h.",
        {
            "params": tokens_param(gated),
            "vconcat": [panel(place, trace) for place, trace in enumerate(gated)],
            "resolve": {"scale": {"color": "shared"}},
        },
    )


def panel(place: int, trace: CellTrace) -> Spec:
    values = [
        {"t": t, "gate": letter, **spread(row)}
        for letter, rows in trace.gates.items()
        for t, row in enumerate(rows)
    ]
    colour = {"field": "gate", "type": "nominal", "title": "gate"}
    x = token_axis("t", f"tokens[{place}]", **slant(trace.tokens))
    y = {"type": "quantitative", "title": None}
    return {
        "title": {"text": f"{trace.name}, {trace.kind}", "fontSize": 12},
        "data": {"values": values},
        "width": {"step": STEP},
        "height": HEIGHT,
        "encoding": {"x": x, "color": colour},
        "layer": [
            {
                "mark": {"type": "area", "opacity": 0.15},
                "encoding": {"y": {**y, "field": "low"}, "y2": {"field": "high"}},
            },
            {"mark": {"type": "line", "point": True}, "encoding": {"y": {**y, "field": "mean"}}},
        ],
    }


def spread(values: Sequence[float]) -> dict[str, float]:
    tenths = quantiles(values, n=10) if len(values) > 1 else [values[0]] * 9
    return {"mean": round(fmean(values), 4), "low": round(tenths[0], 4), "high": round(tenths[-1], 4)}


def state_traces(traces: Sequence[CellTrace]) -> Chart:
    """Draw, of each cell and convolution, the units whose values change most over the sentence."""
    return Chart(
        "states",
        f"States over time: the {UNITS} units that change most",
        "A row is one unit of a cell's h and c, or of a convolution's output; blue is positive, orange "
        "negative.",
        {
            "params": tokens_param(traces),
            "vconcat": [
                state_panel(place, trace, letter, rows)
                for place, trace in enumerate(traces)
                for letter, rows in trace.states.items()
            ],
            "resolve": {"scale": {"color": "independent"}},
        },
    )


def state_panel(place: int, trace: CellTrace, letter: str, rows: Matrix) -> Spec:
    changes = [pvariance(column) for column in zip(*rows, strict=True)]
    units = sorted(range(len(changes)), key=lambda unit: -changes[unit])[:UNITS]
    values = [{"t": t, "unit": u, "value": round(row[u], 4)} for t, row in enumerate(rows) for u in units]
    most = max((abs(value["value"]) for value in values), default=0.0) or 1.0
    return {
        "title": {"text": f"{trace.name}: {letter}", "fontSize": 12},
        "data": {"values": values},
        "width": {"step": STEP},
        "height": {"step": UNIT},
        "mark": "rect",
        "encoding": {
            "x": token_axis("t", f"tokens[{place}]", **slant(trace.tokens)),
            "y": {"field": "unit", "type": "ordinal", "sort": units, "axis": None},
            "color": {
                "field": "value",
                "type": "quantitative",
                "scale": signed(most),
                "legend": {"title": None, "gradientLength": 70, "tickCount": 3},
            },
            "tooltip": [{"field": name} for name in ("unit", "value")],
        },
    }


def tokens_param(traces: Sequence[CellTrace]) -> list[Spec]:
    return [{"name": "tokens", "value": [labelled(trace.tokens) for trace in traces]}]
