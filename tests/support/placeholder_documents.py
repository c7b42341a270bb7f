"""Strings in PO, XLIFF 1.2 and 2, and what became of their placeholders in the filled-in document."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree
from xml.sax.saxutils import escape

from dragoman.documents.build import read_document
from dragoman.documents.po import escaped, unescaped
from dragoman.documents.slots import Output
from support.garbling import Garbling

EN_DE = ("en", "de")
XLIFF_1 = (
    '<xliff xmlns="urn:oasis:names:tc:xliff:document:1.2" version="1.2">'
    '<file original="a" datatype="plaintext" source-language="en" target-language="de"><body>\n'
    "{}</body></file></xliff>\n",
    '<trans-unit id="{n}"><source>{text}</source></trans-unit>\n',
)
XLIFF_2 = (
    '<xliff xmlns="urn:oasis:names:tc:xliff:document:2.0" version="2.0" srcLang="en" trgLang="de">'
    '<file id="f">\n{}</file></xliff>\n',
    '<unit id="u{n}"><segment><source>{text}</source></segment></unit>\n',
)
FORMATS = ("po", "xliff 1.2", "xliff 2")


class Outcome(NamedTuple):
    """A string and its translation. `style` is a pattern of its placeholders, none of the package's own."""

    source: str
    target: str
    flags: tuple[str, ...]
    style: str

    @property
    def verdict(self) -> str:
        wanted, found = (Counter(re.findall(self.style, text)) for text in (self.source, self.target))
        if wanted == found:
            return "kept"
        rest = re.sub(self.style, "", self.target)
        halves = (one[: len(one) // 2 + 1] for one in wanted - found)
        if any(len(half) > 1 and half in rest for half in halves):
            return "cut"
        return "flagged" if "placeholder_mismatch" in self.flags or not self.target else "lost"


def outcomes(cases: Sequence[tuple[str, str]], kind: str, folder: Path, model: Garbling) -> list[Outcome]:
    """Return what became of each text, which comes with the style of its placeholders."""
    file = folder / ("a.po" if kind == "po" else "a.xlf")
    texts = [text for text, _ in cases]
    file.write_text(document(texts, kind), encoding="utf-8")
    out, flags = BytesIO(), list[tuple[str, ...]]()

    def translate(sources: Sequence[str]) -> list[Output]:
        outputs = model(sources)
        flags.extend(output.flags for output in outputs)
        return outputs

    read_document(file, EN_DE).fill(out, translate)
    targets = (read_po if kind == "po" else read_xliff)(out.getvalue().decode())
    return [
        Outcome(text, target, mine, style)
        for (text, style), target, mine in zip(cases, targets, flags, strict=True)
    ]


def document(texts: Sequence[str], kind: str) -> str:
    if kind == "po":
        head = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n'
        entries = [f'msgctxt "{n}"\nmsgid "{escaped(text)}"\nmsgstr ""\n' for n, text in enumerate(texts)]
        return "\n".join([head, *entries])
    whole, unit = XLIFF_1 if kind == "xliff 1.2" else XLIFF_2
    return whole.format("".join(unit.format(n=n, text=escape(text)) for n, text in enumerate(texts)))


def read_po(document: str) -> list[str]:
    entries = re.findall(r'^msgstr ((?:"[^\n]*"\n)+)', document + "\n", re.MULTILINE)[1:]
    return ["".join(unescaped(row[1:-1]) for row in entry.splitlines()) for entry in entries]


def read_xliff(document: str) -> list[str]:
    targets = []
    for element in ElementTree.fromstring(document).iter():
        if element.tag.endswith("}source"):
            targets.append("")
        if element.tag.endswith("}target"):
            targets[-1] = "".join(element.itertext())
    return targets
