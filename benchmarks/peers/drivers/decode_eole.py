"""Eole: its `Translator` on its own model, Transformer or recurrent."""

import json
import tempfile
from pathlib import Path
from typing import Any

import torch
from decoding import BOS, EOS, PAD, SPECIALS, Decode, Ours, fill, fill_cell, serve
from eole.config.run import PredictConfig
from eole.inputters.inputter import dict_to_vocabs
from eole.models.model import get_model_class
from eole.predict import GNMTGlobalScorer, Translator
from torch import Tensor


def build(ours: Ours) -> Decode:
    is_recurrent = ours.model["encoder"]["kind"] == "rnn"
    translator = translator_of(recurrent(ours) if is_recurrent else transformer(ours), len(ours.matrix))
    model = translator.model
    fill(model.src_emb.embeddings, ours.matrix)
    fill(model.tgt_emb.embeddings, ours.matrix)
    fill(model.generator, ours.matrix, ours.output_bias)
    (fill_recurrent if is_recurrent else fill_transformer)(model, ours)
    model.eval()

    def decode(src: Tensor, size: int, longest: int) -> list[list[int]]:
        translator.beam_size, translator.max_length = size, longest
        batch = {"src": src, "srclen": (src != PAD).sum(1), "ind_in_bucket": list(range(len(src)))}
        found = translator.predict_batch(batch, attn_debug=False)
        return [[id for id in best[0].tolist() if id != EOS] for best in found["predictions"]]

    return decode


def translator_of(model: dict[str, Any], count: int) -> Translator:
    """It reads its settings from a model folder."""
    tokens = [*SPECIALS, *(f"t{id}" for id in range(len(SPECIALS), count))]
    pad, unk, bos, eos = SPECIALS
    names = {"pad_token": pad, "unk_token": unk, "bos_token": bos, "eos_token": eos}
    vocabs = {"src": tokens, "tgt": tokens, "specials": names, "decoder_start_token": SPECIALS[BOS]}
    with tempfile.TemporaryDirectory() as folder:
        settings = {"model": model, "training": {}, "share_vocab": True, "transforms": [], "seed": 1}
        Path(folder, "config.json").write_text(json.dumps(settings), "utf-8")
        config = PredictConfig(
            model_path=[folder], src="-", world_size=0, gpu_ranks=[], max_length_ratio=0, n_best=1
        )
    built = dict_to_vocabs(vocabs)
    return Translator(
        get_model_class(config.model).build(config.model, built, config),
        built,
        config,
        config.model,
        device_id=-1,
        global_scorer=GNMTGlobalScorer.from_config(config),
        report_score=False,
    )


def shared(ours: Ours) -> dict[str, Any]:
    return {"share_embeddings": True, "share_decoder_embeddings": True, "generator_bias": True}


def transformer(ours: Ours) -> dict[str, Any]:
    part = ours.model["encoder"]
    return {
        **shared(ours),
        "architecture": "transformer",
        "layers": part["layers"],
        "heads": part["heads"],
        "hidden_size": part["width"],
        "transformer_ff": part["ffn"],
        "mlp_activation_fn": part["activation"],
        "add_qkvbias": True,
        "add_final_linear_bias": True,
        "add_ffnbias": True,
        "norm_eps": 1e-5,
        "embeddings": {
            "word_vec_size": part["width"],
            "position_encoding": True,
            "position_encoding_type": "SinusoidalConcat",
        },
    }


def fill_transformer(model: Any, ours: Ours) -> None:
    for embedding in (model.src_emb, model.tgt_emb):
        embedding.pe.pe = ours.sinusoids(len(embedding.pe.pe)).unsqueeze(1)
    for name, side in (("encoder", model.encoder), ("decoder", model.decoder)):
        fill(side.layer_norm, *ours.linear(f"{name}.norm"))
        for number, layer in enumerate(side.transformer_layers):
            fill_layer(layer, ours, f"{name}.layers.{number}")


def fill_layer(layer: Any, ours: Ours, name: str) -> None:
    fill_attention(layer.self_attn, ours.attention(f"{name}.attention", "qkv"), ours, f"{name}.attention")
    fill(layer.input_layernorm, *ours.linear(f"{name}.around_attention.norm"))
    if hasattr(layer, "context_attn"):
        parts = [ours.linear(f"{name}.cross.W_q"), *ours.attention(f"{name}.cross", "kv")]
        fill_attention(layer.context_attn, parts, ours, f"{name}.cross")
        fill(layer.precontext_layernorm, *ours.linear(f"{name}.around_cross.norm"))
    fill(layer.post_attention_layernorm, *ours.linear(f"{name}.around_ffn.norm"))
    fill(layer.mlp.gate_up_proj, *ours.linear(f"{name}.ffn.W_1"))
    fill(layer.mlp.down_proj, *ours.linear(f"{name}.ffn.W_2"))


def fill_attention(attention: Any, parts: list[tuple[Tensor, Tensor]], ours: Ours, name: str) -> None:
    layers = (attention.linear_query, attention.linear_keys, attention.linear_values)
    for layer, part in zip(layers, parts, strict=True):
        fill(layer, *part)
    fill(attention.final_linear, *ours.linear(f"{name}.W_o"))


def recurrent(ours: Ours) -> dict[str, Any]:
    decoder = ours.model["decoder"]
    cell = {"rnn_type": decoder["cell"].upper()}
    return {
        **shared(ours),
        "architecture": "custom",  # its own "rnn" reads one way only
        "layers": 1,
        "hidden_size": decoder["width"],
        "encoder": {**cell, "encoder_type": "brnn"},
        "decoder": {**cell, "decoder_type": "rnn", "global_attention": "general"},
        "input_feed": decoder["input_feeding"],
        "embeddings": {"word_vec_size": ours.matrix.shape[1], "position_encoding_type": None},
    }


def fill_recurrent(model: Any, ours: Ours) -> None:
    fill_cell(model.encoder.rnn, "_l0", ours, "encoder.layers.0.right")
    fill_cell(model.encoder.rnn, "_l0_reverse", ours, "encoder.layers.0.left")
    fill_cell(model.decoder.rnn.layers[0], "", ours, "decoder.trunk.layers.0.cell")
    fill(model.decoder.attn.linear_in, ours.weights["decoder.attention.score.W.weight"].T)
    fill(model.decoder.attn.linear_out, ours.weights["decoder.attentional.W_c.weight"])
    begin = model.decoder.init_state

    def begin_with_zeros(**given: Any) -> None:
        begin(**given)
        model.decoder.state["hidden"] = tuple(map(torch.zeros_like, model.decoder.state["hidden"]))

    model.decoder.init_state = begin_with_zeros


if __name__ == "__main__":
    serve(build)
