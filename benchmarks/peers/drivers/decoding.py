"""What the decoding drivers share: our weights, the shape of the model, and turns asked for line by line.

A driver builds the peer's model, fills it with our weights, and decodes the sources as often as it is asked
to: each line of stdin is {"size": 5, "batch": 32}, each answer {"seconds": …, "outputs": [[ids], …]}.
"""

import argparse
import json
import sys
import time
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from measure import talk_on_stderr
from safetensors.torch import load_file
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

PAD, UNK, BOS, EOS = 0, 1, 2, 3
SPECIALS = ("<pad>", "<unk>", "<s>", "</s>")
NEVER = -1e4  # the bias of what our searches never write
EPSILON = 1e-5  # of our layer norms

# A padded batch of sources, the size of the beam (1 is greedy) and the longest output: one output for each.
Decode = Callable[[Tensor, int, int], list[list[int]]]


@dataclass
class Ours:
    """A model folder of ours: its weights by name and its [model]."""

    weights: dict[str, Tensor]
    model: dict[str, Any]

    @property
    def matrix(self) -> Tensor:
        """The one embedding of source, target and output."""
        return self.weights["encoder.embed.matrix"]

    @property
    def output_bias(self) -> Tensor:
        bias = self.weights["head.b"].clone()
        bias[[PAD, BOS]] = NEVER
        return bias

    def linear(self, name: str) -> tuple[Tensor, Tensor]:
        return self.weights[f"{name}.weight"], self.weights[f"{name}.bias"]

    def attention(self, name: str, fused: str) -> list[tuple[Tensor, Tensor]]:
        """Weight and bias of what one matrix of ours makes: `qkv` or `kv`."""
        weight, bias = self.linear(f"{name}.W_{fused}")
        return list(zip(weight.chunk(len(fused)), bias.chunk(len(fused)), strict=True))

    def sinusoids(self, length: int) -> Tensor:
        """All sines, then all cosines."""
        size = self.matrix.shape[1]
        angle = torch.arange(length).unsqueeze(1) / 10_000 ** (torch.arange(0, size, 2) / size)
        return torch.cat((angle.sin(), angle.cos()), dim=-1)


def fill(module: Any, weight: Tensor, bias: Tensor | None = None) -> None:
    """Put weights in place; shapes must be those that are there."""
    with torch.no_grad():
        assert module.weight.shape == weight.shape, (module, weight.shape)
        module.weight.copy_(weight)
        if bias is not None:
            module.bias.copy_(bias)


def fill_cell(rnn: Any, suffix: str, ours: Ours, name: str) -> None:
    """Our gates stand as torch's do, with one bias each."""
    with torch.no_grad():
        getattr(rnn, f"weight_ih{suffix}").copy_(ours.weights[f"{name}.W_x"])
        getattr(rnn, f"weight_hh{suffix}").copy_(ours.weights[f"{name}.W_h"])
        getattr(rnn, f"bias_ih{suffix}").copy_(ours.weights[f"{name}.b"])
        getattr(rnn, f"bias_hh{suffix}").zero_()


def serve(build: Callable[[Ours], Decode]) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("model", type=Path, help="folder with weights.safetensors and settings.toml")
    parser.add_argument("sources", type=Path, help="JSON: a list of sources, each a list of ids")
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    settings = tomllib.loads((args.model / "settings.toml").read_text("utf-8"))
    sources = [torch.tensor(ids) for ids in json.loads(args.sources.read_text("utf-8"))]
    with talk_on_stderr():
        decode = build(Ours(load_file(args.model / "weights.safetensors"), settings["model"]))
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        with talk_on_stderr():
            began = time.perf_counter()
            outputs = in_order(decode, sources, asked["size"], asked["batch"])
            seconds = time.perf_counter() - began
        print(json.dumps({"seconds": seconds, "outputs": outputs}), flush=True)


def in_order(decode: Decode, sources: list[Tensor], size: int, batch: int) -> list[list[int]]:
    """Longest first, so that little is padded; outputs as the sources stand."""
    order = sorted(range(len(sources)), key=lambda place: -len(sources[place]))
    outputs: list[list[int]] = [[] for _ in sources]
    for start in range(0, len(order), batch):
        places = order[start : start + batch]
        rows = [sources[place] for place in places]
        padded = pad_sequence(rows, batch_first=True, padding_value=PAD)
        found = decode(padded, size, 3 * len(rows[0]) + 20)
        for place, output in zip(places, found, strict=True):
            outputs[place] = output
    return outputs


def cut(output: list[int]) -> list[int]:
    """What stands before </s>."""
    return output[: output.index(EOS)] if EOS in output else [id for id in output if id != PAD]
