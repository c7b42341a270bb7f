"""Byte-pair encoding (Sennrich et al. 2016) with BPE-dropout (Provilkov et al. 2020)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from itertools import count, pairwise

import numpy as np

from dragoman.hashing import GAMMA, MASK, U64, hash64_each, uniform
from dragoman.text.tokenizers.sentencepiece import FIRST_LEARNED, SentencePiece
from dragoman.text.tokenizers.words import Ints, Redrawn, Words, ranges

NOTHING = -1  # a pair of symbols that is no key
# The bits of a priority; the smallest is the best merge.
POSITION_BITS = 32
POSITION = (1 << POSITION_BITS) - 1
SKIPPED = 1 << 61
IMPOSSIBLE = 1 << 62


class Bpe(SentencePiece):
    kind = "bpe"

    def __init__(self, model: bytes, rate: float = 0.0) -> None:
        """`rate` is the probability that a merge is skipped."""
        super().__init__(model, rate)
        # Learned pieces are in the order of their merges, so an id is a rank.
        self._rank = {self._pieces[id]: id for id in range(FIRST_LEARNED, self.size)}

    def _redraw(self, words: Words) -> Redrawn:
        """Merge the characters of those words anew for which a skip is drawn before they are complete."""
        characters, lengths = self._spelling
        merges = np.add.reduceat(lengths[words.ids] - 1, words.starts)  # each removes one symbol
        word = np.repeat(np.arange(len(merges)), merges)
        draw = ranges(np.zeros_like(merges), merges).astype(np.uint64)
        chosen = np.zeros(len(merges), bool)
        chosen[word[uniform(hash64_each(words.keys[word], draw)) < self._rate]] = True

        symbols = merges + words.sizes
        by_size = np.argsort(symbols, kind="stable")
        by_size = by_size[chosen[by_size]]
        pieces = words.ids[ranges(words.starts[by_size], words.sizes[by_size])]
        spelled = characters[ranges((np.cumsum(lengths) - lengths)[pieces], lengths[pieces])]
        ids, sizes = merge_with_dropout(
            spelled, symbols[by_size], words.keys[by_size], self._rate, self._merge_table
        )
        return Redrawn(by_size, sizes, ids)

    @cached_property
    def _spelling(self) -> tuple[Ints, Ints]:
        """The ids of the characters of all entries, and how many each has; 1 for a byte or a special."""
        learned = [[self._rank[character] for character in piece] for piece in self._pieces[FIRST_LEARNED:]]
        spelled = [*([id] for id in range(FIRST_LEARNED)), *learned]
        return np.concatenate(spelled, dtype=np.int64), np.array([len(characters) for characters in spelled])

    @cached_property
    def _merge_table(self) -> MergeTable:
        return MergeTable(self._rank)

    def _parts(self, id: int) -> set[int]:
        return {self._rank[merged] for merged in derivation(self._pieces[id], self._rank)}


def derivation(piece: str, rank: Mapping[str, int]) -> list[str]:
    """Return the merge results that lead from characters to `piece`, which is the last.

    A piece in a line always arises this way, whatever its context: no merge crosses its boundaries.
    """
    symbols, merged = list(piece), []
    while possible := [(rank[a + b], i) for i, (a, b) in enumerate(pairwise(symbols)) if a + b in rank]:
        _, at = min(possible)
        symbols[at : at + 2] = [symbols[at] + symbols[at + 1]]
        merged.append(symbols[at])
    return merged


class MergeTable:
    """Which symbol two symbols merge into: a hash table, which is faster here than `np.searchsorted`.

    A pair is looked up in the slot of its hash, then in those after it, up to an empty one.
    """

    def __init__(self, rank: Mapping[str, int]) -> None:
        self._base = max(rank.values(), default=0) + 1
        found = {
            rank[a] * self._base + rank[b]: merged
            for whole, merged in rank.items()
            for cut in range(1, len(whole))
            if (a := whole[:cut]) in rank and (b := whole[cut:]) in rank
        }
        bits = (8 * len(found)).bit_length()
        self._shift = 64 - bits
        self._last = (1 << bits) - 1
        self._pairs = np.full(1 << bits, NOTHING, np.int64)
        self._merged = np.full(1 << bits, IMPOSSIBLE, np.int64)
        for pair, merged in found.items():
            slot = (pair * GAMMA & MASK) >> self._shift
            while self._pairs[slot] != NOTHING:
                slot = (slot + 1) & self._last
            self._pairs[slot], self._merged[slot] = pair, merged << POSITION_BITS

    def priorities(self, left: Ints, right: Ints, positions: Ints) -> Ints:
        """Return the priority of merging each pair: the merged symbol, which is its rank, then the position;
        IMPOSSIBLE or more if it cannot be merged.
        """
        pairs = left * self._base + right
        slots = (pairs.view(np.uint64) * np.uint64(GAMMA) >> np.uint64(self._shift)).view(np.int64)
        found = self._pairs[slots]
        others = np.flatnonzero((found != pairs) & (found != NOTHING))
        while len(others):
            slots[others] = (slots[others] + 1) & self._last
            found = self._pairs[slots[others]]
            others = others[(found != pairs[others]) & (found != NOTHING)]
        return self._merged[slots] | positions


def merge_with_dropout(
    symbols: Ints, sizes: Ints, keys: U64, rate: float, table: MergeTable
) -> tuple[Ints, Ints]:
    """Return the symbols of all words after merging by algorithm 1 of Provilkov et al., and their new sizes.

    At each step every possible merge is skipped with probability `rate` and the best of the others is
    applied, until none is left. Merges are drawn best first until one is not skipped; the n-th draw of a word
    is a hash of its key and n. It is fastest if shorter words come first.
    """
    merging = Merging(symbols, sizes, table)
    for draw in count():
        words, best = merging.best()
        if not len(words):
            break
        is_skipped = uniform(hash64_each(keys[words], np.uint64(draw))) < rate
        merging.skip(best[is_skipped])
        merging.merge(words[~is_skipped], best[~is_skipped])
    return merging.result()


class Merging:
    """The symbols of many words, and the priority of the merge of each with the next symbol of its word."""

    def __init__(self, symbols: Ints, sizes: Ints, table: MergeTable) -> None:
        end = len(symbols)
        self.table = table
        self.starts = np.cumsum(sizes) - sizes
        self.word_of = np.repeat(np.arange(len(sizes)), sizes)
        # One symbol more, 0, is the neighbour of all first and last symbols; it cannot be merged. A symbol
        # that was merged into the one before it is 0, too.
        self.symbols = np.append(symbols, 0)
        self.after, self.before = np.arange(1, end + 2), np.arange(-1, end)
        self.after[self.starts + sizes - 1] = self.after[end] = self.before[self.starts] = end
        self.priority = table.priorities(self.symbols, self.symbols[self.after], np.arange(end + 1))
        self.skipped = np.empty(0, np.int64)  # the positions of merges that were skipped in this step
        self.first = 0  # all words before this one are finished

    def best(self) -> tuple[Ints, Ints]:
        """Return the words that still have a merge, and its priority."""
        starts = self.starts[self.first :]
        if not len(starts):
            return starts, starts
        best = np.minimum.reduceat(self.priority[starts[0] : -1], starts - starts[0])
        unfinished = np.flatnonzero(best < SKIPPED)
        words = self.first + unfinished
        self.first = words[0] if len(words) else len(self.starts)
        return words, best[unfinished]

    def skip(self, best: Ints) -> None:
        at = best & POSITION
        self.priority[at] |= SKIPPED
        self.skipped = np.append(self.skipped, at)

    def merge(self, words: Ints, best: Ints) -> None:
        """Apply a merge in each of these words, whose next step begins."""
        is_new_step = np.zeros(len(self.starts), bool)
        is_new_step[words] = True
        is_possible = is_new_step[self.word_of[self.skipped]]
        self.priority[self.skipped[is_possible]] &= ~SKIPPED
        self.skipped = self.skipped[~is_possible]

        at = best & POSITION
        gone = self.after[at]
        self.symbols[at], self.symbols[gone] = best >> POSITION_BITS, 0
        self.priority[gone] = IMPOSSIBLE
        self.after[at] = self.after[gone]
        self.before[self.after[at]] = at
        changed = np.concatenate([self.before[at], at])
        left, right = self.symbols[changed], self.symbols[self.after[changed]]
        self.priority[changed] = self.table.priorities(left, right, changed)

    def result(self) -> tuple[Ints, Ints]:
        is_left = self.symbols[:-1] != 0
        sizes = np.bincount(self.word_of[is_left], minlength=len(self.starts))
        return self.symbols[:-1][is_left], sizes
