"""The real tokens of a padded batch, for what the host decides by the ids of a source."""

from __future__ import annotations

from itertools import compress

import torch

from dragoman.shapes import Bool, Int, Tensor


def real_ids(ids: Int[Tensor, "N T"], keep: Bool[Tensor, "N T"]) -> list[list[int]]:
    """Return the rows without padding, by one transfer."""
    rows, masks = torch.stack((ids, keep.long())).tolist()
    return [list(compress(row, mask)) for row, mask in zip(rows, masks, strict=True)]
