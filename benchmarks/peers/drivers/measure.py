"""What the drivers share: the command line, the clock over the steady state, the one line of JSON."""

import argparse
import contextlib
import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import torch


@dataclass
class Order:
    """One measurement asked for on the command line."""

    data: Path
    model: Path
    updates: int
    warm_up: int
    precision: str
    threads: int

    @property
    def total_updates(self) -> int:
        """Updates to train for: the window closes when the update after the last measured one begins."""
        return self.warm_up + self.updates + 1


class Clock:
    """Times whole updates: from the start of the first measured to the start of the one after the last."""

    def __init__(self, order: Order) -> None:
        self.first = order.warm_up
        self.after_last = order.warm_up + order.updates
        self.seen = 0
        self.target_tokens = 0
        self.began = self.ended = 0.0

    def update_begins(self, target_tokens: int) -> None:
        """Note the start of an update that trains on this many target tokens, </s> included, padding not."""
        if self.seen == self.first:
            self.began = time.perf_counter()
        if self.seen == self.after_last:
            self.ended = time.perf_counter()
        if self.first <= self.seen < self.after_last:
            self.target_tokens += target_tokens
        self.seen += 1


def read_order(description: str | None, precisions: Sequence[str]) -> Order:
    """Read the command line and set the number of threads."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("data", type=Path, help="folder with train.en, train.de, val.en, val.de")
    parser.add_argument("model", type=Path, help="SentencePiece model written by prepare.py")
    parser.add_argument("--updates", type=int, default=30, help="updates to measure (default 30)")
    parser.add_argument("--warm-up", type=int, default=5, help="updates before the clock starts (default 5)")
    parser.add_argument("--precision", choices=precisions, default="fp32")
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    return Order(
        args.data.resolve(), args.model.resolve(), args.updates, args.warm_up, args.precision, args.threads
    )


@contextlib.contextmanager
def talk_on_stderr() -> Iterator[None]:
    """Send all that the peer prints to stderr, so that stdout carries the result alone."""
    sys.stdout.flush()
    stdout = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(stdout, 1)
        os.close(stdout)


def report(peer: str, package: str, order: Order, clock: Clock) -> None:
    """Print the result, or fail if the peer stopped before the window closed."""
    if clock.seen <= clock.after_last:
        sys.exit(f"{peer} stopped after {clock.seen} of {order.total_updates} updates")
    seconds = clock.ended - clock.began
    result = {
        "peer": peer,
        "version": version(package),
        "precision": order.precision,
        "updates": order.updates,
        "seconds": round(seconds, 3),
        "target_tokens": clock.target_tokens,
        "tokens_per_second": round(clock.target_tokens / seconds, 1),
        "counted": "from the batches trained on",
    }
    print(json.dumps(result))
