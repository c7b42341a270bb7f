"""JoeyNMT: its `search` on its own model, Transformer or recurrent."""

from typing import Any

import torch
from decoding import BOS, EOS, EPSILON, PAD, SPECIALS, UNK, Decode, Ours, cut, fill, fill_cell, serve
from joeynmt.batch import Batch
from joeynmt.model import Model, build_model
from joeynmt.search import search
from torch import Tensor, nn


def build(ours: Ours) -> Decode:
    is_recurrent = ours.model["encoder"]["kind"] == "rnn"
    vocabulary = Names(len(ours.matrix))
    model = build_model(recurrent(ours) if is_recurrent else transformer(ours), vocabulary, vocabulary)
    model.src_embed.lut.weight = nn.Parameter(ours.matrix.clone())
    model.trg_embed.lut.weight = model.src_embed.lut.weight
    # It has no bias there.
    model.decoder.output_layer = nn.Linear(ours.matrix.shape[1], len(ours.matrix))
    fill(model.decoder.output_layer, ours.matrix, ours.output_bias)
    (fill_recurrent if is_recurrent else fill_transformer)(model, ours)
    model.eval()

    def decode(src: Tensor, size: int, longest: int) -> list[list[int]]:
        lengths = (src != PAD).sum(1)
        batch = Batch(
            src,
            lengths,
            None,
            None,
            None,
            torch.arange(len(src)),
            src.device,
            PAD,
            EOS,
            is_train=False,
        )
        found, _, _ = search(model, batch, longest, size, 1.0, min_output_length=0)
        return [cut(output) for output in found.tolist()]

    return decode


class Names:
    """What its model asks a vocabulary; its own puts the special symbols in other places."""

    specials = SPECIALS
    pad_index, unk_index, bos_index, eos_index, sep_index = PAD, UNK, BOS, EOS, None
    lang_tags: tuple[str, ...] = ()

    def __init__(self, count: int) -> None:
        self.count = count

    def __len__(self) -> int:
        return self.count

    def lookup(self, name: str) -> int:
        return self.specials.index(name)


def embeddings(ours: Ours, *, scale: bool) -> dict[str, Any]:
    return {"embedding_dim": ours.matrix.shape[1], "scale": scale}


def transformer(ours: Ours) -> dict[str, Any]:
    def side(name: str) -> dict[str, Any]:
        part = ours.model[name]
        return {
            "type": "transformer",
            "num_layers": part["layers"],
            "num_heads": part["heads"],
            "hidden_size": part["width"],
            "ff_size": part["ffn"],
            "layer_norm": part["norm"],
            "activation": part["activation"],
            "embeddings": embeddings(ours, scale=True),
        }

    return {"encoder": side("encoder"), "decoder": side("decoder")}


def fill_transformer(model: Model, ours: Ours) -> None:
    for name, side in (("encoder", model.encoder), ("decoder", model.decoder)):
        side.pe.pe = ours.sinusoids(side.pe.pe.shape[1]).unsqueeze(0)
        fill(side.layer_norm, *ours.linear(f"{name}.norm"))
        for number, layer in enumerate(side.layers):
            fill_layer(layer, ours, f"{name}.layers.{number}")
    for module in model.modules():
        if isinstance(module, nn.LayerNorm):
            module.eps = EPSILON


def fill_layer(layer: Any, ours: Ours, name: str) -> None:
    is_decoder = hasattr(layer, "src_trg_att")
    attention = layer.trg_trg_att if is_decoder else layer.src_src_att
    fill_attention(attention, ours.attention(f"{name}.attention", "qkv"), ours, f"{name}.attention")
    norm = layer.x_layer_norm if is_decoder else layer.layer_norm
    fill(norm, *ours.linear(f"{name}.around_attention.norm"))
    if is_decoder:
        parts = [ours.linear(f"{name}.cross.W_q"), *ours.attention(f"{name}.cross", "kv")]
        fill_attention(layer.src_trg_att, parts, ours, f"{name}.cross")
        fill(layer.dec_layer_norm, *ours.linear(f"{name}.around_cross.norm"))
    fill(layer.feed_forward.layer_norm, *ours.linear(f"{name}.around_ffn.norm"))
    fill(layer.feed_forward.pwff_layer[0], *ours.linear(f"{name}.ffn.W_1"))
    fill(layer.feed_forward.pwff_layer[3], *ours.linear(f"{name}.ffn.W_2"))


def fill_attention(attention: Any, parts: list[tuple[Tensor, Tensor]], ours: Ours, name: str) -> None:
    layers = (attention.q_layer, attention.k_layer, attention.v_layer)
    for layer, part in zip(layers, parts, strict=True):
        fill(layer, *part)
    fill(attention.output_layer, *ours.linear(f"{name}.W_o"))


def recurrent(ours: Ours) -> dict[str, Any]:
    encoder, decoder = ours.model["encoder"], ours.model["decoder"]
    both = {"type": "recurrent", "embeddings": embeddings(ours, scale=False)}
    return {
        "encoder": {**both, "rnn_type": encoder["cell"], "hidden_size": encoder["width"]},
        "decoder": {
            **both,
            "rnn_type": decoder["cell"],
            "hidden_size": decoder["width"],
            "attention": "luong",
            "init_hidden": "zero",
            "input_feeding": decoder["input_feeding"],
        },
    }


def fill_recurrent(model: Model, ours: Ours) -> None:
    fill_cell(model.encoder.rnn, "_l0", ours, "encoder.layers.0.right")
    fill_cell(model.encoder.rnn, "_l0_reverse", ours, "encoder.layers.0.left")
    fill_cell(model.decoder.rnn, "_l0", ours, "decoder.trunk.layers.0.cell")
    fill(model.decoder.attention.key_layer, ours.weights["decoder.attention.score.W.weight"])
    W_c = ours.weights["decoder.attentional.W_c.weight"]
    size = ours.model["decoder"]["width"]
    swapped = torch.cat((W_c[:, -size:], W_c[:, :-size]), dim=1)  # [c; s] → [s; c]
    fill(model.decoder.att_vector_layer, swapped, torch.zeros(len(W_c)))


if __name__ == "__main__":
    serve(build)
