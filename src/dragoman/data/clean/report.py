"""The report of `check`, which the terminal and --json show."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from dragoman.data.clean.drift import Drift
from dragoman.data.clean.leakage import Overlap
from dragoman.data.clean.sides import UNRELATED
from dragoman.data.pair import Pair, excerpt
from dragoman.errors import DataError

SHOWN = 3
LEAKY = 0.5  # share of held-out pairs in training above which a score means nothing


@dataclass
class Finding:
    """The number of pairs that match a rule, and the first few."""

    count: int = 0
    examples: list[Pair] = field(default_factory=list)

    def add(self, pair: Pair) -> None:
        self.count += 1
        if len(self.examples) < SHOWN:
            self.examples.append(excerpt(pair))


@dataclass
class Faults:
    """Faults that training would refuse: the number of each kind, and the first few."""

    counts: dict[str, int] = field(default_factory=dict)
    errors: list[DataError] = field(default_factory=list)

    def add(self, kind: str, error: DataError) -> None:
        self.counts[kind] = self.counts.get(kind, 0) + 1
        if len(self.errors) < SHOWN:
            self.errors.append(error)

    def to_json(self) -> dict[str, Any]:
        return {
            "counts": self.counts,
            "first": [
                {"what": e.what, "where": e.where, "expected": e.expected, "hint": e.hint}
                for e in self.errors
            ],
        }


@dataclass
class CheckReport:
    files: list[str]
    pairs: int = 0
    duplicates: Finding = field(default_factory=Finding)
    empty: Finding = field(default_factory=Finding)
    lengths: Finding = field(default_factory=Finding)
    copies: Finding = field(default_factory=Finding)
    controls: Finding = field(default_factory=Finding)
    length_ratio: float = 1.0  # median of target characters per source character
    length_correlation: float | None = None  # of source and target; None if lengths are not informative
    drift: Drift | None = None
    faults: Faults = field(default_factory=Faults)
    passed: dict[str, int] = field(default_factory=dict)  # units that a reader leaves out, by kind
    leakage: dict[str, Overlap] = field(default_factory=dict)  # of "valid" and "test"
    # Those of "valid" and "test" with source and target swapped.
    turned: list[str] = field(default_factory=list)

    @property
    def is_shuffled(self) -> bool:
        """Whether the lengths of source and target are unrelated."""
        return self.length_correlation is not None and self.length_correlation < UNRELATED

    @property
    def is_doubtful(self) -> bool:
        """Whether training would accept these files but learn little from them."""
        leaks = any(overlap.share > LEAKY for overlap in self.leakage.values())
        return self.is_shuffled or self.drift is not None or bool(self.turned) or leaks

    @property
    def kept(self) -> int:
        return self.pairs - self.duplicates.count - self.empty.count - self.lengths.count

    @property
    def usable(self) -> bool:
        """Whether training accepts these files as they are."""
        return not self.faults.counts

    def to_json(self) -> dict[str, Any]:
        record = asdict(self) | {"faults": self.faults.to_json()}
        for name in ("duplicates", "empty", "lengths", "copies", "controls"):
            record[name]["examples"] = [pair._asdict() for pair in getattr(self, name).examples]
        if self.drift:
            record["drift"] = self.drift._asdict() | {"pair": self.drift.pair._asdict()}
        for name, overlap in self.leakage.items():
            record["leakage"][name]["twins"] = [twin._asdict() for twin in overlap.twins]
        return record | {"kept": self.kept, "usable": self.usable, "doubtful": self.is_doubtful}
