"""Best path decoding: the most probable label of each frame (Graves et al. 2006, section 3.2)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from dragoman.search.hypothesis import Hypothesis
from dragoman.search.scores import refuse_nan

Floats = NDArray[np.floating]


def collapse(path: Sequence[int], blank: int) -> tuple[int, ...]:
    """Return B(π): repeats are merged, then blanks are removed."""
    return tuple(label for label, _ in groupby(path) if label != blank)


def best_path(log_y: Floats) -> Hypothesis:
    """Return the labelling of the best path, with the probability of that path, for log y of [S V].

    The blank is the last of the V labels. Another labelling may be more probable, if it has more paths.
    """
    path = log_y.argmax(axis=1)
    log_p = float(np.take_along_axis(log_y, path[:, None], axis=1).sum(dtype=np.float64))
    refuse_nan(log_p)
    return Hypothesis(collapse(path.tolist(), log_y.shape[1] - 1), log_p, log_p, finished=True)
