"""A small model as Marian would write it, and what it says: a forward pass in numpy."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sentencepiece import SentencePieceTrainer

from dragoman.text.tokenizers.external_sentencepiece import ExternalSentencePiece

Array = NDArray[np.float64]
Arrays = dict[str, Array]

MARIAN_HEAD = ["</s>", "<unk>"]
D, HEADS, FFN, ENCODER, DECODER = 8, 2, 12, 2, 1
LINES = {
    "source": ["the old man walks home", "a young dog walks", "the dog and the man"],
    "target": ["der alte Mann geht heim", "ein junger Hund geht", "der Hund und der Mann"],
}
SETTINGS: dict[str, Any] = {
    "type": "transformer", "dim-emb": D, "enc-depth": ENCODER, "dec-depth": DECODER,
    "transformer-heads": HEADS, "transformer-dim-ffn": FFN,
    "transformer-ffn-activation": "swish", "transformer-ffn-depth": 2,
    "transformer-preprocess": '""', "transformer-postprocess": "dan", "transformer-postprocess-emb": "d",
    "transformer-decoder-autoreg": "self-attention", "transformer-no-projection": "false",
    "transformer-train-position-embeddings": "false", "transformer-tied-layers": "\n  []", "skip": "false",
    "tied-embeddings-all": "true", "dim-vocabs": "\n  - 90\n  - 90",
}  # fmt: skip


def pieces(side: str) -> bytes:
    """A SentencePiece model with other habits than ours: it normalises, and knows no bytes."""
    model = io.BytesIO()
    SentencePieceTrainer.train(
        sentence_iterator=iter(LINES[side]), model_writer=model, vocab_size=40, model_type="unigram",
        hard_vocab_limit=False, minloglevel=2, num_threads=1,
    )  # fmt: skip
    return model.getvalue()


def random_weights(shapes: Mapping[str, tuple[int, ...]], seed: int = 1) -> Arrays:
    rng = np.random.default_rng(seed)
    return {name: rng.normal(0.0, 0.5, shape) for name, shape in shapes.items()}


def marian_weights(entries: int) -> Arrays:
    shapes: dict[str, tuple[int, ...]] = {"Wemb": (entries, D), "decoder_ff_logit_out_b": (1, entries)}
    for side, depth, parts in (("encoder", ENCODER, ["self"]), ("decoder", DECODER, ["self", "context"])):
        for layer in (f"{side}_l{number + 1}" for number in range(depth)):
            for part in parts:
                shapes |= {f"{layer}_{part}_W{m}": (D, D) for m in "qkvo"}
                shapes |= {f"{layer}_{part}_b{m}": (1, D) for m in "qkvo"}
                shapes |= {f"{layer}_{part}_Wo_ln_{m}": (1, D) for m in ("scale", "bias")}
            shapes |= {f"{layer}_ffn_W1": (D, FFN), f"{layer}_ffn_b1": (1, FFN)}
            shapes |= {f"{layer}_ffn_W2": (FFN, D), f"{layer}_ffn_b2": (1, D)}
            shapes |= {f"{layer}_ffn_ffn_ln_{m}": (1, D) for m in ("scale", "bias")}
    return random_weights(shapes)


def write_marian(folder: Path, names: list[str], weights: Mapping[str, Any], **changes: Any) -> None:
    folder.mkdir()
    for side in ("source", "target"):
        (folder / f"{side}.spm").write_bytes(pieces(side))
    quoted = (json.dumps(name, ensure_ascii=False) for name in names)
    vocab = "".join(f"{name}: {id}\n" for id, name in enumerate(quoted))
    (folder / "opus.vocab.yml").write_text(vocab, encoding="utf-8")
    text = "".join(f"{key}: {value}\n" for key, value in (SETTINGS | changes).items())
    settings = np.frombuffer(text.encode() + b"\0", np.int8)
    arrays = {name: np.asarray(array, np.float32) for name, array in weights.items()}
    np.savez(folder / "opus.npz", **{"special:model.yml": settings, **arrays})
    listed = "models:\n  - opus.npz\nvocabs:\n  - opus.vocab.yml\n  - opus.vocab.yml\nbeam-size: 6\n"
    (folder / "decoder.yml").write_text(listed, encoding="utf-8")


ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
    "swish": lambda a: a / (1 + np.exp(-a)),
    "relu": lambda a: np.maximum(a, 0),
    "gelu": lambda a: a * (1 + np.vectorize(math.erf)(a / math.sqrt(2))) / 2,
}


def normed(x: Array, scale: Array, bias: Array, epsilon: float = 1e-6) -> Array:
    centred = x - x.mean(axis=1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(axis=1, keepdims=True) + epsilon) * scale + bias


def softmax(x: Array) -> Array:
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def attended(q: Array, k: Array, v: Array, *, causal: bool = False) -> Array:
    """Heads stand side by side in the features."""
    out = np.zeros_like(q)
    for h in range(HEADS):
        part = slice(h * D // HEADS, (h + 1) * D // HEADS)
        scores = q[:, part] @ k[:, part].T / np.sqrt(D / HEADS)
        if causal:
            scores = np.where(np.tri(*scores.shape, dtype=bool), scores, -np.inf)
        out[:, part] = softmax(scores) @ v[:, part]
    return out


def waves(count: int, rates: Array) -> Array:
    angles = np.arange(count)[:, None] * rates
    return np.concatenate([np.sin(angles), np.cos(angles)], axis=1)


def marian(W: Arrays, src: list[int], tgt: list[int], act: str = "swish") -> Array:
    """log p of each target step: post-norm, the first target vector is 0, ids are Marian's (</s> is 0)."""
    rates = np.exp(-np.arange(D // 2) * np.log(10000.0) / (D // 2 - 1))

    def placed(x: Array) -> Array:
        return np.sqrt(D) * x + waves(len(x), rates)

    def look(p: str, x: Array, memory: Array, *, causal: bool = False) -> Array:
        q, k, v = (
            y @ W[f"{p}_W{m}"] + W[f"{p}_b{m}"] for m, y in zip("qkv", (x, memory, memory), strict=True)
        )
        c = attended(q, k, v, causal=causal) @ W[f"{p}_Wo"] + W[f"{p}_bo"]
        return normed(x + c, W[f"{p}_Wo_ln_scale"], W[f"{p}_Wo_ln_bias"])

    def feed(p: str, x: Array) -> Array:
        a = x @ W[f"{p}_W1"] + W[f"{p}_b1"]
        a = ACTIVATIONS[act](a)
        y = x + a @ W[f"{p}_W2"] + W[f"{p}_b2"]
        return normed(y, W[f"{p}_ffn_ln_scale"], W[f"{p}_ffn_ln_bias"])

    x = placed(W["Wemb"][[*src, 0]])
    for n in range(1, ENCODER + 1):
        x = feed(f"encoder_l{n}_ffn", look(f"encoder_l{n}_self", x, x))
    y = placed(np.concatenate([np.zeros((1, D)), W["Wemb"][tgt]]))
    for n in range(1, DECODER + 1):
        y = look(f"decoder_l{n}_self", y, y, causal=True)
        y = feed(f"decoder_l{n}_ffn", look(f"decoder_l{n}_context", y, x))
    return np.log(softmax(y @ W["Wemb"].T + W["decoder_ff_logit_out_b"]))


@cache
def vocabulary() -> tuple[str, ...]:
    """One for both sides, as OPUS-MT has it, with the label of a language and signs that YAML must quote."""
    found = [ExternalSentencePiece(pieces(side)).every_piece[3:] for side in ("source", "target")]
    return tuple(dict.fromkeys([*found[0], ">>deu<<", ": ", 'say "\\"', "<pad>", *found[1]]))


def written(folder: Path, **changes: Any) -> tuple[list[str], Arrays]:
    names = [*MARIAN_HEAD, *vocabulary()]
    weights = marian_weights(len(names))
    write_marian(folder, names, weights, **changes)
    return names, weights
