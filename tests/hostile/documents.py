"""Hostile translation memories and documents, each with what must happen when it is read and when it is
filled in.

Use: `for case in document_cases(tmp_path, size): …`. A case is written when it is its turn, and deleted
after it: `size` is that of what is too long, in bytes, and 100 MB of each would fill a disk.
"""

from __future__ import annotations

import gzip
import json
import os
import random
import shutil
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Literal, NamedTuple

from dragoman.documents.markup import LONGEST_TEXT
from hostile.corpus import bomb

Verdict = Literal["read", "refuse"]
Spec = tuple[str, str, bytes, Verdict, Verdict | None]  # attack, name of the file, bytes; check; run

SECRET = Path("/etc/passwd")
DOCUMENTS = (".po", ".xlf", ".xliff", ".tmx", ".srt")


class Case(NamedTuple):
    attack: str
    file: Path
    check: Verdict
    run: Verdict | None  # None of what is no document


def document_cases(folder: Path, size: int, url: str = "http://127.0.0.1:9/x") -> Iterator[Case]:
    """`url` is what external entities name; nothing may ask for it."""
    rng = random.Random(1)
    specs = chain(
        entities(url),
        markup(size),
        declared(),
        broken_xml(rng),
        po(size, rng),
        srt(size, rng),
        tables(size, rng),
        json_lines(size, rng),
        packed(),
    )
    for number, (attack, name, content, check, run) in enumerate(specs):
        home = folder / f"{number:03d}"
        home.mkdir(parents=True)
        (home / name).write_bytes(content)
        yield Case(attack, home / name, check, run)
        shutil.rmtree(home)
    yield from odd_paths(folder / "paths")


# ---- XML: the same attack in a memory and in both dialects of XLIFF

UNIT = {
    "tmx": '<tu><tuv xml:lang="en"><seg>{0}</seg></tuv><tuv xml:lang="de"><seg>{1}</seg></tuv></tu>',
    "xlf": '<trans-unit id="1"><source>{0}</source><target>{1}</target></trans-unit>',
    "xliff": '<unit id="1"><segment><source>{0}</source><target>{1}</target></segment></unit>',
}
OPEN = {
    "tmx": '<tmx version="1.4"><header srclang="en"/><body>',
    "xlf": '<xliff version="1.2"><file source-language="en" target-language="de"><body>',
    "xliff": '<xliff version="2.0" srcLang="en" trgLang="de"><file id="f">',
}
CLOSE = {"tmx": "</body></tmx>", "xlf": "</body></file></xliff>", "xliff": "</file></xliff>"}
ROOT = {"tmx": "tmx", "xlf": "xliff", "xliff": "xliff"}


def whole(kind: str, inner: str, before: str = "") -> bytes:
    """A document with this inside it, and a good unit behind it."""
    good = UNIT[kind].format("Good", "Gut")
    return f'<?xml version="1.0"?>{before}{OPEN[kind]}{inner}{good}{CLOSE[kind]}'.encode()


def unit(kind: str, src: str, before: str = "") -> bytes:
    return whole(kind, UNIT[kind].format(src, "Ziel"), before)


def entities(url: str) -> Iterator[Spec]:
    secret = SECRET.as_uri()
    laughs = '<!ENTITY a0 "ha">' + "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 11))
    subsets = {
        "billion laughs": (laughs, "&a10;"),
        "quadratic blow-up": (f'<!ENTITY a "{"x" * 50_000}">', "&a;" * 50_000),
        "external entity, file": (f'<!ENTITY a SYSTEM "{secret}">', "&a;"),
        "external entity, http": (f'<!ENTITY a SYSTEM "{url}">', "&a;"),
        "external entity, public": (f'<!ENTITY a PUBLIC "-//x//y" "{secret}">', "&a;"),
        "parameter entity, file": (f'<!ENTITY % a SYSTEM "{secret}"> %a;', "x"),
        "parameter entity, http": (f'<!ENTITY % a SYSTEM "{url}"> %a;', "x"),
        "parameter entity, inside": ("<!ENTITY % a '<!ENTITY b \"x\">'> %a;", "&b;"),
        "unparsed entity": (f'<!NOTATION n SYSTEM "n"><!ENTITY a SYSTEM "{secret}" NDATA n>', "x"),
        "entity of itself": ('<!ENTITY a "&b;"><!ENTITY b "&a;">', "&a;"),
        "attributes by default": (
            "<!ATTLIST g " + " ".join(f'a{n} CDATA "x"' for n in range(20_000)) + ">",
            "<g/>" * 50_000,
        ),
    }
    for kind in UNIT:
        for attack, (subset, src) in subsets.items():
            before = f"<!DOCTYPE {ROOT[kind]} [{subset}]>"
            yield attack, f"a.{kind}", unit(kind, src, before), "refuse", "refuse"
        for place, address in {"file": secret, "http": url}.items():
            before = f'<!DOCTYPE {ROOT[kind]} SYSTEM "{address}">'
            yield f"external subset, {place}", f"a.{kind}", unit(kind, "x", before), "read", "read"
            unknown = unit(kind, "&x;", before)
            yield f"entity of a subset, {place}", f"a.{kind}", unknown, "refuse", "refuse"
        included = unit(kind, f'<xi:include href="{secret}" parse="text"/>x')
        yield "inclusion", f"a.{kind}", included, "read", "read"
        style = unit(kind, "x", f'<?xml-stylesheet href="{url}"?>')
        yield "stylesheet", f"a.{kind}", style, "read", "read"


