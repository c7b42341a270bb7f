"""A curve of any length in a bounded number of points."""

from __future__ import annotations

POINTS = 128


class Curve:
    """Each point is the mean of as many values; when there are too many points, neighbours are joined."""

    def __init__(self) -> None:
        self.points: list[float] = []
        self._each = 1  # values a point
        self._sum = 0.0
        self._count = 0

    def add(self, value: float) -> None:
        self._sum += value
        self._count += 1
        if self._count < self._each:
            return
        self.points.append(self._sum / self._count)
        self._sum, self._count = 0.0, 0
        if len(self.points) == POINTS:
            even, odd = self.points[::2], self.points[1::2]
            self.points = [(a + b) / 2 for a, b in zip(even, odd, strict=True)]
            self._each *= 2
