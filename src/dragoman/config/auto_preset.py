"""Defaults that depend on data and time: `model.preset = "auto"`, vocabulary, batch size, learning rate.

Time is the budget in core-seconds: seconds times cores. With a GPU it is infinite: data alone decide.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from dragoman.config.presets import LEARNING_RATES

AUTO = "auto"
SAMPLED_BYTES = 1 << 18  # read from the beginning of a file
MOST_UNPACKED = 1 << 24
XLIFF = (b"<trans-unit", b"<segment")
LINES = (b"\n",)
# How a translation unit begins.
UNITS = {".tmx": (b"<tu ", b"<tu>"), ".xlf": XLIFF, ".xliff": XLIFF, ".po": (b"\nmsgid ",)}
# How a sentence ends in a file with a word per line.
SENTENCES = dict.fromkeys((".tsv", ".conll", ".conllu"), (b"\n\n", b"\n\r\n"))
FEW, MANY = 100_000, 2_000_000  # pairs
CORES = 16
SHORT_BUDGET, FULL_BUDGET = 3600.0, 4 * 3600.0  # core-seconds that transformer-tiny and -small need
FEW_EPOCHS, TOKENS_PER_PAIR = 20, 12
MORE_DROPOUT = {part: {"dropout": 0.3} for part in ("encoder", "decoder")}
LEARNED = ("bpe", "unigram")
SMALLEST, LARGEST = 500, 8_000  # sub-words
DEFAULT_RATE, LARGEST_RATE = 2e-3, 4e-3
SMALLEST_BATCH, LARGEST_BATCH = 512, 4096  # tokens
GPU_BATCH = 25_000  # tokens, as in Vaswani et al. (2017)
BATCH_PER_PAIR = 0.4  # batch tokens per training pair: about fifty updates per epoch
TOKEN_SECONDS = 4e-4  # of one core for a token of transformer-tiny, roughly
ENOUGH_UPDATES = 2000  # smaller batches are better than fewer updates,
SMALLEST_FAST_BATCH = 1024  # but below this size updates hardly take less time
FEWEST_LINES, LARGEST_FINE_BATCH = 16, 16_384  # if tokens are as small as letters or frames
FRAMES = 512  # of a picture or a sound, roughly
ENOUGH_OCCURRENCES = 200  # of a sub-word in training, on average


class AutoPreset(NamedTuple):
    preset: str
    why: str
    parts: Mapping[str, Any] = {}  # values of the encoder and the decoder instead of those of the preset


def choose(pairs: int, cores: int, time: float = math.inf, *, gpu: bool = False) -> AutoPreset:
    """Return a preset by the amount of data, the cores and the time.

    More data justify a larger model, which needs a faster machine or more time.
    """
    if not pairs:  # unknown
        return AutoPreset("transformer-small", "")
    shown = f"about {float(f'{pairs:.2g}'):,.0f} pairs"
    if time < SHORT_BUDGET:
        little = f"{shown} are read for a short time, in which a smaller model learns more"
        epochs = time / TOKEN_SECONDS / TOKENS_PER_PAIR / pairs
        return AutoPreset(
            "transformer-micro",
            f"{little}; with more time, model.preset=transformer-tiny is better",
            MORE_DROPOUT if epochs >= FEW_EPOCHS else {},
        )
    if pairs < FEW:
        few = f"{shown} are few: a larger model would overfit"
        return AutoPreset("transformer-tiny", f"{few}; model.preset=transformer-small is larger")
    if time < FULL_BUDGET:
        more = (
            f"with {FULL_BUDGET / cores / 3600:.2g} hours or more, model.preset=transformer-small is better"
        )
        return AutoPreset(
            "transformer-tiny", f"{shown} are enough for a larger model, which needs more time; {more}"
        )
    if pairs < MANY:
        return AutoPreset(
            "transformer-small", f"{shown} suit a model of this size; model.preset=transformer-base is larger"
        )
    if gpu:
        return AutoPreset("transformer-base", f"{shown} are enough data for it")
    if cores >= CORES:
        return AutoPreset(
            "transformer-base", f"{shown} are enough data for it, and {cores} cores are fast enough"
        )
    cores_ = "one core is" if cores == 1 else f"{cores} cores are"
    return AutoPreset(
        "transformer-small", f"{shown} are enough for transformer-base, but {cores_} too slow for it"
    )


def default_vocabulary_size(pairs: int, time: float = math.inf) -> int:
    """Return a size at which sub-words are frequent enough: 6,000 for the 29,000 pairs of Multi30k."""
    by_data = 35 * math.sqrt(pairs) if pairs else LARGEST
    by_time = time / TOKEN_SECONDS / ENOUGH_OCCURRENCES
    return round(min(LARGEST, max(SMALLEST, min(by_data, by_time))) / 100) * 100


def default_batch_tokens(pairs: int, time: float = math.inf, *, gpu: bool = False, fine: float = 0.0) -> int:
    """Return a batch size, on a CPU a power of two: with little data or time, more and smaller updates are
    better (Sennrich & Zhang 2019). `fine` is the length of a line in letters or frames, if it is read so."""
    by_data = BATCH_PER_PAIR * pairs if pairs else math.inf
    fewest = min(LARGEST_FINE_BATCH, FEWEST_LINES * fine)
    if gpu:
        return round(max(fewest, min(GPU_BATCH, max(SMALLEST_BATCH, by_data))))
    by_time = max(SMALLEST_FAST_BATCH, time / TOKEN_SECONDS / ENOUGH_UPDATES)
    tokens = max(fewest, min(LARGEST_BATCH, max(SMALLEST_BATCH, min(by_data, by_time))))
    return 1 << round(math.log2(tokens))


def default_learning_rate(encoder: Any, time: float = math.inf, preset: object = None) -> float:
    """Return a learning rate. That of a Transformer is inversely proportional to its width (Yang et al.
    2021); that of a recurrent network follows from the preset, and is larger if there is little time."""
    kind, width = (encoder.get(key) if isinstance(encoder, Mapping) else None for key in ("kind", "width"))
    if kind == "transformer" and isinstance(width, int) and width > 0:
        return min(LARGEST_RATE, 0.5 / width)
    if kind != "rnn":
        return DEFAULT_RATE
    by_preset = LEARNING_RATES.get(preset, DEFAULT_RATE) if isinstance(preset, str) else DEFAULT_RATE
    return LARGEST_RATE if time < SHORT_BUDGET else by_preset


def default_decay(time: float) -> str:
    """Return how the learning rate decays: late in a short run, which learns more then."""
    return "warmup_stable_decay" if time < SHORT_BUDGET else "cosine"


def corpora_of(data: Any) -> list[list[Path]]:
    """Return the training files of each corpus in a table that need not be valid otherwise."""
    train = data.get("train", ()) if isinstance(data, Mapping) else ()
    train = [train] if isinstance(train, str | Mapping) else train
    if isinstance(train, list | tuple) and len(train) == 2 and all(isinstance(one, str) for one in train):
        train = [train]  # ["a.en", "a.de"] is one corpus
    found: list[list[Path]] = []
    for corpus in train if isinstance(train, list | tuple) else ():
        files = corpus.get("files", ()) if isinstance(corpus, Mapping) else corpus
        files = [files] if isinstance(files, str) else files
        named = [Path(file) for file in files if isinstance(file, str)] if isinstance(files, list) else []
        found += [named] if named else []
    return found


def guess_pairs(corpora: Iterable[Sequence[Path]], *, tagged: bool = False) -> int:
    """Estimate the number of pairs from the beginning of each first file, without reading it in full."""
    return sum(guess_units(files[0], tagged) for files in corpora)


def guess_length(corpora: Iterable[Sequence[Path]], *, tagged: bool = False) -> float:
    """Estimate the bytes of a line, or of a sentence of tagged words, of the first files."""
    found = [(beginning(files[0])[0], files[0]) for files in corpora]
    return sum(len(text) for text, _ in found) / max(1, sum(count(*each, tagged) for each in found))


def guess_units(file: Path, tagged: bool) -> int:
    """Estimate the number of lines, of sentences of tagged words, or of units of a translation memory."""
    text, size = beginning(file)
    units = max(1, count(text, file, tagged)) if text else 0
    return units if size <= SAMPLED_BYTES else round(units * size / SAMPLED_BYTES)


def count(text: bytes, file: Path, tagged: bool) -> int:
    suffix = (Path(file.stem) if file.suffix == ".gz" else file).suffix.lower()
    return sum(map(text.count, ({**UNITS, **SENTENCES} if tagged else UNITS).get(suffix, LINES)))


def beginning(file: Path) -> tuple[bytes, int]:
    """Return the text at the beginning of a file, which may be packed, and the size of the file."""
    try:
        if not file.is_file():  # opening a pipe would block until something is written to it
            return b"", 0
        with file.open("rb") as stream:
            head, size = stream.read(SAMPLED_BYTES), file.stat().st_size
        is_packed = file.suffix == ".gz"
        return zlib.decompressobj(wbits=31).decompress(head, MOST_UNPACKED) if is_packed else head, size
    except (OSError, ValueError, zlib.error):  # reported when the file is opened for training
        return b"", 0
