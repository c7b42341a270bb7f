"""Parameter counts of published models, built without memory on torch's meta device."""

import pytest
import torch

from dragoman.config.model import ModelConfig
from dragoman.config.presets import PRESETS
from dragoman.models.build import build_model

V = 37_000  # "about 37000 tokens" of one shared vocabulary (Vaswani et al. 2017, section 5.1)


def count(preset: str, **changes: str) -> int:
    table = PRESETS[preset]()
    for side in ("encoder", "decoder"):
        table[side] |= changes
    with torch.device("meta"):
        model = build_model(ModelConfig.model_validate(table), V, V, smoothing=0.1, seed=0)
    return sum(p.numel() for p in model.parameters())


def by_hand(d: int, ffn: int, layers: int = 6) -> int:
    """One matrix for source, target and output, and what stands in the paper's equations, with all biases:

    attention: four matrices d × d; feed-forward: two matrices d × d_ff; layer norm: a gain and a bias.
    An encoder layer has one attention, one feed-forward and two norms, a decoder layer two, one and three.
    """
    attention, feed_forward, norm = 4 * (d * d + d), 2 * d * ffn + ffn + d, 2 * d
    encoder = attention + feed_forward + 2 * norm
    decoder = 2 * attention + feed_forward + 3 * norm
    return V * d + layers * (encoder + decoder)


@pytest.mark.parametrize(
    ("preset", "exact", "published", "within"),
    [
        ("transformer-base", 63_082_496, 65e6, 0.03),
        ("transformer-big", 214_245_376, 213e6, 0.006),
    ],
)
def test_transformer_has_the_published_size(preset: str, exact: int, published: float, within: float) -> None:
    """The paper rounds: no one vocabulary gives both of its counts. Beyond it, we have a bias for each output
    token, and the pre-norm default has a norm on top of each side."""
    table = PRESETS[preset]()["encoder"]
    assert by_hand(table["width"], table["ffn"]) == exact
    assert count(preset, norm="post") == exact + V
    assert count(preset) == exact + V + 2 * 2 * table["width"]
    assert exact == pytest.approx(published, rel=within)
