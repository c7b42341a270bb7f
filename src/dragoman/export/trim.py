"""Vocabulary trimming: removal of unused sub-words, for fewer rows to store and to score at each step."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from dragoman.config.root import Config
from dragoman.config.search import SearchConfig
from dragoman.data.pair import Pair, blocks
from dragoman.data.readers.open_pairs import open_pairs
from dragoman.errors import DataError, DragomanError, ModelError, UsageError
from dragoman.inference.find_model import find_model
from dragoman.inference.runtimes.torch import TorchRuntime
from dragoman.models.builders.network import new_model
from dragoman.models.bundle import Bundle, load_bundle, save_bundle
from dragoman.models.folder import CARD, open_folder
from dragoman.text.tokenizer import Tokenizer
from dragoman.text.tokenizer_pair import TokenizerPair
from dragoman.text.tokenizers.lowercase import Lowercase
from dragoman.text.tokenizers.sentencepiece import SentencePiece

COMPARED = 64  # sources translated before and after
NOTE = """
## Trimmed

Sub-words unused in {origin} were removed: {before} entries became {after}. Of {compared} outputs of
greedy search, {same} are unchanged.
"""

Counts = NDArray[np.int64]
Corpora = Callable[[], Iterator[Pair]]


class Trimmed(NamedTuple):
    folder: Path
    before: tuple[int, int]  # vocabulary sizes of both sides
    after: tuple[int, int]
    parameters: tuple[int, int]  # before and after
    compared: int
    same: int  # greedy outputs


class Cut(NamedTuple):
    """A tokenizer and its trimmed form; `kept` are the old ids in the order of the new ones."""

    old: Tokenizer
    new: Tokenizer
    kept: list[int]


def trim(model: str | Path, out: Path, files: Sequence[str] = (), *, separate: bool = False) -> Trimmed:
    """Trim the vocabularies of a model to the sub-words of some texts.

    `files` are pairs as for training; by default the training data of the model. With `separate` each side
    gets its own vocabulary, so that only target sub-words are scored.
    """
    folder = find_model(model)
    bundle = load_bundle(folder)
    refuse(bundle, out)
    pairs, origin = corpora(bundle.config, files)
    src, tgt = cuts(bundle.text, *used(bundle.text, pairs()), separate=separate)
    refuse_other_cut(src, tgt, pairs())
    small = cut_bundle(bundle, src, tgt)
    compared, same = outputs(bundle, small, pairs())
    before, after = ((text.src.size, text.tgt.size) for text in (bundle.text, small.text))
    note = NOTE.format(
        origin=origin, before=in_words(before), after=in_words(after), compared=compared, same=same
    )
    manifest = open_folder(folder)
    card = manifest.read(folder / CARD).decode("utf-8", "replace") if CARD in manifest else ""
    weights = {name: p.detach() for name, p in small.model.named_parameters()}
    save_bundle(out, small.config, small.text, weights, card + note, bundle.calibration)
    parameters = (count(bundle), count(small))
    return Trimmed(out, before, after, parameters, compared, same)


def refuse(bundle: Bundle, out: Path) -> None:
    if out.exists() and any(out.iterdir()):
        raise UsageError(
            "The folder is not empty.",
            where=str(out),
            expected="a new or empty folder",
            hint=f"-o {out}-trimmed",
        )
    against = [
        f"{tokenizer.kind} units (removed entries would become <unk>)"
        for tokenizer in (bundle.text.src, bundle.text.tgt)
        if not isinstance(plain(tokenizer), SentencePiece)
    ]
    if bundle.config.model.head.kind == "adaptive":
        against.append("an adaptive head (its clusters are ranges of the vocabulary)")
    if against:
        raise ModelError(
            f"This model cannot be trimmed: {' · '.join(dict.fromkeys(against))}.",
            where="[text] and [model] in its settings.toml",
            expected='text.kind = "bpe" or "unigram", and one softmax',
            hint="Train again with a smaller text.size.",
        )


def plain(tokenizer: Tokenizer) -> Tokenizer:
    return tokenizer.inner if isinstance(tokenizer, Lowercase) else tokenizer


def corpora(config: Config, files: Sequence[str]) -> tuple[Corpora, str]:
    """Return a function that opens the pairs, since they are read several times, and their name."""
    if files:
        return lambda: open_pairs(files), " and ".join(Path(file).name for file in files)
    held = [corpus for corpus in (config.data.valid,) if corpus]
    named = [*config.data.train, *held]
    missing = [file for corpus in named for file in corpus.files if not Path(file).is_file()]
    if missing:
        raise DataError(
            "The training data of this model is missing.",
            where=missing[0],
            hint="Name other texts: dragoman trim MODEL train.en train.de -o DIR",
        )

    def pairs() -> Iterator[Pair]:
        return (pair for corpus in named for pair in open_pairs(corpus.files, languages=corpus.languages))

    return pairs, "its training texts"


def used(text: TokenizerPair, pairs: Iterable[Pair]) -> tuple[Counts, Counts]:
    """Count how often each entry occurs in the texts of its side."""
    src, tgt = np.zeros(text.src.size, np.int64), np.zeros(text.tgt.size, np.int64)
    for block in blocks(pairs):
        for counts, tokenizer, lines in (
            (src, text.src, [pair.src for pair in block]),
            (tgt, text.tgt, [pair.tgt for pair in block]),
        ):
            ids = np.concatenate(tokenizer.encode_batch(lines))
            counts += np.bincount(ids, minlength=len(counts))
    return src, tgt


def cuts(text: TokenizerPair, src: Counts, tgt: Counts, *, separate: bool) -> tuple[Cut, Cut]:
    if text.joint and not separate:
        both = cut(text.src, src + tgt)
        return both, both
    return cut(text.src, src), cut(text.tgt, tgt)


def cut(tokenizer: Tokenizer, counts: Counts) -> Cut:
    inner = plain(tokenizer)
    assert isinstance(inner, SentencePiece)
    new, kept = inner.trimmed(np.flatnonzero(counts).tolist())
    return Cut(tokenizer, Lowercase(new) if isinstance(tokenizer, Lowercase) else new, kept)


def refuse_other_cut(src: Cut, tgt: Cut, pairs: Iterable[Pair]) -> None:
    """Raise DragomanError if a line of the texts is segmented differently than before."""
    for block in blocks(pairs):
        for side, lines in ((src, [pair.src for pair in block]), (tgt, [pair.tgt for pair in block])):
            kept = np.array(side.kept)
            both = zip(lines, side.old.encode_batch(lines), side.new.encode_batch(lines), strict=True)
            for line, old, new in both:
                if not np.array_equal(old, kept[new]):
                    raise DragomanError(
                        "Without the removed sub-words, this line would be segmented differently.",
                        where=line[:80],
                        hint="Please report this: it should not happen.",
                    )


def cut_bundle(bundle: Bundle, src: Cut, tgt: Cut) -> Bundle:
    joint = src is tgt
    text = TokenizerPair(src.new, tgt.new, joint, bundle.text.lowercase, bundle.text.sampling)
    config = bundle.config
    if bundle.text.joint and not joint:
        tied = "target" if config.model.tied == "all" else config.model.tied
        config = config.model_copy(
            update={
                "text": config.text.model_copy(update={"joint": False}),
                "model": config.model.model_copy(update={"tied": tied}),
            }
        )
    model = new_model(config, text)
    with torch.no_grad():
        for name, p in model.named_parameters():
            old = bundle.model.get_parameter(name)
            side = src if name.startswith("encoder.") else tgt
            p.copy_(old if old.shape == p.shape else old[torch.tensor(side.kept)])
    return Bundle(config, text, model.eval(), bundle.calibration)


def outputs(before: Bundle, after: Bundle, pairs: Iterable[Pair]) -> tuple[int, int]:
    """Return how many sources both models translated, and how many outputs of greedy search are equal."""
    sources = [pair.src for pair in islice(pairs, COMPARED)]
    greedy = SearchConfig(kind="greedy", max_length=before.config.search.max_length)
    old, new = (TorchRuntime(bundle)(sources, greedy) for bundle in (before, after))
    same = sum(a.text == b.text for a, b in zip(old, new, strict=True))
    return len(sources), same


def count(bundle: Bundle) -> int:
    return sum(p.numel() for p in bundle.model.parameters())


def in_words(sizes: tuple[int, int]) -> str:
    return f"{sizes[0]:,} + {sizes[1]:,}" if sizes[0] != sizes[1] else f"{sizes[0]:,}"
