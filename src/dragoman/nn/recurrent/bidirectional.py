"""A bidirectional layer with two independent cells (Schuster & Paliwal 1997)."""

from __future__ import annotations

from torch import nn

from dragoman.nn.cells.cell import Cell
from dragoman.nn.cells.unroll import last, reorder, reversal
from dragoman.nn.dropout import Dropout
from dragoman.nn.fast.recurrent import run
from dragoman.nn.recurrent.merge_directions import ConcatDirections, MeanDirections, ProjectedDirections
from dragoman.nn.recurrent.residual import Plain, Residual
from dragoman.shapes import Bool, Float, Tensor


class BidirectionalLayer(nn.Module):
    """y_i = around(x_i, dropout(join(h→_i, h←_i))).

    The second cell reads the real tokens of each sentence in reverse, so padding never enters a state.
    """

    def __init__(
        self,
        right: Cell,
        left: Cell,
        join: ConcatDirections | MeanDirections | ProjectedDirections,
        around: Plain | Residual,
        dropout: Dropout,
    ) -> None:
        super().__init__()
        self.right = right
        self.left = left
        self.join = join
        self.around = around
        self.dropout = dropout

    def over(
        self, x: Float[Tensor, "B S X"], keep: Bool[Tensor, "B S"]
    ) -> tuple[Float[Tensor, "B S D"], Float[Tensor, "B D"]]:
        """Return the outputs, and the final states joined: h→ of the last real token, h← of the first."""
        order = reversal(keep)
        right = run(self.right, x, self.right.zero(x.shape[0]))
        left = run(self.left, reorder(x, order), self.left.zero(x.shape[0]))
        h = self.join(right, reorder(left, order))
        return self.around(x, self.dropout(h)), self.join(last(right, keep), last(left, keep))
