"""Hugging Face transformers: `generate` on a Pegasus model, which is pre-norm with sinusoids as ours is."""

import torch
from decoding import BOS, EOS, EPSILON, PAD, Decode, Ours, cut, fill, serve
from torch import Tensor
from transformers import PegasusConfig, PegasusForConditionalGeneration


def build(ours: Ours) -> Decode:
    encoder, decoder = ours.model["encoder"], ours.model["decoder"]
    config = PegasusConfig(
        vocab_size=len(ours.matrix),
        d_model=encoder["width"],
        encoder_layers=encoder["layers"],
        decoder_layers=decoder["layers"],
        encoder_attention_heads=encoder["heads"],
        decoder_attention_heads=decoder["heads"],
        encoder_ffn_dim=encoder["ffn"],
        decoder_ffn_dim=decoder["ffn"],
        activation_function=encoder["activation"],
        max_position_embeddings=encoder["max_positions"],
        scale_embedding=True,
        pad_token_id=PAD,
        bos_token_id=BOS,
        eos_token_id=EOS,
        decoder_start_token_id=BOS,
        forced_eos_token_id=None,
    )
    model = PegasusForConditionalGeneration(config).eval()
    fill_model(model, ours)

    def decode(src: Tensor, size: int, longest: int) -> list[list[int]]:
        found = model.generate(
            input_ids=src,
            attention_mask=(src != PAD).long(),
            num_beams=size,
            do_sample=False,
            max_new_tokens=longest,
            length_penalty=1.0,
        )
        return [cut(output[1:]) for output in found.tolist()]

    return decode


def fill_model(model: PegasusForConditionalGeneration, ours: Ours) -> None:
    sides = {"encoder": model.model.encoder, "decoder": model.model.decoder}
    fill(model.model.shared, ours.matrix)
    with torch.no_grad():
        model.final_logits_bias.copy_(ours.output_bias)
    for name, side in sides.items():
        fill(side.embed_positions, ours.sinusoids(len(side.embed_positions.weight)))
        fill(side.layer_norm, *ours.linear(f"{name}.norm"))
        for number, layer in enumerate(side.layers):
            fill_layer(layer, ours, f"{name}.layers.{number}")
    for module in model.modules():
        if isinstance(module, torch.nn.LayerNorm):
            module.eps = EPSILON


def fill_layer(layer: torch.nn.Module, ours: Ours, name: str) -> None:
    fill_attention(layer.self_attn, ours.attention(f"{name}.attention", "qkv"), ours, f"{name}.attention")
    fill(layer.self_attn_layer_norm, *ours.linear(f"{name}.around_attention.norm"))
    if hasattr(layer, "encoder_attn"):
        parts = [ours.linear(f"{name}.cross.W_q"), *ours.attention(f"{name}.cross", "kv")]
        fill_attention(layer.encoder_attn, parts, ours, f"{name}.cross")
        fill(layer.encoder_attn_layer_norm, *ours.linear(f"{name}.around_cross.norm"))
    fill(layer.fc1, *ours.linear(f"{name}.ffn.W_1"))
    fill(layer.fc2, *ours.linear(f"{name}.ffn.W_2"))
    fill(layer.final_layer_norm, *ours.linear(f"{name}.around_ffn.norm"))


def fill_attention(
    attention: torch.nn.Module, parts: list[tuple[Tensor, Tensor]], ours: Ours, name: str
) -> None:
    projections = (attention.q_proj, attention.k_proj, attention.v_proj)
    for projection, part in zip(projections, parts, strict=True):
        fill(projection, *part)
    fill(attention.out_proj, *ours.linear(f"{name}.W_o"))


if __name__ == "__main__":
    serve(build)
