"""Tensor types, and the axis letters of their shapes, which every test run checks.

B batch · S source steps · T target steps · N rows, any count · V vocabulary · W beam width · L length
D model features · E embedding features · H heads · K features per head · G key heads

of a recurrent net: X input · Y output · G gates × features · C cell state · J both directions joined
of attention:       Q query · M memory · A keys, or characters · Z extra input, or summary
of a window:        P steps or keys of it · R its queries, or rows that are selected · k kernel width · i taps
of search:          C candidates · K hypotheses · F phrases, or filters of characters · k best · G groups
of frames:          F numbers of a frame · X and C channels · M steps and K numbers after a convolution
of training:        P parameters · Q parameters and the sums after them

A small b, h, t, u or v is the axis of its capital, or 1 where it is broadcast. *n, *N, *b, *T, *f are any
axes.

The batch is always the first axis. A mask is called `keep`: True marks a real token.
"""

from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor

__all__ = ["Bool", "Float", "Int", "Shaped", "Tensor"]
