"""Foreign models that are damaged or meant badly: what is done to a good one of Marian."""

from __future__ import annotations

import os
import struct
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

NPZ, DECODER, VOCAB = "opus.npz", "decoder.yml", "opus.vocab.yml"
FILES = (NPZ, DECODER, VOCAB, "source.spm", "target.spm")
BYTES = {"no text": b"\xff\xfe\x00\xd8" * 9, "empty": b"", "a bracket": b"[" * 50_000}


class Foreign(NamedTuple):
    name: str
    play: Callable[[Path], None]


def foreigners() -> list[Foreign]:
    """The same ones each time."""
    return [*kinds_of_file(), *arrays(), *settings(), *lists(), *shapes(), *vocabularies()]


def kinds_of_file() -> Iterator[Foreign]:
    for file in FILES:
        yield Foreign(f"{file} is a FIFO", lambda f, file=file: as_fifo(f / file))
        yield Foreign(f"{file} is a folder", lambda f, file=file: as_folder(f / file))
        yield Foreign(f"{file} is 3 GB of nothing", lambda f, file=file: os.truncate(f / file, 3 << 30))
        for name, raw in BYTES.items():
            if (file, name) != (DECODER, "empty"):  # which says nothing
                yield Foreign(f"{file} is {name}", lambda f, file=file, raw=raw: put(f / file, raw))


