"""XML segments whose inline elements are preserved in translation."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from pathlib import Path
from string import ascii_lowercase
from typing import NamedTuple

from dragoman.data.readers.inline import too_long
from dragoman.data.readers.lines import LIMIT
from dragoman.steering.placeholders import is_nested

# For XML that was already parsed, so that each token is well-formed.
TAG = r"""<[^<>"']*+(?:"[^"]*+"[^<>"']*+|'[^']*+'[^<>"']*+)*+>"""
TOKEN = re.compile(
    rf"<!--(?:(?!-->).)*+-->|<!\[CDATA\[(?:(?!]]>).)*+]]>|<\?(?:(?!\?>).)*+\?>|{TAG}|[^<]++", re.DOTALL
)
NAME = re.compile(r"</?(?:[\w.-]+:)?([\w.-]+)")
PROTECTED = re.compile(r"""\s(?:mtype\s*=\s*["']protected|translate\s*=\s*["']no)["']""")
CDATA = "<![CDATA["
MOST_CODES = 1000  # inline elements of a segment


def end_of_tag(document: bytes, start: int) -> int:
    """Return the end of the tag that begins at `start`."""
    found = re.compile(TAG.encode()).match(document, start)
    assert found
    return found.end()


def indent(document: bytes, offset: int) -> bytes:
    """Return the line break and indentation before this offset, if there is nothing else on the line."""
    found = re.search(rb"\r?\n[ \t]*\Z", document[max(0, offset - 200) : offset])
    return found[0] if found else b""


class Code(NamedTuple):
    """A tag of an inline element, or a whole element without text, and its short placeholder tag."""

    xml: str
    before: str  # "/" in a closing tag
    number: int
    after: str  # "/" if it has no closing tag

    def short(self, letter: str) -> str:
        return f"<{self.before}{letter}{self.number}{self.after}>"


def content_of(document: bytes, inner: slice, file: Path, line: int) -> str:
    """Return the content between two tags. Raise if it is too long or has too many tags."""
    if inner.stop - inner.start > LIMIT or document.count(b"<", inner.start, inner.stop) > 2 * MOST_CODES:
        raise too_long(file, line).error
    return document[inner].decode()


class Segment:
    """The content of a <source> or <seg> as model input, with a placeholder tag such as <x1> for each inline
    element. `opaque` are the names of elements whose content is not text."""

    def __init__(self, content: str, opaque: frozenset[str]) -> None:
        parts = list(parts_of(content, opaque))
        text = "".join(part for part in parts if isinstance(part, str))
        self.has_text = bool(text.strip())
        letter = next(c for c in "xyz" + ascii_lowercase if not re.search(rf"</?{c}[0-9]", text))
        codes = [part for part in parts if isinstance(part, Code)]
        self._tags = [code.short(letter) for code in codes]
        self._codes = [code.xml for code in codes]
        whole = "".join(part if isinstance(part, str) else part.short(letter) for part in parts)
        inner = whole.strip()
        self._before, _, self._after = whole.partition(inner) if inner else (whole, "", "")
        self.source = " ".join(filter(None, map(str.strip, inner.split("\n"))))

    def written(self, output: str) -> str:
        """Return the XML of a translation. If it lacks tags of the source, or they are not nested, they are
        appended to its text, so that the XML stays well-formed. Their order may be another one."""
        if not self._tags:
            return f"{self._before}{escaped(output)}{self._after}"
        pieces = re.split("(" + "|".join(map(re.escape, self._tags)) + ")", output)
        if sorted(pieces[1::2]) != sorted(self._tags) or not is_nested(pieces[1::2]):
            texts = " ".join(filter(None, map(str.strip, pieces[::2])))
            pieces = [texts, *(piece for tag in self._tags for piece in (tag, ""))]
        codes = dict(zip(self._tags, self._codes, strict=True))
        inner = "".join(codes[piece] if n % 2 else escaped(piece) for n, piece in enumerate(pieces))
        return f"{self._before}{inner}{self._after}"


def parts_of(content: str, opaque: frozenset[str]) -> Iterator[str | Code]:
    inside, depth, open_, number = list[str](), 0, list[int](), 0  # `inside`: tokens of an opaque element
    for token in TOKEN.findall(content):
        opened = change(token)
        if depth or (opened == 1 and (name_of(token) in opaque or is_protected(token))):
            inside.append(token)
            depth += opened
            if not depth:
                number += 1
                yield Code("".join(inside), "", number, "/")
                inside = []
        elif token.startswith(CDATA):
            yield token[len(CDATA) : -3]
        elif not token.startswith("<"):
            yield html.unescape(token)
        elif opened == -1:
            yield Code(token, "/", open_.pop(), "")
        else:
            number += 1
            if opened:
                open_.append(number)
            yield Code(token, "", number, "" if opened else "/")


def name_of(tag: str) -> str:
    found = NAME.match(tag)
    return found[1] if found else ""


def is_protected(tag: str) -> bool:
    """Return whether XLIFF marks what it encloses as not to be translated."""
    return name_of(tag) == "mrk" and PROTECTED.search(tag) is not None


def change(token: str) -> int:
    """Return the change of nesting depth after this token."""
    if not token.startswith("<") or token.startswith(("<!", "<?")) or token.endswith("/>"):
        return 0
    return -1 if token.startswith("</") else 1


def escaped(text: str) -> str:
    """Escape text for XML, without the control characters that XML cannot represent."""
    text = re.sub(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]", "", text)
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
