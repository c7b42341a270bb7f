"""A stand-in for a model that garbles what it should keep, with the real steering around it."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence

from dragoman.config.search import SearchConfig
from dragoman.config.text import TextConfig
from dragoman.documents.slots import Output
from dragoman.inference.quality.checks import OutputChecker
from dragoman.inference.results import DecodedSentence, make_results
from dragoman.search.hypothesis import Hypothesis
from dragoman.steering.basic_plan import BasicPlan
from dragoman.steering.reinsertion import TokenBytesPair
from dragoman.steering.token_bytes import TokenBytes
from dragoman.text.build import learn

MARKED = re.compile(r"\S*[%{}<>$:@_`]\S*")  # no pattern of the package: whatever has a sign in it
INVENTED = ("%(model)s", "{{ x }}", "</i>", "<b>", "%d", "{y}", "%(num", "%1", "{")
GARBLERS: dict[str, Callable[[str, random.Random], str]] = {
    "copied": lambda text, _: text,
    "shouted": lambda text, _: text.upper(),
    "without signs": lambda text, _: re.sub(r"[%{}<>$:@_`]", "", text),
    "cut in half": lambda text, _: MARKED.sub(lambda m: m[0][: len(m[0]) // 2], text),
    "twice": lambda text, _: MARKED.sub(r"\g<0> \g<0>", text),
    "backwards": lambda text, _: " ".join(reversed(text.split())),
    "invented": lambda text, rng: f"{text} {rng.choice(INVENTED)} so {rng.choice(INVENTED)}",
    "spaced": lambda text, _: re.sub(r"([%{}<>])", r" \1 ", text),
    "others": lambda text, _: re.sub(r"[a-z]", "x", text),
    "swapped": lambda text, _: text.translate(str.maketrans("{}<>", "<>{}")),
    "lost": lambda text, rng: " ".join(rng.sample(["ein", "Hund", "läuft", "davon."], 3)),
}


class Garbling:
    """Each text is garbled in one way, or in all of them in turn, beginning with number `shift`."""

    def __init__(self, ways: Sequence[str] = tuple(GARBLERS), shift: int = 0) -> None:
        self.ways, self.shift = [GARBLERS[way] for way in ways], shift
        self.pair = learn(TextConfig(kind="byte"), iter([("a", "a")]))
        self.surfaces = TokenBytesPair(TokenBytes(self.pair.src), TokenBytes(self.pair.tgt))
        self.rng = random.Random(shift)

    def __call__(self, sources: Sequence[str]) -> list[Output]:
        plan = BasicPlan(sources, self.surfaces, {"keep": True})
        checker = OutputChecker(self.pair, None)
        results = make_results(sources, plan, self.decode, self.pair.tgt, checker, SearchConfig())
        return [Output(result.text, result.flags) for result in results]

    def decode(self, texts: Sequence[str], *, with_attention: bool = False) -> list[DecodedSentence | None]:
        return [self.garbled(text, n) if text.strip() else None for n, text in enumerate(texts)]

    def garbled(self, text: str, n: int) -> DecodedSentence:
        garble = self.ways[(n + self.shift) % len(self.ways)]
        tokens = tuple(self.pair.tgt.encode(garble(text, self.rng)))
        return DecodedSentence(self.pair.src.encode(text), [Hypothesis(tokens, -1.0, -1.0, True)], None)
