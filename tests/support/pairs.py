"""Tiny encoders and decoders of every kind, and the pairs of them that every battery goes through."""

from itertools import product
from typing import Any

import torch

from dragoman.config.model import ModelConfig
from dragoman.models.build import build_model
from dragoman.models.seq2seq import Seq2Seq
from dragoman.protocols import Batch

V, BOS, EOS = 23, 2, 3
TRANSFORMER = {"kind": "transformer", "layers": 2, "width": 16, "heads": 2, "ffn": 24}
ENCODERS = {
    "transformer": TRANSFORMER,
    "post-norm learned": {**TRANSFORMER, "norm": "post", "positions": "learned", "activation": "gelu"},
    "bilstm": {"kind": "rnn", "cell": "lstm", "layers": 2, "width": 9, "embedding": 16},
    "gru": {"kind": "rnn", "cell": "gru", "layers": 1, "width": 11, "embedding": 16, "bidirectional": False},
    "conv": {"kind": "conv", "layers": 2, "width": [12, 14], "kernel": [3, 2], "embedding": 16},
    "kalchbrenner": {"kind": "kalchbrenner", "embedding": 16, "max_positions": 9},
}
DECODERS = {
    "transformer": TRANSFORMER,
    "post-norm learned": {**TRANSFORMER, "norm": "post", "positions": "learned"},
    "lstm fed": {"kind": "rnn", "cell": "lstm", "layers": 2, "width": 12, "embedding": 16},
    "gru additive fed": {"kind": "rnn", "cell": "gru", "width": 12, "embedding": 16, "attention": "additive"},
    "lstm plain": {"kind": "rnn", "cell": "lstm", "width": 12, "embedding": 16, "input_feeding": False},
    "conv": {"kind": "conv", "layers": 3, "width": [12, 12, 14], "kernel": [3, 2, 1], "embedding": 16},
}
PAIRS = list(product(ENCODERS, DECODERS))
# What differs in one equation only meets one partner.
SCORES = ("concat", "dot", "scaled-dot", "cosine")
DECODERS |= {
    score: {"kind": "rnn", "cell": "gru", "width": 11, "embedding": 16, "attention": score}
    for score in SCORES
}
PAIRS += [("gru", score) for score in SCORES]
TRANSFORMERS = {
    "rotary": {"positions": "rotary", "norm_kind": "rms", "activation": "swiglu", "kv_heads": 1},
    "relative": {
        "positions": "relative",
        "norm": "post",
        "norm_kind": "rms",
        "activation": "gelu",
        "stochastic_depth": 0.2,
    },
    "no end": {"reads_end": False, "activation": "swish", "norm": "post", "norm_eps": 1e-6},
    "rotary window": {"positions": "rotary", "window": 1},
    "relative window": {"positions": "relative", "window": 2, "kv_heads": 1},
    "sinusoidal window": {"window": 2},
}
for name, choices in TRANSFORMERS.items():
    ENCODERS[name] = DECODERS[name] = {**TRANSFORMER, **choices}
    PAIRS += [(name, name)]
PAIRS += [("relative window", "lstm plain"), ("gru", "rotary window")]

RNN = {"kind": "rnn", "width": 12, "embedding": 16}
ENCODERS |= {
    "mean peephole": {**RNN, "cell": "peephole-lstm", "layers": 2, "join": "mean", "width": [7, 12]},
    "projected elman": {**RNN, "cell": "elman", "layers": 2, "join": "projection", "residual": True},
    "gnmt": {**RNN, "layers": 3, "bidirectional": "bottom", "residual": True, "norm": True},
    "backwards lstm": {**RNN, "layers": 2, "bidirectional": False, "reversed_source": True},
    "reset first": {**RNN, "cell": "reset-first-gru", "norm": True, "variational": True},
    "coupled one way": {**RNN, "cell": "coupled-lstm", "bidirectional": False, "embedding": 12},
}
DECODERS |= {
    "sutskever": {**RNN, "form": "sutskever", "layers": 2, "bridge": "last"},
    "sutskever elman": {**RNN, "form": "sutskever", "cell": "elman", "variational": True},
    "cho": {**RNN, "form": "cho", "cell": "gru", "bridge": "zero"},
    "cho deep": {**RNN, "form": "cho", "cell": "peephole-lstm", "layers": 2, "width": [9, 7]},
    "bahdanau": {**RNN, "form": "bahdanau", "cell": "gru", "attention": "additive"},
    "bahdanau deep": {**RNN, "form": "bahdanau", "layers": 2, "residual": True, "norm": True},
    "joined": {**RNN, "form": "joined", "cell": "coupled-lstm", "layers": 2, "residual": True},
    "joined shared": {**RNN, "form": "joined", "cell": "coupled-lstm", "embedding": 12, "share_cells": True},
    "luong zero": {**RNN, "bridge": "zero", "norm": True, "variational": True, "layers": 2, "width": [8, 9]},
    "gnmt": {**RNN, "form": "gnmt", "layers": 3, "residual": True, "attention": "additive"},
    "reset first": {**RNN, "cell": "reset-first-gru", "norm": True},
}
# Every form of a recurrent decoder meets an encoder of every kind.
FORMS = ("sutskever elman", "cho", "bahdanau", "joined", "gnmt")
PAIRS += product(("transformer", "bilstm", "conv", "kalchbrenner"), FORMS)
PAIRS += [
    ("backwards lstm", "sutskever"),
    ("mean peephole", "sutskever elman"),
    ("gru", "cho"),
    ("transformer", "cho deep"),
    ("transformer", "bahdanau deep"),
    ("projected elman", "joined"),
    ("coupled one way", "joined shared"),
    ("backwards lstm", "luong zero"),
    ("gnmt", "gnmt"),
    ("gnmt", "transformer"),
    ("reset first", "reset first"),
]


def parts_of(pair: tuple[str, str], tied: str = "all") -> dict[str, Any]:
    return {"encoder": ENCODERS[pair[0]], "decoder": DECODERS[pair[1]], "tied": tied}


def model_of(pair: tuple[str, str], tied: str = "all") -> Seq2Seq:
    return build_model(ModelConfig.model_validate(parts_of(pair, tied)), V, V, smoothing=0.1, seed=3)


def batch_of(lengths: list[tuple[int, int]], seed: int = 0) -> Batch:
    draw = torch.Generator().manual_seed(seed)
    S, T = max(s for s, _ in lengths), max(t for _, t in lengths)
    src, tgt = (
        torch.zeros(len(lengths), S, dtype=torch.long),
        torch.zeros(len(lengths), T + 1, dtype=torch.long),
    )
    for row, (s, t) in enumerate(lengths):
        src[row, :s] = torch.randint(4, V, (s,), generator=draw)
        tgt[row, : t + 1] = torch.randint(4, V, (t + 1,), generator=draw)
        tgt[row, 0] = BOS
    src_keep = torch.arange(S) < torch.tensor([[s] for s, _ in lengths])
    tgt_keep = torch.arange(T) < torch.tensor([[t] for _, t in lengths])
    return Batch(src, src_keep, tgt[:, :-1].clone(), tgt[:, 1:].clone(), tgt_keep)


def features(model: Seq2Seq, batch: Batch) -> torch.Tensor:
    return model.decoder(model.encoder(batch.src, batch.src_keep), batch.tgt_in)
