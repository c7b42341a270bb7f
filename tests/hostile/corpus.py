"""Hostile files from a seed, each with what must happen: accepted (with so many lines) or refused with words.

Use: `for case in hostile_cases(tmp_path): …`. Files are written below the folder given, a folder a case.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import random
import zipfile
import zlib
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Literal, NamedTuple

from hostile.faults import BAD_BYTES, BAD_JSON, GOOD_JSON
from hostile.texts import TEXTS, around

Kind = Literal["accept", "refuse"]
Form = Literal["plain", "gz", "tsv", "jsonl"]
FORMS: tuple[Form, ...] = ("plain", "gz", "tsv", "jsonl")
Rows = list[tuple[str, str]]
Spec = tuple[str, dict[str, bytes], Kind, int | None]

GOOD: Rows = [
    ("Good morning.", "Guten Morgen."),
    ("A man rides a bicycle.", "Ein Mann fährt Fahrrad."),
    ("Where is the station?", "Wo ist der Bahnhof?"),
    ("It costs 12 euros!", "Es kostet 12 Euro!"),
]


class Case(NamedTuple):
    name: str
    files: list[Path]
    kind: Kind
    lines: int | None  # pairs read, where accepted


def hostile_cases(tmp: Path, *, seed: int = 1, big: bool = False) -> list[Case]:
    """Write every case below `tmp`. `big`: the true sizes (1 GB without a newline, 10 million lines)."""
    rng = random.Random(seed)
    classes = (
        texts(rng),
        encodings(rng),
        line_ends(big),
        structure(),
        json_lines(),
        archives(rng),
        flips(rng),
    )
    specs = chain.from_iterable(classes)  # one at a time: the true sizes are gigabytes
    cases = []
    for number, (name, contents, kind, lines) in enumerate(specs):
        folder = tmp / f"{number:04d}-{name.replace('/', '-')}"
        folder.mkdir(parents=True)
        for file, content in contents.items():
            (folder / file).write_bytes(content)
        cases.append(Case(name, [folder / file for file in contents], kind, lines))
    return cases + odd_paths(tmp / "paths")


def render(rows: Rows, form: Form, end: bytes = b"\n") -> dict[str, bytes]:
    """Rows as files; `end` closes every line."""

    def join(lines: list[str]) -> bytes:
        return b"".join(line.encode() + end for line in lines)

    sides = [join([row[side] for row in rows]) for side in (0, 1)]
    match form:
        case "plain":
            return {"a.en": sides[0], "a.de": sides[1]}
        case "gz":
            return {"a.en.gz": gzip.compress(sides[0], 1), "a.de.gz": gzip.compress(sides[1], 1)}
        case "tsv":
            return {"a.tsv": join([f"{src}\t{tgt}" for src, tgt in rows])}
        case "jsonl":
            return {"a.jsonl": join([json.dumps({"src": s, "tgt": t}, ensure_ascii=False) for s, t in rows])}


def mixed_in(rng: random.Random, odd: tuple[str, str]) -> Rows:
    rows = list(GOOD)
    rows.insert(rng.randrange(len(rows) + 1), odd)
    return rows


def texts(rng: random.Random) -> Iterator[Spec]:
    """Each odd text as source, and as both sides, in every form."""
    for name, make in TEXTS.items():
        for form in FORMS:
            rows = mixed_in(rng, (make(rng), "Ein Satz."))
            yield f"text/{name}/{form}", render(rows, form), "accept", len(rows)
        rows = mixed_in(rng, (make(rng), make(rng)))
        yield f"text/{name}/both", render(rows, "plain"), "accept", len(rows)


def encodings(rng: random.Random) -> Iterator[Spec]:
    for name, odd in BAD_BYTES.items():
        for form in FORMS:
            place = rng.randrange(1, 4)
            rows = [*GOOD[:place], (around(rng, "ODD"), "Ein Satz."), *GOOD[place:]]
            yield f"bytes/{name}/{form}", replaced(render(rows, form), b"ODD", odd), "refuse", None
    for encoding in ("utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"):
        for form in FORMS:
            other = {f: recoded(content, f, encoding) for f, content in render(GOOD, form).items()}
            yield f"bytes/{encoding}/{form}", other, "refuse", None
    for form in FORMS:
        marked = {f: prefixed(content, f) for f, content in render(GOOD, form).items()}
        yield f"bytes/bom-first/{form}", marked, "accept", len(GOOD)


def replaced(files: dict[str, bytes], old: bytes, new: bytes) -> dict[str, bytes]:
    return {name: through(name, content, lambda b: b.replace(old, new)) for name, content in files.items()}


def recoded(content: bytes, name: str, encoding: str) -> bytes:
    return through(name, content, lambda b: b.decode().encode(encoding))


def prefixed(content: bytes, name: str) -> bytes:
    return through(name, content, lambda b: b"\xef\xbb\xbf" + b)


def through(name: str, content: bytes, change) -> bytes:  # type: ignore[no-untyped-def]
    return gzip.compress(change(gzip.decompress(content))) if name.endswith(".gz") else change(content)


def line_ends(big: bool) -> Iterator[Spec]:
    limit = 1 << 20
    size = 1 << 30 if big else 64 << 20
    many = 10_000_000 if big else 100_000
    for form in FORMS:
        yield f"lines/crlf/{form}", render(GOOD, form, b"\r\n"), "accept", len(GOOD)
        cut = {f: through(f, content, lambda b: b[:-1]) for f, content in render(GOOD, form).items()}
        yield f"lines/no-final-newline/{form}", cut, "accept", len(GOOD)
        yield f"lines/too-long/{form}", render([*GOOD, ("x" * (limit + 1), "y")], form), "refuse", None
        yield (
            f"lines/nothing/{form}",
            {f: through(f, c, lambda b: b"") for f, c in render(GOOD, form).items()},
            "refuse",
            None,
        )
    yield "lines/mixed", {"a.en": b"a\r\nb\nc\r\r\nd", "a.de": b"a\nb\r\nc\nd\n"}, "accept", 4
    yield "lines/only-cr", {"a.en": b"a\rb\rc\r", "a.de": b"a\rb\rc\r"}, "accept", 1
    yield "lines/one-side-crlf", {"a.en": b"a\r\nb\r\n", "a.de": b"a\nb\n"}, "accept", 2
    yield "lines/at-the-limit", {"a.en": b"x" * limit + b"\n", "a.de": b"y\n"}, "accept", 1
    yield "lines/at-the-limit-crlf", {"a.en": b"x" * limit + b"\r\n", "a.de": b"y\n"}, "accept", 1
    yield "lines/at-the-limit-no-newline", {"a.en": b"x" * limit, "a.de": b"y"}, "accept", 1
    yield "lines/over-the-limit-no-newline", {"a.en": b"x" * (limit + 1), "a.de": b"y"}, "refuse", None
    yield "lines/never-ends", {"a.en": b"x" * size, "a.de": b"y\n"}, "refuse", None
    yield "lines/never-ends-tsv", {"a.tsv": b"x\t" * (size // 2)}, "refuse", None
    yield "lines/many-empty", {"a.en": b"\n" * many, "a.de": b"\n" * many}, "accept", many
    yield "lines/only-bom", {"a.en": b"\xef\xbb\xbf", "a.de": b"\xef\xbb\xbf"}, "refuse", None
    yield "lines/one-newline", {"a.en": b"\n", "a.de": b"\n"}, "accept", 1


def structure() -> Iterator[Spec]:
    for extra in (1, 2, 3, 10, 1000):
        plain = render(GOOD, "plain")
        yield (
            f"pairs/{extra}-more-targets",
            plain | {"a.de": plain["a.de"] + b"mehr\n" * extra},
            "refuse",
            None,
        )
        yield (
            f"pairs/{extra}-more-sources",
            plain | {"a.en": plain["a.en"] + b"more\n" * extra},
            "refuse",
            None,
        )
    yield "pairs/one-side-empty", render(GOOD, "plain") | {"a.de": b""}, "refuse", None
    yield "pairs/one-empty-line-more", {"a.en": b"a\nb\n\n", "a.de": b"a\nb\n"}, "refuse", None
    for tabs in (0, 2, 3, 500):
        for place in range(3):
            lines = [f"{src}\t{tgt}".encode() for src, tgt in GOOD]
            lines.insert(place, b"\t".join([b"x"] * (tabs + 1)))
            yield f"tsv/{tabs}-tabs-at-{place + 1}", {"a.tsv": b"\n".join(lines)}, "refuse", None
    yield "tsv/empty-line", {"a.tsv": b"a\tb\n\nc\td\n"}, "refuse", None
    yield "tsv/only-tab", {"a.tsv": b"\t\n\t\n"}, "accept", 2
    yield "tsv/quoted", {"a.tsv": b'"a\tb"\n"c"\t"d"\n'}, "accept", 2
    yield "tsv/quoted-newline", {"a.tsv": b'"a\nb"\tc\n'}, "refuse", None
    yield "tsv/commas", {"a.tsv": b"a,b\nc,d\n"}, "refuse", None
    yield "pairs/one-plain-file", {"a.txt": b"a\nb\n"}, "refuse", None
    yield "pairs/tsv-and-plain", {"a.tsv": b"a\tb\n", "b": b"a\n"}, "refuse", None
    yield "pairs/three-files", {"a": b"a\n", "b": b"b\n", "c": b"c\n"}, "refuse", None


def json_lines() -> Iterator[Spec]:
    good = '{"src": "Good morning.", "tgt": "Guten Morgen."}'
    for name, bad in BAD_JSON.items():
        for place, lines in {"last": [good, bad, good][:2], "middle": [good, bad, good]}.items():
            if name == "blank" and place == "last":  # a final newline, no line
                continue
            yield f"json/{name}/{place}", {"a.jsonl": "\n".join([*lines, ""]).encode()}, "refuse", None
    yield (
        "json/languages-change",
        {
            "a.jsonl": (
                "\n".join(
                    ['{"translation": {"en": "a", "de": "b"}}', '{"translation": {"en": "a", "fr": "b"}}']
                )
            ).encode()
        },
        "refuse",
        None,
    )
    for name, lines in GOOD_JSON.items():
        yield f"json/{name}", {"a.jsonl": "\n".join(lines).encode()}, "accept", len(lines)


def archives(rng: random.Random) -> Iterator[Spec]:
    side = b"".join(f"Line {n} of many, {rng.random()}\n".encode() for n in range(700))
    packed = gzip.compress(side)
    plain = {"a.de": side}
    for place in (3, 9, 10, 11, len(packed) // 2, len(packed) - 9, len(packed) - 4, len(packed) - 1):
        yield f"gz/cut-at-{place}", {"a.en.gz": packed[:place], **plain}, "refuse", None
    for place in (0, 1, 2, len(packed) // 3, len(packed) - 6, len(packed) - 2):
        broken = bytearray(packed)
        broken[place] ^= 0xFF
        yield f"gz/broken-at-{place}", {"a.en.gz": bytes(broken), **plain}, "refuse", None
    yield "gz/garbage-after", {"a.en.gz": packed + b"garbage", **plain}, "refuse", None
    yield "gz/two-members", {"a.en.gz": packed + packed, "a.de": side + side}, "accept", 1400
    yield (
        "gz/bomb",
        {"a.en.gz": bomb(b"x" * 1000 + b"\n"), "a.de.gz": bomb(b"y" * 1000 + b"\n")},
        "refuse",
        None,
    )
    yield "gz/bomb-one-line", {"a.en.gz": bomb(b"x" * 1000), **plain}, "refuse", None
    yield "gz/bomb-of-zeros", {"a.tsv.gz": bomb(b"\0" * 1000)}, "refuse", None
    yield "gz/nested", {"a.en.gz": gzip.compress(packed), **plain}, "refuse", None
    yield "gz/not-gzip", {"a.en.gz": side, **plain}, "refuse", None
    yield "gz/not-named", {"a.en": packed, **plain}, "refuse", None
    yield "gz/empty-inside", {"a.en.gz": gzip.compress(b""), **plain}, "refuse", None
    yield "gz/zlib", {"a.en.gz": zlib.compress(side), **plain}, "refuse", None
    with io.BytesIO() as store:
        with zipfile.ZipFile(store, "w") as archive:
            archive.writestr("../../slip.txt", side)
        yield "archive/zip-slip", {"a.en": store.getvalue(), **plain}, "refuse", None
    yield "archive/xz", {"a.en": b"\xfd7zXZ\x00" + bytes(100), **plain}, "refuse", None
    yield "archive/zstd", {"a.en": b"\x28\xb5\x2f\xfd" + bytes(100), **plain}, "refuse", None
    yield "archive/bytes", {"a.en": rng.randbytes(5000), **plain}, "refuse", None


def bomb(piece: bytes, megabytes: int = 80) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    block = piece * (1_000_000 // len(piece))
    return b"".join(packer.compress(block) for _ in range(megabytes)) + packer.flush()


def flips(rng: random.Random) -> Iterator[Spec]:
    """One byte changed anywhere; Python's own decoder and unpacker say what must happen."""
    for number in range(60):
        rows = GOOD * 5
        files = render(rows, rng.choice(["plain", "gz"]))
        name = rng.choice(list(files))
        content = bytearray(files[name])
        content[rng.randrange(len(content))] = rng.randrange(256)
        files[name] = bytes(content)
        yield f"flip/{number}", files, *expected(files)


