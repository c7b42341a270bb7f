"""Restricted self-attention (Vaswani et al. 2017, section 4): a token sees only its neighbours."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dragoman.nn.attention.attend import window_bias
from dragoman.nn.attention.multi_head import (
    KeyValue,
    SelfAttention,
    Shape,
    attend_heads,
    combine_biases,
    merge_heads,
)
from dragoman.nn.fast.attention import blocks_are_faster, cut, uncut
from dragoman.nn.position import RelativePositions
from dragoman.shapes import Float, Tensor

Hidden = Float[Tensor, "b 1 T"] | None


class WindowedSelfAttention(SelfAttention):
    """Self-attention to `before` tokens back and `after` tokens ahead (0 in a decoder).

    It computes r · n scores instead of n².
    """

    def __init__(
        self,
        size: int,
        heads: int,
        dropout: float,
        *,
        before: int,
        after: int,
        kv_heads: int | None = None,
        relation: RelativePositions | None = None,
    ) -> None:
        super().__init__(size, heads, dropout, kv_heads=kv_heads, relation=relation)
        self.before = before
        self.after = after

    def forward(self, x: Float[Tensor, "N D"], shape: Shape, bias: Hidden) -> Float[Tensor, "N D"]:
        q, kv = self.project(x, shape, 0)
        faster = blocks_are_faster(shape[1], self.before, self.after)
        return self.W_o(merge_heads((self.by_blocks if faster else self.by_mask)(q, kv, bias)))

    def by_mask(self, q: Float[Tensor, "B H T K"], kv: KeyValue, hidden: Hidden) -> Float[Tensor, "B H T K"]:
        """Return the contexts by definition: all n² scores, most of them masked."""
        return attend_heads(q, kv, self.score_bias(q, hidden), self.dropout)

    def score_bias(self, q: Float[Tensor, "B H T K"], bias: Hidden) -> Float[Tensor, "b h T T"]:
        """Return −∞ outside the window too."""
        hidden = q.new_zeros(1, 1, q.shape[2]) if bias is None else bias
        window = window_bias(hidden, q.shape[2], 0, self.before, self.after)
        added = combine_biases(window, self.relation.bias(q.shape[2], q.shape[2], 0))
        assert added is not None
        return added

    def by_blocks(
        self, q: Float[Tensor, "B H T K"], kv: KeyValue, hidden: Hidden
    ) -> Float[Tensor, "B H T K"]:
        """Return the same contexts in blocks, which compute few scores outside the window."""
        blocks = cut(q, kv.k, kv.v, hidden, self.before, self.after)
        related = self.relation.bias(blocks.q.shape[2], blocks.k.shape[2], self.before)
        c = attend_heads(
            blocks.q, KeyValue(blocks.k, blocks.v), combine_biases(blocks.bias, related), self.dropout
        )
        return uncut(c, len(q), q.shape[2])

    def step(
        self, x: Float[Tensor, "N D"], past: KeyValue, place: int
    ) -> tuple[Float[Tensor, "N D"], KeyValue]:
        """Do one step, keeping only as much of the past as the window covers."""
        c, seen = super().step(x, past, place)
        return c, seen.last(self.before)

    def hide_future(self, x: Float[Tensor, "N D"], steps: int) -> None:
        """Return None: the window of a decoder ends at the token itself."""

    if TYPE_CHECKING:
        __call__ = forward
