"""Force attention: at given steps of an output, every attention to the source reads one source token only.

Only the bias of the energies is changed, to −∞ at all other tokens: the softmax of the network's own equation
is then 1 at that token and exactly 0 elsewhere, in every layer and head. As with a capture, the network does
not know of it, and nothing remains after the context.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext
from typing import Any

import torch
from torch import nn

from dragoman.errors import UsageError
from dragoman.models.decoders.attention import DecoderAttention
from dragoman.models.seq2seq import Seq2Seq
from dragoman.nn.attention.multi_head import CrossAttention, KeyValue, Shape
from dragoman.nn.conv.attention import MultiStepAttention
from dragoman.protocols import State, Step
from dragoman.search.processors.wrapper import unwrap, wrap, wrap_step
from dragoman.shapes import Bool, Float, Int, Shaped, Tensor

# (module, bias, number of queries) → bias; that of a query for each hypothesis, or for each step of an output
ChangeBias = Callable[[nn.Module, Tensor, int], Tensor]


class ForcedAttention:
    """A network as a stepper that searches with forced attention; `at` has a source position for a step."""

    def __init__(self, network: Seq2Seq, at: Mapping[int, int]) -> None:
        self.network = network
        self.at = at

    def start(self, src: Shaped[Tensor, "B S *f"], keep: Bool[Tensor, "B S"], width: int) -> State:
        return wrap(self.network.start(src, keep, width), 0)

    def step(self, y: Int[Tensor, " N"], state: State) -> Step:
        t: int = state.moving.memory
        with attending_to(self.network, self.at[t]) if t in self.at else nullcontext():
            step = self.network.step(y, unwrap(state))
        return wrap_step(step, step.log_p, t + 1)


@contextmanager
def attending_to(network: nn.Module, source: int) -> Iterator[None]:
    """Let every query read the source token `source` only: those of one step, of any number of hypotheses."""

    def change(module: nn.Module, bias: Tensor, queries: int) -> Tensor:
        return only(bias, source)

    with changed_bias(network, change):
        yield


@contextmanager
def forced_attention(network: nn.Module, at: Mapping[int, int]) -> Iterator[None]:
    """Let the queries of the steps `at` read one source token each, while a given output is read once."""
    seen = Counter[nn.Module]()  # steps: a decoder reads them all at once, or one after the other

    def change(module: nn.Module, bias: Tensor, queries: int) -> Tensor:
        first = seen[module]
        seen[module] += queries
        rows = {t - first: source for t, source in at.items() if first <= t < first + queries}
        if not rows:
            return bias
        forced = bias.expand(*bias.shape[:-2], queries, -1).clone()
        for row, source in rows.items():
            forced[..., row, :] = only(forced[..., row, :], source)
        return forced

    with changed_bias(network, change):
        yield


def only(bias: Float[Tensor, "*b S"], source: int) -> Float[Tensor, "*b S"]:
    """Return a bias that hides everything but one source token."""
    S = bias.shape[-1]
    if not 0 <= source < S or bool((bias[..., source] == -torch.inf).any()):
        real = int((bias.view(-1, S)[0] > -torch.inf).sum())
        raise UsageError(
            f"There is no source token {source} to attend to.",
            where="attend",
            expected=f"a position from 0 to {real - 1}, that of </s>",
            hint="attend={0: 2} lets the first step read the third source token only.",
        )
    forced = torch.full_like(bias, -torch.inf)
    forced[..., source] = 0.0
    return forced


@contextmanager
def changed_bias(network: nn.Module, change: ChangeBias) -> Iterator[None]:
    """Let `change` replace the bias of every attention to the source."""
    with ExitStack() as stack:
        for module in network.modules():
            if hook := bias_hook(module, change):
                stack.callback(module.register_forward_pre_hook(hook).remove)
            if isinstance(module, CrossAttention):
                stack.enter_context(shadowed_step(module, change))
        yield


def bias_hook(module: nn.Module, change: ChangeBias) -> Any:
    """Return a hook that changes the arguments of a call, or None for modules of other kinds."""

    def recurrent(module: DecoderAttention, given: tuple[Any, ...]) -> tuple[Any, ...]:
        s, projected = given
        return s, projected._replace(bias=change(module, projected.bias, s.shape[1]))

    def convolutional(module: MultiStepAttention, given: tuple[Any, ...]) -> tuple[Any, ...]:
        h, g, shape, source = given
        return h, g, shape, source._replace(bias=change(module, source.bias, shape[1]))

    def transformer(module: CrossAttention, given: tuple[Any, ...]) -> tuple[Any, ...]:
        x, shape, kv, bias = given
        present = x.new_zeros(1, 1, kv.k.shape[2]) if bias is None else bias
        return x, shape, kv, change(module, present, shape[1])

    match module:
        case DecoderAttention():
            return recurrent
        case MultiStepAttention():
            return convolutional
        case CrossAttention():
            return transformer
    return None


@contextmanager
def shadowed_step(module: CrossAttention, change: ChangeBias) -> Iterator[None]:
    """Change the bias of decoding steps, which call a method that has no hooks: it is shadowed meanwhile."""

    def forward_with_weights(
        x: Float[Tensor, "N D"], shape: Shape, kv: KeyValue, bias: Float[Tensor, "B H 1 S"]
    ) -> tuple[Tensor, Tensor]:
        return CrossAttention.forward_with_weights(module, x, shape, kv, change(module, bias, shape[1]))

    object.__setattr__(module, "forward_with_weights", forward_with_weights)
    try:
        yield
    finally:
        object.__delattr__(module, "forward_with_weights")
