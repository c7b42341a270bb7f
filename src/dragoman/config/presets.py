"""Named sizes: `model.preset` gives the defaults that any field of [model] may change."""

from __future__ import annotations

from typing import Any

Table = dict[str, Any]


def _transformer(*, layers: int, width: int, heads: int, ffn: int, dropout: float) -> Table:
    part = {
        "kind": "transformer",
        "layers": layers,
        "width": width,
        "heads": heads,
        "ffn": ffn,
        "dropout": dropout,
    }
    return {"encoder": part, "decoder": dict(part), "tied": "all"}


def transformer_tiny() -> Table:
    """Wu et al. 2021 on Multi30k."""
    return _transformer(layers=4, width=128, heads=4, ffn=256, dropout=0.3)


def transformer_small() -> Table:
    return _transformer(layers=3, width=256, heads=4, ffn=1024, dropout=0.1)


def transformer_base() -> Table:
    """Vaswani et al. 2017, Table 3."""
    return _transformer(layers=6, width=512, heads=8, ffn=2048, dropout=0.1)


def rnn_small() -> Table:
    """Bidirectional LSTM, attention and input feeding after Luong et al. 2015."""
    encoder = {"kind": "rnn", "cell": "lstm", "layers": 1, "width": 256, "embedding": 256, "dropout": 0.3}
    decoder = {**encoder, "attention": "multiplicative", "input_feeding": True, "width": 512}
    return {"encoder": encoder, "decoder": decoder, "tied": "all"}


def gru_small() -> Table:
    """Bidirectional GRU with additive attention after Bahdanau et al. 2015."""
    encoder = {"kind": "rnn", "cell": "gru", "layers": 1, "width": 256, "embedding": 256, "dropout": 0.3}
    decoder = {**encoder, "attention": "additive", "input_feeding": True, "width": 512}
    return {"encoder": encoder, "decoder": decoder, "tied": "all"}


def conv_small() -> Table:
    """ConvS2S after Gehring et al. 2017, for some ten thousand pairs."""
    part = {"kind": "conv", "layers": 3, "width": 256, "kernel": 3, "embedding": 256, "dropout": 0.2}
    return {"encoder": part, "decoder": dict(part), "tied": "all"}


def convs2s2017() -> Table:
    """Gehring et al. 2017, section 5.1: English to German of WMT 2014."""
    width, kernel = [512] * 10 + [768] * 3 + [2048] * 2, [3] * 13 + [1] * 2
    part = {"kind": "conv", "layers": 15, "width": width, "kernel": kernel, "embedding": 512, "dropout": 0.2}
    return {"encoder": part, "decoder": dict(part), "tied": "none"}


PRESETS = {
    "transformer-tiny": transformer_tiny,
    "transformer-small": transformer_small,
    "transformer-base": transformer_base,
    "rnn-small": rnn_small,
    "gru-small": gru_small,
    "conv-small": conv_small,
    "convs2s2017": convs2s2017,
}
