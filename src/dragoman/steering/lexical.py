"""Lexical constraints of phrases: the tokens that can write a text, and where it may appear."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence

import torch

from dragoman.search.lexical.constraints import Constraint, Form, Start, TokenBoundaries
from dragoman.steering.banned_words import may_be_invisible, may_be_letter, text_of
from dragoman.steering.token_bytes import SPACE, TokenBytes
from dragoman.steering.words import is_invisible, is_letter
from dragoman.text.specials import BOS, UNK


def token_boundaries(surface: TokenBytes) -> TokenBoundaries:
    """Return which tokens begin with a letter, and after which ones a word may begin.

    The first byte of a character counts as a letter if the character may be one. So does an invisible
    character, because a letter may follow it: with a soft hyphen, "Fahrrader" is still one word.
    """
    pairs = [(piece, text_of(piece)) for piece in surface.pieces]
    begins = [may_continue(text) if text else text is None and starts_letter(piece) for piece, text in pairs]
    opens = [is_opening(text[-1]) if text else False for _, text in pairs]
    opens[BOS] = True
    return TokenBoundaries(torch.tensor(begins), torch.tensor(opens))


def may_continue(text: str) -> bool:
    """Return whether a word before this text may go on in it."""
    seen = next((character for character in text if not is_invisible(character)), None)
    return seen is None or is_letter(seen)


def is_opening(character: str) -> bool:
    return (
        character.isspace() or character in "\"'-/" or unicodedata.category(character) in ("Ps", "Pi", "Pd")
    )


def starts_letter(piece: bytes) -> bool:
    return 0xC2 <= piece[0] <= 0xF4 and (may_be_letter(piece) or may_be_invisible(piece))


def with_space(text: str, surface: TokenBytes) -> tuple[int, ...]:
    """Return the ids of " text"."""
    if not surface.opens:
        return tuple(surface.tokenizer.encode(f" {text}"))
    ids = surface.tokenizer.encode(text)
    if surface.pieces[ids[0]].startswith(SPACE):
        return tuple(ids)
    return (*surface.ids.get(SPACE, [])[:1], *ids)


def without_space(text: str, surface: TokenBytes) -> tuple[int, ...]:
    """Return the ids of "text" without a space before it; none if each entry includes a space."""
    if not surface.opens:
        return tuple(surface.tokenizer.encode(text))
    if surface.tokenizer.kind == "word":
        return ()
    first, *others = surface.tokenizer.encode(text)
    return (*surface.longest_pieces(surface.pieces[first].removeprefix(SPACE)), *others)


def lexical_constraint(forms: Iterable[str], surface: TokenBytes) -> Constraint:
    """Return the constraint of a glossary term: one of its forms, as whole words."""
    found: list[Form] = []
    for text in forms:
        closed = is_letter(text[-1])
        start = Start.AFTER_OPENING if is_letter(text[0]) else Start.ANYWHERE
        found.append(Form(with_space(text, surface), text, Start.ANYWHERE, closed))
        found.append(Form(without_space(text, surface), text, start, closed))
    return Constraint(tuple(form for form in found if form.tokens))


def order_duplicates(constraints: Sequence[Constraint]) -> list[Constraint]:
    """Order constraints that can be written alike, so that one requested twice is written twice."""
    ordered: list[Constraint] = []
    for number, constraint in enumerate(constraints):
        alike = [n for n in range(number) if written_alike(constraints[n], constraint)]
        ordered.append(constraint._replace(after=max([-1, *alike])))
    return ordered


def written_alike(a: Constraint, b: Constraint) -> bool:
    """Return whether two have the same tokens, or both may contain unknown words, which are all alike."""
    one, other = ({form.tokens for form in constraint.forms} for constraint in (a, b))
    return one == other or all(any(UNK in tokens for tokens in forms) for forms in (one, other))
