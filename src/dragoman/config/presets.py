"""Named model sizes: defaults for [model] that its fields may override."""

from __future__ import annotations

from typing import Any

from dragoman.config.model import ModelConfig
from dragoman.config.parts.part import NetworkPart

Table = dict[str, Any]


def _transformer(*, layers: int, width: int, heads: int, ffn: int, dropout: float) -> Table:
    part = {
        "kind": "transformer",
        "layers": layers,
        "width": width,
        "heads": heads,
        "ffn": ffn,
        "dropout": dropout,
        "attention_dropout": 0.0,  # no dropout within sub-layers, as in the paper
        "ffn_dropout": 0.0,
    }
    return {"encoder": part, "decoder": dict(part), "tied": "all"}


def transformer_micro() -> Table:
    """For minutes of training: it learns more in them than a deeper one."""
    return _transformer(layers=2, width=128, heads=4, ffn=256, dropout=0.1)


def transformer_tiny() -> Table:
    """Wu et al. 2021 on Multi30k."""
    return _transformer(layers=4, width=128, heads=4, ffn=256, dropout=0.3)


def transformer_small() -> Table:
    return _transformer(layers=3, width=256, heads=4, ffn=1024, dropout=0.1)


def transformer_base() -> Table:
    """Vaswani et al. 2017, Table 3."""
    return _transformer(layers=6, width=512, heads=8, ffn=2048, dropout=0.1)


def transformer_big() -> Table:
    """Vaswani et al. 2017, Table 3; for English–French the paper uses dropout 0.1."""
    return _transformer(layers=6, width=1024, heads=16, ffn=4096, dropout=0.3)


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


def elman() -> Table:
    """Two simple recurrent networks (Elman 1990): the decoder starts from the encoder's last state."""
    part = {"kind": "rnn", "cell": "elman", "layers": 1, "width": 256, "embedding": 256, "dropout": 0.0}
    encoder = {**part, "bidirectional": False}
    return {"encoder": encoder, "decoder": {**part, "form": "sutskever", "bridge": "last"}, "tied": "none"}


def cho2014() -> Table:
    """Cho et al. 2014: GRUs of 1000, a source summary at every step. The maxout layer has 100 features, like
    the embeddings."""
    part = {"kind": "rnn", "cell": "reset-first-gru", "width": 1000, "embedding": 100, "dropout": 0.0}
    encoder = {**part, "bidirectional": False}
    return {"encoder": encoder, "decoder": {**part, "form": "cho"}, "tied": "none"}


def sutskever2014() -> Table:
    """Sutskever et al. 2014: four layers of 1000, the source reversed, no attention."""
    part = {"kind": "rnn", "cell": "lstm", "layers": 4, "width": 1000, "embedding": 1000, "dropout": 0.0}
    encoder = {**part, "bidirectional": False, "reversed_source": True}
    return {"encoder": encoder, "decoder": {**part, "form": "sutskever", "bridge": "last"}, "tied": "none"}


def bahdanau2015() -> Table:
    """Bahdanau et al. 2015, RNNsearch: GRUs of 1000. The maxout layer has 620 features, like the embeddings,
    instead of 500."""
    part = {"kind": "rnn", "cell": "reset-first-gru", "width": 1000, "embedding": 620, "dropout": 0.0}
    decoder = {**part, "form": "bahdanau", "attention": "additive"}
    return {"encoder": part, "decoder": decoder, "tied": "none"}


def luong2015() -> Table:
    """Luong et al. 2015: four layers of 1000, the source reversed, attention and input feeding."""
    part = {"kind": "rnn", "cell": "lstm", "layers": 4, "width": 1000, "embedding": 1000, "dropout": 0.2}
    encoder = {**part, "bidirectional": False, "reversed_source": True}
    decoder = {**part, "form": "luong", "attention": "multiplicative", "input_feeding": True}
    return {"encoder": encoder, "decoder": {**decoder, "bridge": "last"}, "tied": "none"}


def gnmt2016() -> Table:
    """Wu et al. 2016: 8 + 8 layers of 1024. Residual connections start where widths agree: at the third
    layer of the encoder, as in the paper, and at the first of the decoder, whose embedding is as wide.
    """
    part = {"kind": "rnn", "cell": "lstm", "layers": 8, "width": 1024, "embedding": 1024, "dropout": 0.2}
    encoder = {**part, "residual": True, "bidirectional": "bottom"}
    decoder = {**part, "residual": True, "form": "gnmt", "attention": "additive", "bridge": "zero"}
    return {"encoder": encoder, "decoder": decoder, "tied": "none"}


def conv_small() -> Table:
    """ConvS2S after Gehring et al. 2017, for tens of thousands of pairs."""
    part = {"kind": "conv", "layers": 3, "width": 256, "kernel": 3, "embedding": 256, "dropout": 0.2}
    return {"encoder": part, "decoder": dict(part), "tied": "all"}


def convs2s2017() -> Table:
    """Gehring et al. 2017, section 5.1: WMT 2014 English–German."""
    width, kernel = [512] * 10 + [768] * 3 + [2048] * 2, [3] * 13 + [1] * 2
    part = {"kind": "conv", "layers": 15, "width": width, "kernel": kernel, "embedding": 512, "dropout": 0.2}
    return {"encoder": part, "decoder": dict(part), "tied": "none"}


PRESETS = {
    "transformer-micro": transformer_micro,
    "transformer-tiny": transformer_tiny,
    "transformer-small": transformer_small,
    "transformer-base": transformer_base,
    "transformer-big": transformer_big,
    "rnn-small": rnn_small,
    "gru-small": gru_small,
    "elman": elman,
    "cho2014": cho2014,
    "sutskever2014": sutskever2014,
    "bahdanau2015": bahdanau2015,
    "luong2015": luong2015,
    "gnmt2016": gnmt2016,
    "conv-small": conv_small,
    "convs2s2017": convs2s2017,
}

# Where they differ from the default: chosen by the validation loss after half a million tokens (decision 36).
LEARNING_RATES = {"rnn-small": 4e-3, "luong2015": 4e-3, "gnmt2016": 4e-3}


def preset_of(model: ModelConfig) -> str | None:
    """Return the preset of a model, or None if its encoder or its decoder is of another size."""
    if model.preset not in PRESETS:
        return None
    named = ModelConfig.model_validate(PRESETS[model.preset]())
    same = all(sizes(part) == sizes(named.parts[kind]) for kind, part in model.parts.items())
    return model.preset if same else None


def sizes(part: NetworkPart) -> tuple[str, int, str]:
    return part.name, part.layers, part.shape