ALONE = {  # without a translation
    "tmx": '<tu><tuv xml:lang="en"><seg>{0}</seg></tuv></tu>',
    "xlf": '<trans-unit id="1"><source>{0}</source></trans-unit>',
    "xliff": '<unit id="1"><segment><source>{0}</source></segment></unit>',
}
LONG_TEXTS = ("long text", "long CDATA", "long white space", "text of references")


def markup(size: int) -> Iterator[Spec]:
    """Well-formed, and of a shape that no tool writes."""
    many, long = size // 1000, "x" * size
    for kind, tags in UNIT.items():
        shapes = {
            "deep nesting": "<g>" * many + "x" + "</g>" * many,
            "long attribute": f'<g id="{long}">x</g>',
            "long name": f"<{long}/>x",
            "long comment": f"<!--{long}-->x",
            "long instruction": f"<?x {long}?>x",
            "long text": long,
            "long CDATA": f"<![CDATA[{long}]]>",
            "long white space": " " * size + "x",
            "many attributes": "<g " + " ".join(f'a{n}="x"' for n in range(size // 10)) + "/>x",
            "many inline elements": "<g>x</g>" * (size // 8),
            "many codes": '<ph id="1">' + "<sub>x</sub>" * (size // 12) + "</ph>x",
            "text of references": "&#120;" * max(size // 6, 1_100_000),
        }
        for attack, src in shapes.items():
            in_text = attack in LONG_TEXTS
            is_left = in_text and len(src) <= LONGEST_TEXT  # a text that has a translation is left as it is
            yield attack, f"a.{kind}", unit(kind, src), "refuse", "read" if is_left else "refuse"
            if in_text:
                yield attack, f"b.{kind}", whole(kind, ALONE[kind].format(src)), "refuse", "refuse"
        inside = tags.format(tags.format("a", "b"), "c")
        yield "unit inside a unit", f"a.{kind}", whole(kind, inside), "read", "read"
        yield (
            "unit inside its text",
            f"a.{kind}",
            unit(kind, "a<seg>b</seg><source>c</source>d"),
            "read",
            "read",
        )
    tuv = "".join(f'<tuv xml:lang="x{n}"><seg>x</seg></tuv>' for n in range(size // 40))
    yield "many languages", "a.tmx", whole("tmx", f"<tu>{tuv}</tu>"), "refuse", "refuse"
    tus = "".join(
        f'<tu><tuv xml:lang="en"><seg>x</seg></tuv><tuv xml:lang="x{n}"><seg>x</seg></tuv></tu>'
        for n in range(size // 100)
    )
    yield "many languages", "b.tmx", whole("tmx", tus), "refuse", None
    seg = "".join(
        f'<tuv xml:lang="{a}{b}"><seg>{"x" * (size // 200)}</seg></tuv>'
        for a in "abcdefghij"
        for b in "abcdefghij"
    )
    yield "long text", "b.tmx", whole("tmx", f"<tu>{seg}</tu>"), "refuse", "read"


def declared() -> Iterator[Spec]:
    """Encodings that are not there, that are not text, or that are not those of the bytes."""
    for kind, tags in UNIT.items():
        text = f"{OPEN[kind]}{tags.format('Ä', 'Ö')}{tags.format('a', '')}{CLOSE[kind]}"
        for name in ("UTF-7", "hex", "rot13", "idna", "undefined", "nonsense", "utf-32", "big5"):
            head = f'<?xml version="1.0" encoding="{name}"?>'
            yield "encoding that cannot be", f"a.{kind}", (head + text).encode(), "refuse", "refuse"
        latin = f'<?xml version="1.0" encoding="ISO-8859-1"?>{text}'
        yield "Latin-1", f"a.{kind}", latin.encode("latin-1"), "read", "refuse"
        plain = latin.replace("Ä", "A").replace("Ö", "O")
        yield "Latin-1", f"b.{kind}", plain.encode("ascii"), "read", "refuse"
        yield "Latin-1 that is not declared", f"a.{kind}", text.encode("latin-1"), "refuse", "refuse"
        yield "UTF-16", f"a.{kind}", text.encode("utf-16"), "read", "refuse"
        ascii_only = text.replace("Ä", "A").replace("Ö", "O")
        for form in ("utf-16-le", "utf-16-be"):
            yield "UTF-16 without a mark", f"a.{kind}", ascii_only.encode(form), "read", "refuse"
        yield "UTF-32", f"a.{kind}", text.encode("utf-32"), "refuse", "refuse"


def broken_xml(rng: random.Random) -> Iterator[Spec]:
    for kind in UNIT:
        good = unit(kind, "ODD")
        odd = {
            "not UTF-8": b"\xff\xfe",
            "overlong UTF-8": b"\xc0\x80",
            "half a character in UTF-8": b"\xed\xa0\x80",
            "NUL": b"\x00",
            "reference to NUL": b"&#0;",
            "reference to half a character": b"&#xD800;",
            "reference beyond Unicode": b"&#x110000;",
            "control": b"\x01",
        }
        for attack, raw in odd.items():
            yield attack, f"a.{kind}", good.replace(b"ODD", raw), "refuse", "refuse"
        whole_files = {
            "cut off": good[: len(good) // 2],
            "cut off in a tag": good[: good.rindex(b"</") + 3],
            "tags that do not match": good.replace(b"ODD", b"<g>x</h>"),
            "two roots": good + good[21:],
            "text behind the end": good + b"x",
            "attribute twice": good.replace(b"ODD", b'<g a="1" a="2"/>'),
            "nothing": b"",
            "white space": b" \n" * 100,
            "binary": rng.randbytes(1 << 20),
            "another format": b'msgid "a"\nmsgstr "b"\n',
        }
        for attack, content in whole_files.items():
            yield attack, f"a.{kind}", content, "refuse", "refuse"


# ---- lines

ENTRY = b'msgid "Good"\nmsgstr "Gut"\n\nmsgid "More"\nmsgstr ""\n\n'


def po(size: int, rng: random.Random) -> Iterator[Spec]:
    long = b"x" * size
    rows = b'"' + b"x" * 70 + b'\\n"\n'
    many = rows * (size // len(rows))
    wrong: dict[str, bytes] = {
        "long line": b'msgid "' + long + b'"\nmsgstr ""\n',
        "long entry": b'msgid ""\n' + many + b'msgstr ""\n',
        "long translation": b'msgid "a"\nmsgstr ""\n' + many,
        "quote that does not close": b'msgid "a\nmsgstr ""\n',
        "not UTF-8": b'msgid "\xff"\nmsgstr ""\n',
        "Latin-1": 'msgid "Ä"\nmsgstr ""\n'.encode("latin-1"),
        "UTF-16": ENTRY.decode().encode("utf-16"),
        "UTF-16 without a mark": ENTRY.decode().encode("utf-16-le"),
        "UTF-32": ENTRY.decode().encode("utf-32"),
        "nothing": b"",
        "binary": rng.randbytes(1 << 20),
        "long comment": b"# " + long + b"\n" + ENTRY,
        "text without a field": b'"a"\n',
        "only line ends": b"\n" * size,
    }
    for attack, content in wrong.items():
        after = ENTRY if attack in ("long line", "long entry", "long translation") else b""
        yield attack, "a.po", content + after, "refuse", "refuse" if content else "read"
    charset = b'msgid ""\nmsgstr "Content-Type: text/plain; charset=%s\\n"\n\n'
    for name in (b"ISO-8859-1", b"UTF-7", b"nonsense"):
        yield "encoding that cannot be", "a.po", charset % name + ENTRY, "read", "refuse"
    harmless: dict[str, bytes] = {
        "NUL": b'msgid "a\x00b"\nmsgstr ""\n\n' + ENTRY,
        "msgstr before msgid": b'msgstr "x"\nmsgid "y"\n' + ENTRY,
        "cut off": ENTRY + b'msgid "a"\n',
        "plural of nothing": b'msgid "a"\nmsgid_plural "b"\nmsgstr[99] ""\nmsgstr[0] ""\n\n' + ENTRY,
        "backslash at the end": b'msgid "a\\\\"\nmsgstr ""\n\n' + ENTRY,
    }
    for attack, content in harmless.items():
        yield attack, "a.po", content, "read", "read"


CUE = b"1\n00:00:01,000 --> 00:00:02,000\nHello.\n\n"


def srt(size: int, rng: random.Random) -> Iterator[Spec]:
    """`check` takes no subtitles: they have one side."""
    refused: dict[str, bytes] = {
        "long line": CUE + b"2\n00:00:03,000 --> 00:00:04,000\n" + b"x " * (size // 2),
        "long cue": CUE + b"2\n00:00:03,000 --> 00:00:04,000\n" + b"words of it\n" * (size // 12),
        "not UTF-8": CUE.replace(b"Hello", b"\xff"),
        "Latin-1": CUE.replace(b"Hello", b"\xc4"),
        "UTF-16": CUE.decode().encode("utf-16"),
        "UTF-16 without a mark": CUE.decode().encode("utf-16-le"),
        "UTF-32": CUE.decode().encode("utf-32"),
        "nothing": b"",
        "binary": rng.randbytes(1 << 20),
        "long number": b"1" * size + CUE[1:],
        "no cue": b"Hello.\n" * 100,
        "only line ends": b"\n" * size,
        "another format": b'msgid "a"\nmsgstr "b"\n',
    }
    for attack, content in refused.items():
        yield attack, "a.srt", content, "refuse", "refuse" if content else "read"
    read: dict[str, bytes] = {
        "times that cannot be": CUE.replace(b"00:00:01,000", b"99:99:99,999"),
        "time before it begins": CUE.replace(b"00:00:01,000", b"00:01:01,000"),
        "time with a sign": CUE + CUE.replace(b"00:00:01", b"-0:00:01"),
        "times without text": b"1\n00:00:01,000 --> 00:00:02,000\n" * 10_000 + b"Hello.\n",
        "NUL": CUE.replace(b"Hello", b"Hel\x00lo"),
        "many tags": CUE.replace(b"Hello", b"<i>" * 100 + b"Hello"),
        "cut off": CUE + b"2\n00:00:03,000 -",
        "script": CUE.replace(b"Hello", b"<script>alert(1)</script>"),
    }
    for attack, content in read.items():
        yield attack, "a.srt", content, "refuse", "read"


def tables(size: int, rng: random.Random) -> Iterator[Spec]:
    for suffix, tab in {"csv": b",", "tsv": b"\t"}.items():
        head = b"en" + tab + b"de\n"
        good = head + b"Good" + tab + b"Gut\n"
        wrong: dict[str, bytes] = {
            "long line": good + b"x" * size + tab + b"y\n",
            "long line, the first": b"x" * size,
            "millions of columns": good + tab * size + b"\n",
            "millions of columns in the heading": tab.join([b"de"] * (1 << 18)) + b"\n" + good,
            "not UTF-8": good + b"\xff" + tab + b"x\n",
            "Latin-1": good + b"\xc4" + tab + b"x\n",
            "UTF-16": good.decode().encode("utf-16"),
            "UTF-16 without a mark": good.decode().encode("utf-16-le"),
            "UTF-32": good.decode().encode("utf-32"),
            "nothing": b"",
            "binary": rng.randbytes(1 << 20),
            "archive": b"PK\x03\x04" + rng.randbytes(5000),
            "one column": b"en\nGood\n" * 100,
        }
        for attack, content in wrong.items():
            yield attack, f"a.{suffix}", content, "refuse", None
        yield "NUL", f"a.{suffix}", good + b"a\x00b" + tab + b"c\n", "read", None
        yield "formula", f"a.{suffix}", good + b"=cmd|'/C calc'!A0" + tab + b"c\n", "read", None
    good = b"en,de\nGood,Gut\n"
    quotes: dict[str, tuple[bytes, Verdict]] = {
        "quote that does not close": (good + b'"x,y\n' + b"a,b\n" * (size // 4), "refuse"),
        "quote that does not close, at the end": (good + b'"x,y\n', "refuse"),
        "row without an end": (good + b'"\n",' * (size // 4), "refuse"),
        "quotes inside quotes": (good + b'"' * (size // 2) + b",x\n", "refuse"),
        "quote in the middle": (good + b'a"b,c"d\n', "read"),
        "line breaks inside": (good + b'"a\r\nb","c\nd"\n', "read"),
    }
    for attack, (content, verdict) in quotes.items():
        yield attack, "a.csv", content, verdict, None


def json_lines(size: int, rng: random.Random) -> Iterator[Spec]:
    good = b'{"en": "Good", "de": "Gut"}\n'
    wrong: dict[str, bytes] = {
        "long line": b'{"en": "' + b"x" * size + b'", "de": "x"}',
        "nested 100,000 deep": b"[" * 100_000 + b"]" * 100_000,
        "objects 100,000 deep": b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
        "half a character": rb'{"en": "\ud800", "de": "x"}',
        "half a character in a key": rb'{"\ud800": "a", "de": "x"}' + b"\n" + rb'{"en": "a", "\udfff": "x"}',
        "long key": b'{"' + b"k" * 900_000 + b'": "a", "de": "x"}\n{"en": "a", "de": "x"}',
        "long number": b'{"en": ' + b"9" * 900_000 + b', "de": "x"}',
        "infinity": b'{"en": 1e999, "de": NaN}',
        "key twice": b'{"en": "a", "en": "b", "de": "c"}',
        "many keys": json.dumps({f"k{n}": 1 for n in range(60_000)}).encode(),
        "not UTF-8": b'{"en": "\xff", "de": "x"}',
        "Latin-1": b'{"en": "\xc4", "de": "x"}',
        "NUL": b'{"en": "a\x00", "de": "x"}',
        "cut off": b'{"en": "a", "de',
        "binary": rng.randbytes(1 << 20),
    }
    for attack, content in wrong.items():
        first = b"" if "key" in attack else good
        yield attack, "a.jsonl", first + content, "refuse", None
    for form in ("utf-16", "utf-16-le", "utf-32"):
        yield form.upper(), "a.jsonl", good.decode().encode(form), "refuse", None
    yield "nothing", "a.jsonl", b"", "refuse", None
    yield "reference to NUL", "a.jsonl", good + rb'{"en": "a\u0000", "de": "x"}', "read", None


def packed() -> Iterator[Spec]:
    """`run` takes a .gz as text, line by line, and not as a document."""
    bombs = {piece: bomb(piece) for piece in (b"<a>" * 300, b"x" * 1000, b"x,\ty\n" * 200)}
    for name in ("a.tmx.gz", "a.xlf.gz", "a.xliff.gz", "a.po.gz", "a.csv.gz", "a.tsv.gz", "a.jsonl.gz"):
        kind = name.split(".")[1]
        content = unit(kind, "x") if kind in UNIT else ENTRY
        squeezed = gzip.compress(content)
        yield "gzip bomb", name, bombs[b"<a>" * 300 if kind in UNIT else b"x" * 1000], "refuse", None
        yield "gzip bomb of lines", name, bombs[b"x,\ty\n" * 200], "refuse", None
        yield "gzip that is cut off", name, squeezed[: len(squeezed) // 2], "refuse", None
        yield "gzip that is none", name, content, "refuse", None
        yield "gzip inside gzip", name, gzip.compress(squeezed), "refuse", None


# ---- paths


def odd_paths(folder: Path) -> Iterator[Case]:
    for suffix in (*DOCUMENTS, ".csv", ".jsonl", ".parquet", ".arrow"):
        home = folder / suffix[1:]
        home.mkdir(parents=True)
        run: Verdict | None = "refuse" if suffix in DOCUMENTS else None
        os.mkfifo(home / f"pipe{suffix}")
        (home / f"folder{suffix}").mkdir()
        (home / f"loop{suffix}").symlink_to(home / f"loop{suffix}")
        (home / f"endless{suffix}").symlink_to("/dev/zero")
        for what in ("pipe", "folder", "loop", "endless"):
            yield Case(f"{what}, not a file", home / f"{what}{suffix}", "refuse", run)
        shutil.rmtree(home)
