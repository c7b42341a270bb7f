"""Foreign models that are damaged or meant badly: what is done to a good one of Marian or Eole."""

from __future__ import annotations

import json
import os
import struct
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from safetensors.numpy import load_file, save_file

from support.foreign_models import written

NPZ, DECODER, VOCAB = "opus.npz", "decoder.yml", "opus.vocab.yml"
WEMB, PLACES = "Wemb.npy", "src_emb.pe.pe"
CONFIG, ENTRIES, WEIGHTS = "config.json", "vocab.json", "model.00.safetensors"
FILES = {
    "marian": (NPZ, DECODER, VOCAB, "source.spm", "target.spm"),
    "eole": (CONFIG, ENTRIES, WEIGHTS, "s.model", "t.model"),
}
BYTES = {"no text": b"\xff\xfe\x00\xd8" * 9, "empty": b"", "a bracket": b"[" * 50_000}


class Foreign(NamedTuple):
    name: str
    maker: str
    play: Callable[[Path], None]


def good(maker: str, folder: Path) -> Path:
    written(maker, folder)
    return folder


def foreigners() -> list[Foreign]:
    """The same ones each time."""
    return [*kinds_of_file(), *arrays(), *settings(), *lists(), *shapes(), *tables(), *vocabularies()]


def kinds_of_file() -> Iterator[Foreign]:
    for maker, files in FILES.items():
        for file in files:
            yield Foreign(f"{file} is a FIFO", maker, lambda f, file=file: as_fifo(f / file))
            yield Foreign(f"{file} is a folder", maker, lambda f, file=file: as_folder(f / file))
            yield Foreign(
                f"{file} is 3 GB of nothing", maker, lambda f, file=file: os.truncate(f / file, 3 << 30)
            )
            for name, raw in {
                "no text": b"\xff\xfe\x00\xd8" * 9,
                "empty": b"",
                "a bracket": b"[" * 50_000,
            }.items():
                if (file, name) not in ((DECODER, "empty"), (DECODER, "a bracket")):  # which say nothing
                    yield Foreign(
                        f"{file} is {name}", maker, lambda f, file=file, raw=raw: put(f / file, raw)
                    )


def as_fifo(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


def as_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


def swell(file: Path) -> None:
    os.truncate(file, 3 << 30)


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
        yield Foreign(
            f"an array of {name}", "marian", lambda f, raw=raw: with_member(f / NPZ, "Wemb.npy", raw)
        )
    yield Foreign(
        "an array twice", "marian", lambda f: with_member(f / NPZ, "Wemb.npy", npy("<f4", "2,"), True)
    )
    yield Foreign("a member that bzip2 packed", "marian", lambda f: packed_otherwise(f / NPZ))


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
            yield Foreign(f"{key}: {value[:20]}", "marian", lambda f, k=key, v=value: with_setting(f, k, v))
    yield Foreign("no type", "marian", lambda f: with_setting(f, "type", "3"))


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
        "a million models": "models:\n" + "  - a\n" * 170_000,
    }
    for name, text in texts.items():
        yield Foreign(
            f"decoder.yml with {name}", "marian", lambda f, text=text: put(f / DECODER, text.encode())
        )


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
                "marian",
                lambda f, n=name, s=shape: with_member(f / NPZ, f"{n}.npy", npy("<f4", s)),
            )
    for name in ("src_emb.embeddings.weight", "encoder.transformer_layers.0.self_attn.linear_keys.weight",
                 "generator.weight", "generator.bias", "decoder.layer_norm.weight", PLACES):  # fmt: skip
        for array in (np.zeros(3), np.zeros((3, 1, 1)), np.zeros((2, 0)), np.array(1.0), np.zeros((2, 3))):
            yield Foreign(
                f"{name} of {array.shape}", "eole", lambda f, n=name, a=array: with_tensor(f / WEIGHTS, n, a)
            )
    yield Foreign("whole numbers", "eole", lambda f: with_tensor(f / WEIGHTS, "generator.bias", np.arange(3)))
    yield Foreign("weights that are cut", "eole", lambda f: os.truncate(f / WEIGHTS, 3000))


def with_tensor(file: Path, name: str, array: Any) -> None:
    tensors = dict(load_file(file))
    kind = np.int64 if array.dtype == np.int64 else np.float32
    save_file({**tensors, name: array.astype(kind)}, file)


def tables() -> Iterator[Foreign]:
    """Of Eole, in config.json."""
    odd: list[Any] = [0, -1, 1.5, True, "a", [], {}, [1], None, 10**30, 10**9]
    for key in ("heads", "hidden_size", "transformer_ff"):
        for value in odd:
            yield Foreign(
                f"{key} = {value!r:.20}", "eole", lambda f, k=key, v=value: with_key(f, ("model", k), v)
            )
    for path in (("model",), ("model", "encoder"), ("model", "embeddings"), ("transforms_configs",),
                 ("transforms_configs", "sentencepiece")):  # fmt: skip
        for value in (3, "a", [1], [[]]):
            yield Foreign(
                f"{'.'.join(path)} = {value!r}", "eole", lambda f, p=path, v=value: with_key(f, p, v)
            )
    for key, values in {
        "norm_eps": ("a", -1, [], 10**400), "heads_kv": ("a", -1, 3, [1]), "layers": (10**9,),
        "mlp_activation_fn": ([], {}, 3), "layer_norm": ([], 3), "head_dim": ("a", 0),
    }.items():  # fmt: skip
        for value in values:
            yield Foreign(
                f"encoder.{key} = {value!r:.20}",
                "eole",
                lambda f, k=key, v=value: with_key(f, ("model", "encoder", k), v),
            )


def with_key(folder: Path, path: tuple[str, ...], value: Any) -> None:
    config = json.loads((folder / CONFIG).read_text("utf-8"))
    table = config
    for key in path[:-1]:
        table = table[key]
    table[path[-1]] = value
    (folder / CONFIG).write_text(json.dumps(config), encoding="utf-8")


def vocabularies() -> Iterator[Foreign]:
    entries: dict[str, Any] = {
        "src a number": {"src": 3}, "src of numbers": {"src": [1, 2]}, "src of nothing": {"src": []},
        "specials a list": {"specials": []}, "specials of numbers": {"specials": {"unk_token": 3}},
        "half a character": {"src": ["<unk>", "<blank>", "<s>", "</s>", "\ud800"]},
        "an entry twice": {"src": ["<unk>", "<blank>", "<s>", "</s>", "a", "a"]},
    }  # fmt: skip
    for name, changes in entries.items():
        yield Foreign(f"vocab.json with {name}", "eole", lambda f, c=changes: with_entries(f / ENTRIES, c))
    lines = {
        "half a character": b'"</s>": 0\n"<unk>": 1\n"\\ud800": 2\n',
        "no character": b'"</s>": 0\n"<unk>": 1\n"\\U00110000": 2\n',
        "ids with a gap": b'"</s>": 0\n"<unk>": 5\n',
        "an id of 5,000 digits": b'"</s>": ' + b"9" * 5000,
        "no ids": b"</s>\n<unk>\n",
        "no </s>": b'"a": 0\n"<unk>": 1\n',
    }
    for name, raw in lines.items():
        yield Foreign(f"vocabulary with {name}", "marian", lambda f, raw=raw: put(f / VOCAB, raw))


def with_entries(file: Path, changes: dict[str, Any]) -> None:
    file.write_text(json.dumps({**json.loads(file.read_text("utf-8")), **changes}), encoding="utf-8")
