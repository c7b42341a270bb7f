"""Reproducible sums: a row has the same result in any batch and with any number of threads.

This is MKL's strict mode. It applies to the whole process, so the command line requests it by default, the
library only on demand. Whether results are in fact the same can be tested.
"""

from __future__ import annotations

import os
import random

from dragoman.inference.runtimes.runtime import Runtime
from dragoman.text.specials import SPECIALS
from dragoman.text.tokenizer import Tokenizer

LENGTHS = (5, 6, 7, 18, 20, 22)  # tokens: two padded lengths
TOGETHER, ALONE = 24, 6  # texts
MAX_OUTPUT_TOKENS = 16  # maximum length of an output


def request_reproducible_mkl() -> None:
    """Request strict mode for the whole process; MKL reads the variable at its first product."""
    os.environ.setdefault("MKL_CBWR", "AUTO,STRICT")


def is_batch_invariant(runtime: Runtime) -> bool:
    """Return whether random texts have bit-identical results alone and in one batch."""
    search = runtime.search
    longest = max(min(MAX_OUTPUT_TOKENS, search.max_length), search.min_length + 1)
    beam = search.model_copy(update={"kind": "beam", "n_best": 1, "max_length": longest})
    texts = random_texts(runtime.text.src)
    together = runtime(texts, beam)
    return all(runtime([text], beam) == [together[index]] for index, text in enumerate(texts[:ALONE]))


def random_texts(tokenizer: Tokenizer) -> list[str]:
    draw = random.Random(1)
    known = range(len(SPECIALS), tokenizer.size)
    return [tokenizer.decode(draw.choices(known, k=LENGTHS[n % len(LENGTHS)])) for n in range(TOGETHER)]
