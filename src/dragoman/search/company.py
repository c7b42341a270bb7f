"""Which sentences stay in a batch: the open ones, and a few done ones where those would be too few.

A product with a handful of rows is computed by other kernels than one with many, and differs in the last
bit. In company a sentence has the same bits, and so the same output, alone as in any batch.
"""

from __future__ import annotations

from collections.abc import Sequence

LEAST = 4  # found by trial on 1 and 2 threads


def staying(is_open: Sequence[bool]) -> list[int]:
    """The places that go on, in order."""
    missing = LEAST - sum(is_open)
    done = [place for place, still in enumerate(is_open) if not still]
    company = set(done[: max(missing, 0)])
    return [place for place, still in enumerate(is_open) if still or place in company]
