"""CTC by torch's kernel: the fast equivalent of `ctc.ctc`, if log y is the result of a log_softmax.

The kernel returns the gradient in the logits (eq. 16 of Graves et al. 2006), which log_softmax passes on.
"""

from __future__ import annotations

from torch.nn import functional as F

from dragoman.shapes import Bool, Float, Int, Tensor


def ctc(
    log_y: Float[Tensor, "B S V"],
    keep: Bool[Tensor, "B S"],
    l: Int[Tensor, "B T"],
    l_keep: Bool[Tensor, "B T"],
) -> Float[Tensor, " B"]:
    """Return −log p(l | x) of each row; ∞ for a labelling that does not fit into its frames."""
    return F.ctc_loss(
        log_y.transpose(0, 1),
        l,
        keep.sum(dim=1),
        l_keep.sum(dim=1),
        blank=log_y.shape[2] - 1,
        reduction="none",
    )
