"""Listen to a network while it runs: the attention of every layer and head, and the output of every layer.

A capture registers torch's forward hooks and removes them at its end. The network does not know of it: its
outputs are the same bits, and without a capture nothing is computed. Weights that a fused kernel does not
return are computed again, from the module's own projections, by the definition in `nn/attention`.

    with Capture(network) as seen:
        network.log_p(batch)
    seen.attention["decoder.layers.0.cross"]
"""

from __future__ import annotations

import copy
from types import TracebackType
from typing import Any, NamedTuple, TypeVar

import torch
from torch import nn
from torch.utils.hooks import RemovableHandle

from dragoman.models.decoders.attention import DecoderAttention
from dragoman.nn.attention.attend import scaled_dot
from dragoman.nn.attention.multi_head import CrossAttention, SelfAttention, Shape, combine_biases, split_heads
from dragoman.nn.attention.pooling import LearnedQuery, MaxPooling, MeanPooling, PositionBiasPooling
from dragoman.nn.conv.attention import MultiStepAttention
from dragoman.nn.conv.block import DecoderBlock, EncoderBlock
from dragoman.nn.conv.gated import GatedConvolution
from dragoman.nn.dropout import Dropout
from dragoman.nn.recurrent import residual
from dragoman.nn.transformer.transformer_layer import DecoderLayer, EncoderLayer
from dragoman.shapes import Float, Tensor

Network = TypeVar("Network", bound=nn.Module)

ATTENTION = (
    SelfAttention,
    CrossAttention,
    DecoderAttention,
    MultiStepAttention,
    LearnedQuery,
    MeanPooling,
    MaxPooling,
    PositionBiasPooling,
)
# What surrounds a recurrent cell is called at every step and for whole sequences; the cell itself is not.
AROUND_CELL = (residual.Plain, residual.Residual)
LAYERS = (EncoderLayer, DecoderLayer, EncoderBlock, DecoderBlock, GatedConvolution, *AROUND_CELL)
NO_DROPOUT = Dropout(0.0)  # weights are captured before dropout, which would draw from the network's stream


def private(network: Network) -> Network:
    """Return a copy with the same parameters, for hooks that calls in other threads must not run into."""
    tensors = (*network.parameters(), *network.buffers())
    return copy.deepcopy(network, {id(tensor): tensor for tensor in tensors})


class LayerCall(NamedTuple):
    """One call of a layer: what it read and returned, of whole sequences or of one step.

    `shape` is that of flat rows, and None for tensors that have a time axis, or one step of it.
    """

    x: Tensor
    y: Tensor
    shape: Shape | None

    def steps(self, tensor: Tensor) -> Float[Tensor, "B T D"]:
        """Return a tensor of the form of x or y with its time axis."""
        if self.shape is not None:
            return tensor.view(*self.shape, -1)
        return tensor if tensor.dim() == 3 else tensor.unsqueeze(1)


class Capture:
    """A context in which the calls of a network's attention and layers are recorded, by module name."""

    def __init__(self, network: nn.Module) -> None:
        self.network = network
        self.calls: dict[str, list[LayerCall]] = {}
        self._weights: dict[str, list[Tensor]] = {}
        self._hooks: list[RemovableHandle] = []

    def __enter__(self) -> Capture:
        for name, module in self.network.named_modules():
            if isinstance(module, ATTENTION):
                self._hooks.append(module.register_forward_hook(self._attention_hook(name)))
            elif isinstance(module, LAYERS):
                own = name.removesuffix(".around")  # the layer whose cell it surrounds
                self._hooks.append(module.register_forward_hook(self._layer_hook(own)))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        while self._hooks:
            self._hooks.pop().remove()

    @property
    def attention(self) -> dict[str, Float[Tensor, "B H T S"]]:
        """The weights of each attention, in the order of the network; one step after the other."""
        return {name: torch.cat(calls, dim=2) for name, calls in self._weights.items()}

    @property
    def outputs(self) -> dict[str, Float[Tensor, "B T D"]]:
        """The output of each layer."""
        return {name: torch.cat([c.steps(c.y) for c in calls], dim=1) for name, calls in self.calls.items()}

    @property
    def inputs(self) -> dict[str, Float[Tensor, "B T X"]]:
        """The input of each layer."""
        return {name: torch.cat([c.steps(c.x) for c in calls], dim=1) for name, calls in self.calls.items()}

    def _attention_hook(self, name: str) -> Any:
        def hook(module: nn.Module, given: tuple[Any, ...], output: Any) -> None:
            self._weights.setdefault(name, []).append(attention_weights(module, given, output))

        return hook

    def _layer_hook(self, name: str) -> Any:
        def hook(module: nn.Module, given: tuple[Any, ...], output: Any) -> None:
            if isinstance(module, AROUND_CELL):
                shape = None
            else:
                shape = given[2] if isinstance(module, DecoderBlock) else given[1]
            self.calls.setdefault(name, []).append(LayerCall(given[0], output, shape))

        return hook


def attention_weights(module: nn.Module, given: tuple[Any, ...], output: Any) -> Float[Tensor, "B H T S"]:
    """Return the weights of one call: what the module returned, or by definition from its projections."""
    match module:
        case SelfAttention():
            x, shape, bias = given
            q, kv = module.project(x, shape, 0)
            return scaled_dot(q, kv.k, kv.v, module.score_bias(q, bias), NO_DROPOUT)[1].detach()
        case CrossAttention():
            x, shape, kv, bias = given
            (q,) = split_heads(module.W_q(x), shape, 1, module.heads)
            return scaled_dot(q, kv.k, kv.v, combine_biases(bias, None), NO_DROPOUT)[1].detach()
        case DecoderAttention() | MultiStepAttention():
            weights: Tensor = output[1].detach()
            return weights.unsqueeze(1)  # (B T S): one head
        case _:
            pooled: Tensor = output[1].detach()
            return pooled[:, None, None]  # (B S): one head and one query
