"""Decoding speed: ours in torch beside Hugging Face, JoeyNMT and Eole, with the same weights.

    python -m benchmarks.peers.decode_vs_peers TRANSFORMER [RECURRENT] --peers FOLDER [--from en] [--rounds 2]

TRANSFORMER and RECURRENT are models of ours for Multi30k (quality/multi30k/transformer-tiny.toml and
drivers/recurrent.toml) that read the language `--from`. The environments that drivers/setup.sh makes are in
FOLDER; peers that have none there are left out. The drivers fill the peers' models with our weights. By
turns each system decodes all of test2016 on 2 cores: fp32, greedy and beam 5, 32 and 64 sentences at once,
longest first. Ours runs in torch, once with 2 workers of a thread each, once in one process with 2 threads as
the peers do; and in the engine of its export, if the model folder holds one. Each stops a beam by its own
default, which is the same rule in ours and in Hugging Face. A peer gets and gives ids; ours gets and gives
text, so that it also cuts, joins and judges. The factors are those of one process of ours to one of a peer's;
how many outputs are ours token by token is printed, too.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.quality.multi30k import DATA
from benchmarks.results import add_record, entries, record
from benchmarks.results_page import rows
from dragoman.inference.find_model import find_model

DRIVERS = Path(__file__).resolve().parent / "drivers"
THREADS = 2
KEYS = {"ours": "torch", "export": "ct2", "hf": "huggingface"}
PEERS = {"transformer": ("hf", "joeynmt", "eole"), "recurrent": ("joeynmt", "eole")}
NAMES = {
    "ours": "Dragoman",
    "single": "in one process",
    "export": "its export",
    "hf": "Hugging Face",
    "joeynmt": "JoeyNMT",
    "eole": "Eole",
}
EXPORTS = {"transformer": "ct2", "recurrent": "onnx"}
ONCE = ("joeynmt",)  # it keeps no cache, and takes minutes a turn
SEARCHES = {"greedy": 1, "beam 5": 5}
BATCHES = (32, 64)


class Turn(NamedTuple):
    seconds: float
    outputs: list[list[int]]


class Driver:
    """A process that decodes when it is asked to."""

    def __init__(self, command: list[str]) -> None:
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self._answer()

    def __call__(self, size: int, batch: int) -> Turn:
        assert self.process.stdin is not None
        print(json.dumps({"size": size, "batch": batch}), file=self.process.stdin, flush=True)
        return Turn(**self._answer())

    def _answer(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        answer: dict[str, Any] = json.loads(self.process.stdout.readline())
        return answer


def serve(model: Path, texts: list[str], runtime: Any, workers: int) -> None:
    """Our side of the protocol of drivers/decoding.py."""
    import torch

    from dragoman.allocator import keep_freed_memory
    from dragoman.inference.model import load

    keep_freed_memory()  # as `dragoman run` does
    torch.set_num_threads(THREADS)
    translate = load(model, runtime=runtime, workers=workers)
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        kind = {"kind": "greedy"} if asked["size"] == 1 else {"kind": "beam", "size": asked["size"]}
        began = time.perf_counter()
        results = translate(texts, {**kind, "batch_sentences": asked["batch"]})
        seconds = time.perf_counter() - began
        print(json.dumps({"seconds": seconds, "outputs": [list(r.tokens) for r in results]}), flush=True)


def lines(language: str, count: int) -> list[str]:
    return (DATA / f"test2016.{language}").read_text(encoding="utf-8").split("\n")[:count]


def write_sources(model: Path, texts: list[str], file: Path) -> None:
    """Ids as our own encoder gets them, </s> at the end."""
    from dragoman.data.collate import collate_sources
    from dragoman.models.bundle import load_bundle

    encoded = load_bundle(model).text.src.encode_batch(texts)
    sources = [collate_sources([ids.tolist()])[0][0].tolist() for ids in encoded]
    file.write_text(json.dumps(sources), encoding="utf-8")


def drivers(kind: str, model: Path, language: str, count: int, peers: Path) -> dict[str, Driver]:
    sources = peers / f"sources-{kind}.json"
    write_sources(model, lines(language, count), sources)
    own = [sys.executable, "-m", __spec__.name, str(model), "--from", language, "--serve", str(count)]
    found = {"ours": Driver([*own, "--workers", str(THREADS)]), "single": Driver(own)}
    if (model / EXPORTS[kind]).exists():
        found["export"] = Driver([*own, "--runtime", EXPORTS[kind]])
    for peer in PEERS[kind]:
        python, script = peers / peer / "bin" / "python", DRIVERS / f"decode_{peer}.py"
        if python.exists():
            found[peer] = Driver([str(python), str(script), str(model), str(sources)])
    return found


def compare(
    kind: str, model: Path, language: str, count: int, peers: Path, rounds: int
) -> Iterator[dict[str, Any]]:
    """Sentences per second of each, for each search and batch."""
    asked = drivers(kind, find_model(model), language, count, peers)
    for driver in asked.values():
        driver(1, BATCHES[-1])  # warm
    for label, size in SEARCHES.items():
        for batch in BATCHES:
            turns: dict[str, list[Turn]] = {name: [] for name in asked}
            for turn in range(rounds):
                for name, driver in asked.items():
                    if turn == 0 or name not in ONCE:
                        turns[name].append(driver(size, batch))
            yield {"model": kind, "search": label, "batch": batch, **summary(turns, count)}
    for driver in asked.values():
        driver.process.kill()


def summary(turns: dict[str, list[Turn]], count: int) -> dict[str, Any]:
    ours = turns["ours"][0].outputs
    speed = {name: count * len(taken) / sum(t.seconds for t in taken) for name, taken in turns.items()}
    same = {
        name: sum(a == b for a, b in zip(ours, taken[0].outputs, strict=True))
        for name, taken in turns.items()
        if name != "ours"
    }
    return {"sentences_per_second": speed, "same_outputs": same, "of": count}


def table(found: list[dict[str, Any]]) -> str:
    head = ["model", "search", "sentences at once", *NAMES.values()]
    body = []
    for each in found:
        speed, same = each["sentences_per_second"], each["same_outputs"]
        cells = [each["model"], each["search"], str(each["batch"]), f"{speed['ours']:.0f}"]
        for name in list(NAMES)[1:]:
            cells.append("–")
            if name in speed:
                cells[-1] = f"{speed[name]:.0f} ({speed['single'] / speed[name]:.1f}×, {same[name]:,} alike)"
        body.append(cells)
    return rows(head, body)


def keep(found: list[dict[str, Any]]) -> None:
    """Of the largest batches, what the page has a place for."""
    known = entries()
    for each in found:
        search = "greedy" if each["search"].startswith("greedy") else "beam"
        way = search if each["model"] == "transformer" else "recurrent" * (search == "beam")
        for name, speed in each["sentences_per_second"].items():
            key = f"decode_vs_peers.{way}_{KEYS.get(name, name)}"
            if each["batch"] == BATCHES[-1] and key in known:
                record(key, round(speed), "sentences/s")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("transformer", type=Path)
    parser.add_argument("recurrent", type=Path, nargs="?", help="without it only the first is measured")
    parser.add_argument("--peers", type=Path)
    parser.add_argument("--from", dest="language", choices=["en", "de"], default="en")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--sentences", type=int, default=1000)
    parser.add_argument("--serve", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--runtime", default="torch", help=argparse.SUPPRESS)
    parser.add_argument("--workers", type=int, default=1, help=argparse.SUPPRESS)
    add_record(parser)
    args = parser.parse_args()
    if args.serve:
        return serve(args.transformer, lines(args.language, args.serve), args.runtime, args.workers)
    found = []
    asked = {"transformer": args.transformer, "recurrent": args.recurrent}
    for kind, model in asked.items() if args.recurrent else [("transformer", args.transformer)]:
        for each in compare(kind, model, args.language, args.sentences, args.peers, args.rounds):
            print(json.dumps({"benchmark": "decode_vs_peers", **each}), flush=True)
            found.append(each)
    print(table(found))
    if args.record:
        keep(found)
    return None


if __name__ == "__main__":
    main()
