"""Gradient flow: how much of the loss's gradient arrives at each layer and time step."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.inspection.data import GradientFlow, GradientLayer
from dragoman.inspection.pictures.cells import STEP
from dragoman.inspection.pictures.labels import labelled
from dragoman.inspection.pictures.picture import Chart, Spec, slant, token_axis

HEIGHT, FAINT = 220, 1e-12


def gradient_chart(flow: GradientFlow) -> Chart:
    """Draw ‖∂L/∂h_t‖₂ of every layer on a logarithmic axis; encoder and decoder have their own tokens."""
    sides = [
        [layer for layer in flow.layers if layer.name.startswith(side)] for side in ("encoder", "decoder")
    ]
    panels = [side for side in sides if side]
    tokens = [labelled(side[0].tokens) for side in panels]
    return Chart(
        "gradients",
        "Gradient of the loss, ‖∂L/∂h‖₂, over time and layers",
        "h is the output of a layer, or the state of a recurrent cell, to which the gradient has come back "
        "through all later states: a line that falls away from the token that was read last is a vanishing "
        "gradient. ‖W_hh‖₂ is the "
        "largest singular value of a recurrent matrix: a gradient through n steps of an Elman cell is at "
        "most its n-th power.",
        {
            "params": [{"name": "tokens", "value": tokens}],
            "vconcat": [panel(place, side) for place, side in enumerate(panels)],
            "resolve": {"scale": {"color": "independent"}},
        },
    )


def panel(place: int, layers: Sequence[GradientLayer]) -> Spec:
    values = [
        {"t": t, "layer": name_of(layer), "norm": max(norm, FAINT)}
        for layer in layers
        for t, norm in enumerate(layer.norms)
    ]
    return {
        "data": {"values": values},
        "width": {"step": STEP},
        "height": HEIGHT,
        "mark": {"type": "line", "point": True},
        "encoding": {
            "x": token_axis("t", f"tokens[{place}]", **slant(layers[0].tokens)),
            "y": {
                "field": "norm",
                "type": "quantitative",
                "scale": {"type": "log"},
                "title": "norm of the gradient",
                "axis": {"format": "~g", "tickCount": 5},
            },
            "color": {
                "field": "layer",
                "type": "nominal",
                "sort": None,
                "title": None,
                "legend": {"orient": "top", "direction": "vertical", "labelLimit": 600},
            },
            "tooltip": [{"field": name} for name in ("layer", "norm")],
        },
    }


def name_of(layer: GradientLayer) -> str:
    norms = ", ".join(f"{norm:.2f}" for norm in layer.recurrent)
    return f"{layer.name}, ‖W_hh‖₂ = {norms}" if norms else layer.name
