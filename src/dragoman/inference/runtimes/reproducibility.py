"""The same sum for the same row, whatever stands beside it in the batch and however many threads share it.

That is MKL's strict mode. It belongs to the process: the command line asks for it, a library only when it is
asked to. Whether scores are the same can be tried.
"""

from __future__ import annotations

import os
import random

from dragoman.inference.runtimes.runtime import Runtime
from dragoman.text.specials import SPECIALS
from dragoman.text.tokenizer import Tokenizer

LENGTHS = (5, 6, 7, 18, 20, 22)  # tokens: two sizes of batches
TOGETHER, ALONE = 24, 6  # texts
MAX_OUTPUT_TOKENS = 16  # tokens of an output


def request_reproducible_mkl() -> None:
    """For all of the process. MKL reads it at the first product, so ask before that."""
    os.environ.setdefault("MKL_CBWR", "AUTO,STRICT")


def is_batch_invariant(runtime: Runtime) -> bool:
    """Whether texts that are made up have the same results to the last bit alone and together."""
    search = runtime.search
    longest = max(min(MAX_OUTPUT_TOKENS, search.max_length), search.min_length + 1)
    beam = search.model_copy(update={"kind": "beam", "n_best": 1, "max_length": longest})
    texts = made_up(runtime.text.src)
    together = runtime(texts, beam)
    return all(runtime([text], beam) == [together[place]] for place, text in enumerate(texts[:ALONE]))


def made_up(tokenizer: Tokenizer) -> list[str]:
    draw = random.Random(1)
    known = range(len(SPECIALS), tokenizer.size)
    return [tokenizer.decode(draw.choices(known, k=LENGTHS[n % len(LENGTHS)])) for n in range(TOGETHER)]
