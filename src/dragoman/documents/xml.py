"""Segments of XML: their text for training, and their inline elements, which translation preserves."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from string import ascii_lowercase
from typing import NamedTuple

from dragoman.data.readers.lines import LIMIT, too_long
from dragoman.documents.markup import End, Event, Start, Text
from dragoman.documents.slots import Lines

# For XML that was already parsed, so that each token is well-formed.
TAG = r"""<[^<>"']*+(?:"[^"]*+"[^<>"']*+|'[^']*+'[^<>"']*+)*+>"""
TOKEN = re.compile(
    rf"<!--(?:(?!-->).)*+-->|<!\[CDATA\[(?:(?!]]>).)*+]]>|<\?(?:(?!\?>).)*+\?>|{TAG}|[^<]++", re.DOTALL
)
NAME = re.compile(r"</?(?:[\w.-]+:)?([\w.-]+)")
PROTECTED = re.compile(r"""\s(?:mtype\s*=\s*["']protected|translate\s*=\s*["']no)["']""")
ENDS = {"bpt": "ept", "bx": "ex", "sc": "ec"}  # of XLIFF and TMX
ATTRIBUTE = re.compile(r"""\s(startRef|rid|id|i)\s*+=\s*+["']([^"'<>]*+)""")
CDATA = "<![CDATA["
PRESERVE = ' xml:space="preserve"'
# Breaks that mean something only as white space, and breaks that are written as references: XML cannot
# contain these characters, and Python strips them.
SOFT_BREAK, LINE_BREAK, RETURN = "\x1f", "\x1d", "\x1e"
WRITTEN = {SOFT_BREAK: "\n", LINE_BREAK: "&#xA;", RETURN: "&#xD;"}
REFERENCE = re.compile("&#(?:0*+1[03]|[xX]0*+[aAdD]);")
MARK_OF = {"0": LINE_BREAK, "a": LINE_BREAK, "3": RETURN, "d": RETURN}
MAX_BYTES = 40 * LIMIT  # of a segment, including markup
MOST_CODES = 1000  # inline elements of a segment


# ---- for training


class Inline:
    """Collects the text between `open` and `close`. The content of elements in `codes` is left out."""

    def __init__(self, codes: frozenset[str], file: Path) -> None:
        self.codes, self.file = codes, file
        self.is_open = False
        self._line = self._byte = 0
        self._parts: list[str] = []
        self._size = self._inside = 0

    def open(self, start: Start) -> None:
        self.is_open, self._line, self._byte = True, start.line, start.byte
        self._parts, self._size, self._inside = [], 0, 0

    def take(self, event: Event) -> None:
        if not self.is_open:
            return
        match event:
            case Start(name) if self._inside or name in self.codes:
                self._inside += 1
            case End() if self._inside:
                self._inside -= 1
            case Text(_, byte) if byte - self._byte > MAX_BYTES:
                raise too_long(self.file, self._line).error
            case Text(text) if not self._inside and self._size <= LIMIT:
                self._parts.append(text)
                self._size += len(text)

    def close(self) -> str:
        """Return the text as one line. Text that is too long is returned as it is."""
        self.is_open = False
        if self._size > LIMIT:
            return "".join(self._parts)
        return " ".join(filter(None, map(str.strip, "".join(self._parts).split("\n"))))


# ---- to be filled in


class Element(NamedTuple):
    """Byte offsets of an element and of its content."""

    start: int
    inner: slice
    end: int


def element_at(document: bytes, start: int, close: int) -> Element:
    """Return the element whose tags begin at these offsets."""
    inner = end_of_tag(document, start)
    if document[inner - 2 : inner] == b"/>":
        return Element(start, slice(inner, inner), inner)
    return Element(start, slice(inner, close), end_of_tag(document, close))


def end_of_tag(document: bytes, start: int) -> int:
    """Return the end of the tag that begins at `start`."""
    found = re.compile(TAG.encode()).match(document, start)
    assert found
    return found.end()


def start_tag(tag: bytes, without: re.Pattern[bytes], attributes: str) -> bytes:
    """Return a start tag, of an element that gets content, with `attributes` in place of some."""
    name = re.match(rb"<[^\s/>]+", tag)
    assert name
    return (
        name[0] + attributes.encode() + re.sub(rb"(?<!\s)\s*+/>\Z", b">", without.sub(b"", tag[name.end() :]))
    )


def prefix_of(document: bytes, start: int) -> str:
    """Return the prefix of the namespace of an element, as "x:"."""
    found = re.compile(rb"<([^\s/<>:]++:)?").match(document, start)
    return found[1].decode() if found and found[1] else ""


def is_preserved(attributes: dict[str, str], outer: bool) -> bool:
    """Return whether breaks in an element have a meaning, as xml:space says of it or of an outer one."""
    return {"preserve": True, "default": False}.get(attributes.get("xml:space", ""), outer)


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


class Written(NamedTuple):
    xml: str
    detached: int  # pairs of tags that are left out


class Segment:
    """The content of a <source> or <seg> as model input, with a placeholder tag such as <x1> for each inline
    element. `opaque` are the names of elements whose content is not text.

    Lines are translated one by one where breaks have a meaning: if `is_preserved` (xml:space), or if they
    are written as references.
    """

    def __init__(self, content: str, opaque: frozenset[str], *, is_preserved: bool = False) -> None:
        parts = paired(list(parts_of(content, opaque, is_preserved=is_preserved)))
        text = "".join(part for part in parts if isinstance(part, str))
        self.has_text = bool(text.strip())
        letter = next(c for c in "xyz" + ascii_lowercase if not re.search(rf"</?{c}[0-9]", text))
        self._codes = {part.short(letter): part.xml for part in parts if isinstance(part, Code)}
        self._tags = re.compile("(" + "|".join(map(re.escape, self._codes)) + ")") if self._codes else None
        whole = "".join(part if isinstance(part, str) else part.short(letter) for part in parts)
        inner = whole.strip()
        before, _, after = whole.partition(inner) if inner else (whole, "", "")
        flowing = " ".join(filter(None, (row.strip(" \t\r") for row in inner.split(SOFT_BREAK))))
        self._lines = Lines(f"{before}{flowing}{after}", self._has_words)
        pieces = self._pieces(whole)
        self._pairs = {tag: has_words(pieces, pair) for tag, pair in nested(pieces).items()}

    @property
    def sources(self) -> tuple[str, ...]:
        return self._lines.sources

    def written(self, outputs: Sequence[str]) -> Written:
        """Return the XML of a translation. Pairs of tags that it lost, did not nest or emptied are left out;
        other tags that it lost are appended. The order of tags may be another one."""
        pieces = self._pieces(self._lines.filled(iter(outputs)))
        found = nested(pieces).items()
        pairs = {tag: pair for tag, pair in found if has_words(pieces, pair) or not self._pairs[tag]}
        kept = {n for pair in pairs.values() for n in pair}
        alone = {tag: n for n, tag in reversed(list(enumerate(pieces))) if n % 2 and tag.endswith("/>")}
        kept.update(alone.values())
        rows = [escaped(pieces[0])]
        for n in range(1, len(pieces), 2):
            text = escaped(pieces[n + 1])
            if n in kept:
                rows += [self._codes[pieces[n]], text]
            else:
                rows[-1] += text.removeprefix(" ") if rows[-1].endswith(" ") else text
        missing = [xml for tag, xml in self._codes.items() if tag.endswith("/>") and tag not in alone]
        last = rows[-1].rstrip()
        rows[-1:] = [last, *missing, rows[-1][len(last) :]]
        return Written("".join(rows), len(self._pairs) - len(pairs))

    def _has_words(self, line: str) -> bool:
        return any(map(str.strip, self._pieces(line)[::2]))

    def _pieces(self, text: str) -> list[str]:
        """Return the text between tags, at even indices, and the tags."""
        return self._tags.split(text) if self._tags else [text]


def nested(pieces: Sequence[str]) -> dict[str, tuple[int, int]]:
    """Return the indices of the tags of each pair that is closed within the pair that encloses it."""
    found: dict[str, tuple[int, int]] = {}
    open_: list[int] = []
    for n in range(1, len(pieces), 2):
        tag = pieces[n]
        if not tag.startswith("</"):
            open_ += [] if tag.endswith("/>") else [n]
            continue
        begin = next((i for i in reversed(open_) if pieces[i][1:] == tag[2:]), None)
        if begin is not None:
            del open_[open_.index(begin) :]
            found.setdefault(pieces[begin], (begin, n))
    return found


def has_words(pieces: Sequence[str], pair: tuple[int, int]) -> bool:
    return any(map(str.strip, pieces[pair[0] + 1 : pair[1] : 2]))


def parts_of(content: str, opaque: frozenset[str], *, is_preserved: bool) -> Iterator[str | Code]:
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
            text = token[len(CDATA) : -3]
            yield text if is_preserved else text.replace("\n", SOFT_BREAK)
        elif not token.startswith("<"):
            text = token if is_preserved else token.replace("\n", SOFT_BREAK)
            yield html.unescape(REFERENCE.sub(lambda found: MARK_OF[found[0][-2].lower()], text))
        elif opened == -1:
            yield Code(token, "/", open_.pop(), "")
        else:
            number += 1
            if opened:
                open_.append(number)
            yield Code(token, "", number, "" if opened else "/")


def paired(parts: Sequence[str | Code]) -> list[str | Code]:
    """Return the parts with codes that begin and end something, such as <bpt> and <ept>, as a pair of tags.

    Those that are alone, or cross another pair, stay single tags.
    """
    found = list(parts)
    open_: list[tuple[str, int]] = []  # the end that is awaited, and the index of the beginning
    for index, part in enumerate(parts):
        if not isinstance(part, Code):
            continue
        name, key = name_of(part.xml), key_of(part.xml)
        if not part.after:  # a tag of the document, which closes what it encloses
            awaited = f"/{part.number}"
            if not part.before:
                open_.append((awaited, index))
            else:
                del open_[[end for end, _ in open_].index(awaited) :]
        elif name in ENDS:
            open_.append((f"{ENDS[name]} {key}", index))
        elif open_ and open_[-1][0] == f"{name} {key}":
            _, begin = open_.pop()
            first = parts[begin]
            assert isinstance(first, Code)
            found[begin] = first._replace(after="")
            found[index] = part._replace(before="/", number=first.number, after="")
    return found


def key_of(xml: str) -> str:
    """Return what the beginning and the end of a pair have in common."""
    attributes = dict(ATTRIBUTE.findall(xml.partition(">")[0]))
    return next((attributes[name] for name in ("startRef", "rid", "i", "id") if name in attributes), "")


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
    text = re.sub(r"[\x00-\x08\x0b\x0c\x0e-\x1c\ud800-\udfff\ufffe\uffff]", "", text)
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub("[\x1d-\x1f]", lambda found: WRITTEN[found[0]], text)
