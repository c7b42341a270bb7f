"""Translation edit rate (Snover et al. 2006), by sacreBLEU."""

from __future__ import annotations

from collections.abc import Sequence

from sacrebleu.metrics.ter import TER


def metric(references: Sequence[str] = (), *, lowercase: bool = False) -> TER:
    """Return sacreBLEU's TER, which ignores case whether or not everything is lowercased."""
    return TER()