def as_fifo(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


def as_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


def put(file: Path, raw: bytes) -> None:
    file.write_bytes(raw)


def npy(kind: str, shape: str, data: bytes = bytes(8), order: str = "False") -> bytes:
    header = f"{{'descr': '{kind}', 'fortran_order': {order}, 'shape': ({shape}), }}\n".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data


def arrays() -> Iterator[Foreign]:
    """Wemb as another .npy."""
    heads = {
        "a number of no bytes": npy("<i0", "2,"),
        "two numbers in one": npy("<f4,<f4", "1,"),
        "text": npy("<U2", "1,"),
        "objects": npy("|O", "1,"),
        "a time": npy("<M8[s]", "1,"),
        "a number of 5,000 digits": npy("<f4", "9" * 5000 + ","),
        "no shape": npy("<f4", ""),
        "a shape beyond all bounds": npy("<f4", "0, 99999999999999999999,", b""),
        "a hundred axes": npy("<f4", "1, " * 100, bytes(4)),
        "too few bytes": npy("<f4", "3,"),
        "nothing": b"",
        "no header": b"\x93NUMPY\x01\x00",
        "code": b"\x93NUMPY\x01\x00\x20\x00" + b"__import__('os').mkdir('boom')   ",
    }
    for name, raw in heads.items():
        yield Foreign(f"an array of {name}", lambda f, raw=raw: with_member(f / NPZ, "Wemb.npy", raw))
    yield Foreign("an array twice", lambda f: with_member(f / NPZ, "Wemb.npy", npy("<f4", "2,"), True))
    yield Foreign("a member that bzip2 packed", lambda f: packed_otherwise(f / NPZ))


def with_member(file: Path, name: str, raw: bytes, twice: bool = False) -> None:
    with zipfile.ZipFile(file) as archive:
        members = {member: archive.read(member) for member in archive.namelist() if member != name or twice}
    with zipfile.ZipFile(file, "w") as archive:
        for member, data in members.items():
            archive.writestr(member, data)
        info = zipfile.ZipInfo(name)
        if twice:
            archive.NameToInfo.pop(name)  # or it would warn
        archive.writestr(info, raw)


def packed_otherwise(file: Path) -> None:
    with zipfile.ZipFile(file) as archive:
        members = {member: archive.read(member) for member in archive.namelist()}
    with zipfile.ZipFile(file, "w", zipfile.ZIP_BZIP2) as archive:
        for member, data in members.items():
            archive.writestr(member, data)


def settings() -> Iterator[Foreign]:
    """Of Marian, in the archive."""
    odd = [
        "a",
        "0",
        "-1",
        "2.5",
        "true",
        "[]",
        "[1, 2]",
        "",
        "9" * 5000,
        "1e999",
        '"\\U00110000"',
        "1000000000",
    ]
    for key in ("enc-depth", "transformer-heads", "dim-emb", "transformer-dim-ffn"):
        for value in odd:
            yield Foreign(f"{key}: {value[:20]}", lambda f, k=key, v=value: with_setting(f, k, v))
    yield Foreign("no type", lambda f: with_setting(f, "type", "3"))


def with_setting(folder: Path, key: str, value: str) -> None:
    with zipfile.ZipFile(folder / NPZ) as archive:
        text = archive.read("special:model.yml.npy")[128:].rstrip(b"\0").decode()
    changed = "".join(f"{line}\n" for line in text.split("\n") if not line.startswith(f"{key}:"))
    raw = np.frombuffer(f"{changed}{key}: {value}\n".encode(), np.int8)
    with_member(folder / NPZ, "special:model.yml.npy", npy("|i1", f"{len(raw)},", raw.tobytes()))


def lists() -> Iterator[Foreign]:
    """Of decoder.yml."""
    texts = {
        "a number of 5,000 digits": "models:\n  - " + "9" * 5000,
        "no character": 'models:\n  - "\\U00110000"',
        "a NUL": 'models:\n  - "a\\0b"',
        "half a character": 'models:\n  - "\\ud800"',
        "three models": "models:\n" + "  - opus.npz\n" * 3,
        "models that are not there": "models:\n  - ../../etc/passwd",
        "vocabularies that are not there": "vocabs:\n  - gone.yml",
        "many models": "models:\n" + "  - a\n" * 10_000,
        "a million models": "models:\n" + "  - a\n" * 170_000,
        "a list of lists": "models: " + "[" * 900 + "]" * 900,
        "code": "models: !!python/object/apply:os.mkdir [boom]",
        "an alias": "models: &a [opus.npz]\nvocabs: *a",
        "aliases that make gigabytes": bomb("[{}]"),
        "merges that make gigabytes": bomb("{{<<: [{}]}}"),
        "two documents": "models: [a]\n---\nmodels: [b]",
    }
    for name, text in texts.items():
        yield Foreign(f"decoder.yml with {name}", lambda f, text=text: put(f / DECODER, text.encode()))


def bomb(form: str) -> str:
    """Lines of which each holds the one before nine times: nine to the power of ten in all."""
    lines = ["models: &a0 " + form.format("{k: v}" if "<<" in form else "lol")]
    lines += [f"x{n}: &a{n} " + form.format(", ".join([f"*a{n - 1}"] * 9)) for n in range(1, 11)]
    return "\n".join(lines)


def shapes() -> Iterator[Foreign]:
    """Weights of other axes and sizes."""
    for name in (
        "Wemb",
        "encoder_l1_self_Wq",
        "decoder_l1_context_Wk",
        "encoder_l1_ffn_W1",
        "encoder_l2_self_bq",
    ):
        for shape in ("2,", "2, 1, 1,", "1, 2,", "2, 1,"):
            yield Foreign(
                f"{name} of ({shape})",
                lambda f, n=name, s=shape: with_member(f / NPZ, f"{n}.npy", npy("<f4", s)),
            )


def vocabularies() -> Iterator[Foreign]:
    lines = {
        "half a character": b'"</s>": 0\n"<unk>": 1\n"\\ud800": 2\n',
        "no character": b'"</s>": 0\n"<unk>": 1\n"\\U00110000": 2\n',
        "ids with a gap": b'"</s>": 0\n"<unk>": 5\n',
        "an id of 5,000 digits": b'"</s>": ' + b"9" * 5000,
        "no ids": b"</s>\n<unk>\n",
        "no </s>": b'"a": 0\n"<unk>": 1\n',
        "an id that is no number": b"</s>: a\n<unk>: 1\n",
        "a list": b"- </s>\n- <unk>\n",
        "lists": b"- " * 100_000,
        "an alias": b"</s>: &a 0\n<unk>: *a\n",
        "a control character": b"</s>: 0\n<unk>: 1\n\x01: 2\n",
    }
    for name, raw in lines.items():
        yield Foreign(f"vocabulary with {name}", lambda f, raw=raw: put(f / VOCAB, raw))
