"""Tokens as they come → parts of a text as soon as they are sure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from dragoman.text.specials import EOS

HALF = "\ufffd"  # what a part of a character looks like


def parts(
    tokens: Iterable[int], text: Callable[[Sequence[int]], str], begun: Sequence[int] = ()
) -> Iterator[str]:
    """What each token adds to the text of those before it; a character in several tokens comes whole."""
    written, said = list(begun), ""
    for token in tokens:
        if token == EOS:
            break
        written.append(token)
        now = text(written)
        if now.startswith(said) and now != said and not now.endswith(HALF):
            yield now[len(said) :]
            said = now
    if rest := text(written)[len(said) :]:
        yield rest