def expected(files: dict[str, bytes]) -> tuple[Kind, int | None]:
    counts = set()
    for name, content in files.items():
        try:
            text = (gzip.decompress(content) if name.endswith(".gz") else content).decode()
        except (OSError, EOFError, zlib.error, UnicodeDecodeError):
            return "refuse", None
        counts.add(text.count("\n") + (not text.endswith("\n")))
    return ("accept", counts.pop()) if len(counts) == 1 else ("refuse", None)


def odd_paths(folder: Path) -> list[Case]:
    folder.mkdir(parents=True)
    good = folder / "good.de"
    good.write_bytes(b"a\n")
    (folder / "folder.en").mkdir()
    os.mkfifo(folder / "pipe.en")
    (folder / "loop.en").symlink_to(folder / "loop.en")
    (folder / "dangling.en").symlink_to(folder / "nowhere")
    paths = {name: folder / f"{name}.en" for name in ("folder", "pipe", "loop", "dangling", "missing")}
    paths |= {
        "name-too-long": folder / ("x" * 5000),
        "nul-in-name": folder / "a\0b",
        "below-a-file": good / "a.en",
    }
    paths |= {"device": Path(os.devnull), "half-character": folder / "a\udcff.en"}
    refused = [Case(f"path/{name}", [path, good], "refuse", None) for name, path in paths.items()]
    odd = folder / "-o $(id) \n\x1b[31m ünï.en"
    odd.write_bytes(b"a\n")
    return [*refused, Case("path/odd-name", [odd, good], "accept", 1)]
