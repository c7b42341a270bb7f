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
MIXED = 0.05  # share of swapped pairs above which a corpus has both directions
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
class LabelReport:
    """The labels of a corpus: of each line, or of each word."""

    are_closed: bool  # whether training refuses a validation label that it does not have
    counts: dict[str, int] = field(default_factory=dict)  # in training, most frequent first
    # Labels of "valid" and "test" that training does not have, with their counts.
    unseen: dict[str, dict[str, int]] = field(default_factory=dict)
    conflicts: Finding = field(default_factory=Finding)  # texts that occurred before with other labels

    @property
    def single(self) -> list[str]:
        """The labels that occur once."""
        return [label for label, count in self.counts.items() if count == 1]

    def refuses(self, name: str) -> bool:
        """Return whether training refuses the labels of a held-out set."""
        return self.are_closed and name == "valid" and bool(self.unseen.get(name))


@dataclass
class CheckReport:
    files: list[str]
    pairs: int = 0
    duplicates: Finding = field(default_factory=Finding)
    empty: Finding = field(default_factory=Finding)
    lengths: Finding = field(default_factory=Finding)
    copies: Finding = field(default_factory=Finding)
    swapped: Finding = field(default_factory=Finding)  # source and target, unlike in most pairs
    controls: Finding = field(default_factory=Finding)
    length_ratio: float | None = None  # median of target characters per source character, if compared
    length_correlation: float | None = None  # of source and target; None if lengths are not informative
    drift: Drift | None = None
    faults: Faults = field(default_factory=Faults)
    passed: dict[str, int] = field(default_factory=dict)  # units that a reader leaves out, by kind
    leakage: dict[str, Overlap] = field(default_factory=dict)  # of "valid" and "test"
    # Those of "valid" and "test" with source and target swapped.
    turned: list[str] = field(default_factory=list)
    labels: LabelReport | None = None  # if the targets are labels
    characters: int | None = None  # of a text without a source

    @property
    def is_shuffled(self) -> bool:
        """Whether the lengths of source and target are unrelated."""
        return self.length_correlation is not None and self.length_correlation < UNRELATED

    @property
    def is_doubtful(self) -> bool:
        """Whether training would accept these files but learn little from them."""
        leaks = any(overlap.share > LEAKY for overlap in self.leakage.values())
        unseen = self.labels is not None and any(self.labels.unseen.values())
        mixed = self.swapped.count > MIXED * self.pairs
        return self.is_shuffled or mixed or self.drift is not None or bool(self.turned) or leaks or unseen

    @property
    def kept(self) -> int:
        return self.pairs - self.duplicates.count - self.empty.count - self.lengths.count

    @property
    def usable(self) -> bool:
        """Whether training accepts these files as they are."""
        refused = self.labels is not None and self.labels.refuses("valid")
        return not self.faults.counts and not refused

    def to_json(self) -> dict[str, Any]:
        record = asdict(self) | {"faults": self.faults.to_json()}
        for name in ("duplicates", "empty", "lengths", "copies", "swapped", "controls"):
            record[name]["examples"] = [pair._asdict() for pair in getattr(self, name).examples]
        if self.labels:
            found = self.labels.conflicts
            record["labels"]["conflicts"]["examples"] = [pair._asdict() for pair in found.examples]
        if self.drift:
            record["drift"] = self.drift._asdict() | {"pair": self.drift.pair._asdict()}
        for name, overlap in self.leakage.items():
            record["leakage"][name]["twins"] = [twin._asdict() for twin in overlap.twins]
        return record | {"kept": self.kept, "usable": self.usable, "doubtful": self.is_doubtful}
