"""Parameter counts of textbooks and papers; large models are built without memory, on the meta device."""

import pytest
import torch
from torch import nn

from dragoman.config.model import ModelConfig
from dragoman.config.presets import PRESETS
from dragoman.models.build import build_model
from dragoman.models.heads.token import TokenHead
from dragoman.nn.attention.pooling import PositionBiasPooling
from dragoman.nn.cells.elman import ElmanCell
from dragoman.nn.cells.lstm import LSTMCell
from dragoman.nn.embedding import PlainEmbedding, embedding_matrix

V = 37_000  # "about 37000 tokens" of one shared vocabulary (Vaswani et al. 2017, section 5.1)


def dense(features: int, size: int) -> nn.Module:
    return TokenHead(embedding_matrix(size, features), smoothing=0.0)


def embedding(words: int, features: int) -> nn.Module:
    return PlainEmbedding(embedding_matrix(words, features), dropout=0.0)


TEXTBOOK: dict[str, tuple[list[nn.Module], list[int], int]] = {
    "Elman": ([ElmanCell(1, 2), dense(2, 1)], [8, 3], 11),
    "Elman, attention over 20 steps": (
        [ElmanCell(1, 2), PositionBiasPooling(20, 2), dense(2, 1)],
        [8, 22, 3],
        33,
    ),
    "LSTM by characters": (
        [LSTMCell(74, 256), LSTMCell(78, 256), dense(256, 78)],
        [338_944, 343_040, 20_046],
        702_030,
    ),
    "LSTM of two layers": (
        [LSTMCell(1, 100), LSTMCell(100, 100), dense(100, 2)],
        [40_800, 80_400, 202],
        121_402,
    ),
    "embedding and LSTM": (
        [embedding(20_000, 128), LSTMCell(128, 128)],
        [2_560_000, 131_584],
        2_691_584,
    ),
}


@pytest.mark.parametrize("name", TEXTBOOK)
def test_parts_have_the_textbooks_counts(name: str) -> None:
    """One bias a gate, as in the equations."""
    parts, expected, total = TEXTBOOK[name]
    counts = [sum(p.numel() for p in part.parameters()) for part in parts]
    assert counts == expected
    assert sum(counts) == total


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
