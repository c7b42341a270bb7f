"""Importer for Transformers of Eole, the successor of OpenNMT-py, saved as safetensors.

A folder has config.json, vocab.json and model.00.safetensors. Positions are imported as a table. Eole sources
do not end with </s>, so ours is masked by `reads_end = false`. Checkpoints of OpenNMT-py are pickles, and
therefore refused.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from dragoman.importing.files import LARGEST_VOCABULARY, opened, read, read_text, refusal
from dragoman.importing.foreign_model import (
    LONGEST,
    NEVER,
    Entries,
    ForeignModel,
    Weights,
    is_size,
    text_of,
    units,
)
from dragoman.models.bundle import tensors
from dragoman.models.header import MAX_HEADER_BYTES as LONGEST_HEADER
from dragoman.models.header import entries as header_of
from dragoman.text.specials import BOS, EOS, PAD, UNK

Table = dict[str, Any]

ACTIVATIONS = {"relu": "relu", "gelu": "gelu", "silu": "swish", "gated-silu": "swiglu"}
NORMS = {"standard": "layer", "rms": "rms"}
POSITIONS = ("SinusoidalInterleaved", "SinusoidalConcat")
# Supported values of settings that may be absent.
DEMANDED: dict[str, tuple[Any, ...]] = {
    "parallel_residual": (False,),
    "shared_layer_norm": (False,),
    "ffn_layernorm": (False,),
    "num_experts": (0,),
    "sliding_window": (0,),
    "query_norm": (False,),
    "key_norm": (False,),
    "qk_norm_post_rope": (False,),
    "encoder_layer_style": ("standard",),
    "layer_types": (None,),
}


def read_eole(folder: Path) -> ForeignModel:
    config, vocab = (read_json(folder / name) for name in ("config.json", "vocab.json"))
    model = table_of(config, "model")
    encoder, decoder = ({**model, **table_of(model, side)} for side in ("encoder", "decoder"))
    refuse(model, encoder, decoder, folder)
    src, tgt = (entries(vocab, side, folder) for side in ("src", "tgt"))
    weights = read_weights(folder)
    ours = dict(convert(weights, encoder, decoder, src, tgt))
    weights.refuse_rest()
    pieces = pieces_of(config, folder)
    sides = {"encoder": {**part(encoder), "reads_end": False}, "decoder": part(decoder)}
    tied = "none"
    if torch.equal(ours["head.W"], ours["decoder.embed.matrix"]):
        tied = "target"
        del ours["head.W"]
    settings = {"model": {**sides, "tied": tied}, "text": units(pieces)}
    return ForeignModel("Eole", settings, text_of(pieces, src, tgt), ours)


def table_of(table: Table, name: str) -> Table:
    """Return a nested table; an empty one if it is absent."""
    found = table.get(name)
    if found is not None and not isinstance(found, dict):
        raise refusal([f"{name} = {json.dumps(found)[:40]}, which is not a table"], "config.json")
    return found or {}


def read_json(file: Path) -> Table:
    try:
        found = json.loads(read_text(file, LARGEST_VOCABULARY))
    except (ValueError, RecursionError) as error:
        raise refusal([f"{file.name} cannot be read ({error})"], str(file)) from None
    if not isinstance(found, dict):
        raise refusal([f"{file.name} does not contain settings"], str(file))
    return found


def refuse(model: Table, encoder: Table, decoder: Table, folder: Path) -> None:
    against = [
        f"{side}.{name} = {json.dumps(part[name])}"
        for side, part in (("encoder", encoder), ("decoder", decoder))
        for name, allowed in DEMANDED.items()
        if name in part and part[name] not in allowed
    ]
    for side, part_ in (("encoder", encoder), ("decoder", decoder)):
        kind = part_.get(f"{side}_type", model.get("architecture"))
        needed = [
            n for n in ("layers", "heads", "hidden_size", "transformer_ff") if not is_size(part_.get(n))
        ]
        against += [f"no {side}.{name}" for name in needed]
        choices = {
            f"{side}_type": (kind, ("transformer",)),
            "mlp_activation_fn": (part_.get("mlp_activation_fn", "relu"), tuple(ACTIVATIONS)),
            "layer_norm": (part_.get("layer_norm", "standard"), tuple(NORMS)),
            "head_dim": (
                part_.get("head_dim"),
                (None, *([] if needed else [part_["hidden_size"] // part_["heads"]])),
            ),
        }
        against += [
            f"{side}: {name} = {value}" for name, (value, allowed) in choices.items() if value not in allowed
        ]
    kind = positions(model)
    if kind not in POSITIONS:
        against.append(f"position_encoding_type = {kind}")
    if against:
        raise refusal(list(dict.fromkeys(against)), str(folder / "config.json"))


def positions(model: Table) -> str:
    return str(table_of(model, "embeddings").get("position_encoding_type", POSITIONS[0]))


def entries(vocab: Table, side: str, folder: Path) -> Entries:
    specials, names = vocab.get("specials"), vocab.get(side)
    if (
        not isinstance(specials, dict)
        or not isinstance(names, list)
        or not all(isinstance(n, str) for n in names)
    ):
        raise refusal([f"no {side} vocabulary in vocab.json"], str(folder / "vocab.json"))
    ours = {PAD: "pad_token", UNK: "unk_token", EOS: "eos_token"}
    named = {id: str(specials.get(name)) for id, name in ours.items()}
    start = vocab.get("decoder_start_token", specials.get("bos_token"))
    return Entries(names, {**named, BOS: str(start)}, str(folder / "vocab.json"))


def read_weights(folder: Path) -> Weights:
    files = sorted(folder.glob("*.safetensors"))
    if len(files) != 1:
        raise refusal([f"{len(files)} weight files, expected one"], str(folder))
    refuse_other_weights(files[0])
    found = tensors(read(files[0]), files[0])
    arrays = {name: tensor.float().numpy() for name, tensor in found.items()}
    return Weights(arrays, str(files[0]))


def refuse_other_weights(file: Path) -> None:
    """Refuse unsupported weights by their header alone, without reading a large file."""
    with opened(file) as stream:
        try:
            header_of(stream.read(LONGEST_HEADER + 8), os.fstat(stream.fileno()).st_size)
        except ValueError as error:
            raise refusal([f"weights that cannot be read ({error})"], str(file)) from None


def pieces_of(config: Table, folder: Path) -> tuple[Path, Path]:
    """Return the SentencePiece models named in the settings of the transform, searched in the folder."""
    named = table_of(table_of(config, "transforms_configs"), "sentencepiece")
    files = [folder / Path(str(named.get(f"{side}_subword_model", ""))).name for side in ("src", "tgt")]
    there = [file for file in files if file != folder and file.exists()] or sorted(
        [*folder.glob("*.spm"), *folder.glob("*.model")]
    )
    if not 1 <= len(there) <= 2:
        raise refusal(["no SentencePiece model next to the weights (copy it there)"], str(folder))
    return there[0], there[-1]


def part(theirs: Table) -> Table:
    kv = theirs.get("heads_kv") or theirs["heads"]
    return {
        "kind": "transformer",
        "layers": theirs["layers"],
        "width": theirs["hidden_size"],
        "heads": theirs["heads"],
        "kv_heads": None if kv == theirs["heads"] else kv,
        "ffn": theirs["transformer_ff"],
        "activation": ACTIVATIONS[theirs.get("mlp_activation_fn", "relu")],
        "norm": "pre",
        "norm_kind": NORMS[theirs.get("layer_norm", "standard")],
        "norm_eps": theirs.get("norm_eps", 1e-6),
        "positions": "learned",
        "max_positions": LONGEST,
    }


def convert(
    weights: Weights, encoder: Table, decoder: Table, src: Entries, tgt: Entries
) -> Iterator[tuple[str, Tensor]]:
    for side, name, names in (("encoder", "src_emb", src), ("decoder", "tgt_emb", tgt)):
        matrix = weights.take(f"{name}.embeddings.weight", 2)
        yield f"{side}.embed.matrix", names.rows(matrix)
        yield f"{side}.embed.positions.table", table(weights, name, encoder, matrix.shape[1])
    if weights.has("generator.weight"):
        yield "head.W", tgt.rows(weights.take("generator.weight", 2))
    else:  # shared with the embeddings and stored once
        yield "head.W", tgt.rows(matrix)
    bias = weights.take("generator.bias", 1) if weights.has("generator.bias") else torch.zeros(tgt.count)
    yield "head.b", tgt.rows(bias, NEVER)
    for side, theirs in (("encoder", encoder), ("decoder", decoder)):
        yield from norm(weights, f"{side}.layer_norm", f"{side}.norm")
        for number in range(theirs["layers"]):
            name = f"{side}.transformer_layers.{number}"
            yield from layer(weights, name, f"{side}.layers.{number}", side, theirs)


def table(weights: Weights, name: str, model: Table, size: int) -> Tensor:
    """Return the stored position table, or compute it."""
    if weights.has(f"{name}.pe.pe"):
        saved = weights.take(f"{name}.pe.pe")
        if not size or saved.numel() % size:
            raise refusal([f"{name}.pe.pe, which cannot be split into rows of {size}"], "the weights")
        return saved.reshape(-1, size)[:LONGEST]
    half = size // 2
    is_concat = positions(model) == "SinusoidalConcat"
    exponent = torch.arange(half, dtype=torch.float64) / (max(half - 1, 1) if is_concat else half)
    angles = torch.arange(LONGEST, dtype=torch.float64).unsqueeze(1) * 10000.0**-exponent
    waves = (angles.sin(), angles.cos())
    both = torch.cat(waves, dim=1) if is_concat else torch.stack(waves, dim=2).flatten(1)
    return both.float()


def layer(weights: Weights, theirs: str, ours: str, side: str, model: Table) -> Iterator[tuple[str, Tensor]]:
    yield from linear(
        weights,
        f"{theirs}.self_attn",
        ("linear_query", "linear_keys", "linear_values"),
        f"{ours}.attention.W_qkv",
    )
    yield from linear(weights, f"{theirs}.self_attn", ("final_linear",), f"{ours}.attention.W_o")
    yield from norm(weights, f"{theirs}.input_layernorm", f"{ours}.around_attention.norm")
    if side == "decoder":
        yield from linear(weights, f"{theirs}.context_attn", ("linear_query",), f"{ours}.cross.W_q")
        yield from linear(
            weights, f"{theirs}.context_attn", ("linear_keys", "linear_values"), f"{ours}.cross.W_kv"
        )
        yield from linear(weights, f"{theirs}.context_attn", ("final_linear",), f"{ours}.cross.W_o")
        yield from norm(weights, f"{theirs}.precontext_layernorm", f"{ours}.around_cross.norm")
    yield from feed_forward(
        weights, f"{theirs}.mlp", f"{ours}.ffn", gated=model.get("mlp_activation_fn") == "gated-silu"
    )
    yield from norm(weights, f"{theirs}.post_attention_layernorm", f"{ours}.around_ffn.norm")
    scalar = f"{theirs}.layer_scalar"
    if weights.has(scalar) and not bool((weights.take(scalar) == 1).all()):
        raise refusal([f"{scalar}: scaled layers"], "the weights")


def feed_forward(weights: Weights, theirs: str, ours: str, *, gated: bool) -> Iterator[tuple[str, Tensor]]:
    if not gated:
        yield from linear(weights, theirs, ("gate_up_proj",), f"{ours}.W_1")
        yield from linear(weights, theirs, ("down_proj",), f"{ours}.W_2")
        return
    for name, mine in (("gate_up_proj", "W_1"), ("up_proj", "V"), ("down_proj", "W_2")):
        yield f"{ours}.{mine}.weight", weights.take(f"{theirs}.{name}.weight")


def linear(weights: Weights, theirs: str, parts: tuple[str, ...], ours: str) -> Iterator[tuple[str, Tensor]]:
    """Concatenate several linear layers into one; a missing bias is 0."""
    matrices = [weights.take(f"{theirs}.{name}.weight", 2) for name in parts]
    yield f"{ours}.weight", weights.stacked(matrices, theirs)
    sizes = map(len, matrices)
    biases = [bias(weights, f"{theirs}.{n}.bias", size) for n, size in zip(parts, sizes, strict=True)]
    yield f"{ours}.bias", torch.cat(biases)


def bias(weights: Weights, name: str, size: int) -> Tensor:
    return weights.take(name, 1) if weights.has(name) else torch.zeros(size)


def norm(weights: Weights, theirs: str, ours: str) -> Iterator[tuple[str, Tensor]]:
    yield f"{ours}.weight", weights.take(f"{theirs}.weight")
    if weights.has(f"{theirs}.bias"):
        yield f"{ours}.bias", weights.take(f"{theirs}.bias")
