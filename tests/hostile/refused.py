"""A good model folder with an export, and what a stranger may do to it: each must be refused by name.

The manifests are made right again where the stranger would do that.
"""

from __future__ import annotations

import copy
import hashlib
import json
import os
import random
import shutil
import struct
import tomllib
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from dragoman.config.dump import to_toml
from dragoman.config.load import merge, validate
from support.exported_folder import CALIBRATION, exported_folder

MANIFEST = "MANIFEST.json"


class Trick(NamedTuple):
    name: str
    play: Callable[[Path, Path], None]  # on a folder, with another good one at hand
    words: tuple[str, ...]  # that the refusal holds


def make_good(home: Path) -> None:
    """home/good and home/other, each with an export."""
    for name in ("good", "other"):
        (home / name).mkdir(parents=True)
        exported_folder(home / name / "model", babbles=name == "other")


def remade(folder: Path) -> None:
    """The manifest of what is in the folder now, as a stranger would write it."""
    apart = {file.parent for file in folder.rglob(MANIFEST)} - {folder}
    files = [
        file
        for file in sorted(folder.rglob("*"))
        if file.is_file() and not file.name.startswith(MANIFEST) and apart.isdisjoint(file.parents)
    ]
    facts = {
        file.relative_to(folder).as_posix(): {
            "bytes": file.stat().st_size,
            "sha256": hashlib.sha256(file.read_bytes()).hexdigest() if file.stat().st_size < 1 << 26 else "",
        }
        for file in files
    }
    (folder / MANIFEST).write_text(json.dumps({"format": 1, "files": facts}), encoding="utf-8")


def foreign_export(folder: Path, other: Path) -> None:
    shutil.rmtree(folder / "ct2")
    shutil.copytree(other / "ct2", folder / "ct2")


def stale_weights(folder: Path, other: Path) -> None:
    """The model was trained again, its export was not made again."""
    shutil.copyfile(other / "weights.safetensors", folder / "weights.safetensors")
    remade(folder)


def added_calibration(folder: Path, other: Path) -> None:
    muting = CALIBRATION.model_copy(update={"muted": ("truncated", "low_confidence"), "offset": 9.0})
    (folder / "calibration.json").write_text(muting.model_dump_json(), encoding="utf-8")


def short_manifest(folder: Path, other: Path) -> None:
    """Only the settings of the export are vouched for, and a byte of its weights is another."""
    file = folder / "ct2" / MANIFEST
    facts = json.loads(file.read_text("utf-8"))
    facts["files"] = {"settings.toml": facts["files"]["settings.toml"]}
    file.write_text(json.dumps(facts), encoding="utf-8")
    raw = bytearray((folder / "ct2" / "model.bin").read_bytes())
    raw[-3000] ^= 1
    (folder / "ct2" / "model.bin").write_bytes(raw)


def fifo(name: str) -> Callable[[Path, Path], None]:
    def play(folder: Path, other: Path) -> None:
        (folder / name).unlink(missing_ok=True)
        os.mkfifo(folder / name)

    return play


def link(name: str) -> Callable[[Path, Path], None]:
    """To what it was: every hash is right."""

    def play(folder: Path, other: Path) -> None:
        (folder / name).rename(folder.parent / "elsewhere")
        (folder / name).symlink_to(folder.parent / "elsewhere")

    return play


def endless(folder: Path, other: Path) -> None:
    (folder / "calibration.json").symlink_to("/dev/zero")


def unlisted(name: str) -> Callable[[Path, Path], None]:
    return lambda folder, other: (folder / name).write_text("mine", encoding="utf-8") and None


def large(**model: Any) -> Callable[[Path, Path], None]:
    """Settings of a model that would take gigabytes, beside weights of some kilobytes."""

    def play(folder: Path, other: Path) -> None:
        shutil.rmtree(folder / "ct2")
        table = tomllib.loads((folder / "settings.toml").read_text("utf-8"))
        config = validate(merge(table, {"model": model}))
        (folder / "settings.toml").write_text(to_toml(config), encoding="utf-8")
        remade(folder)

    return play


def sparse(name: str) -> Callable[[Path, Path], None]:
    """A file of gigabytes that takes no room on the disk."""

    def play(folder: Path, other: Path) -> None:
        os.truncate(folder / name, 3 << 30)
        remade((folder / name).parent)
        if not name.startswith("ct2"):
            shutil.rmtree(folder / "ct2")

    return play


def patched(change: Callable[[bytes], bytes]) -> Callable[[Path, Path], None]:
    """model.bin with another content, under a manifest that is right."""

    def play(folder: Path, other: Path) -> None:
        file = folder / "ct2" / "model.bin"
        file.write_bytes(change(file.read_bytes()))
        remade(folder / "ct2")

    return play


def scalar(name: str, value: int) -> Callable[[bytes], bytes]:
    """Of two bytes."""

    def change(raw: bytes) -> bytes:
        place = raw.index(name.encode() + b"\0") + len(name) + 1 + 1 + 1 + 4  # no axes, a type, a size
        return raw[:place] + struct.pack("<h", value) + raw[place + 2 :]

    return change


def few_rows(raw: bytes) -> bytes:
    """Embeddings of 4 rows, while texts become ids of some hundred."""
    place = raw.index(b"decoder/embeddings/weight\0") + len(b"decoder/embeddings/weight\0")
    axes, rows, columns, kind, size = struct.unpack_from("<BIIBI", raw, place)
    assert (axes, size) == (2, rows * columns * 4)
    start = place + struct.calcsize("<BIIBI")
    head = struct.pack("<BIIBI", axes, 4, columns, kind, 4 * columns * 4)
    return raw[:place] + head + raw[start : start + 4 * columns * 4] + raw[start + size :]


def rewritten(name: str, text: str) -> Callable[[Path, Path], None]:
    def play(folder: Path, other: Path) -> None:
        (folder / "ct2" / name).write_text(text, encoding="utf-8")
        remade(folder / "ct2")

    return play


def other_vocabulary(folder: Path, other: Path) -> None:
    (file,) = (folder / "ct2").glob("*_vocabulary.json")
    entries = json.loads(file.read_text("utf-8"))
    file.write_text(json.dumps([*entries[:-2], entries[-1], entries[-2]]), encoding="utf-8")
    remade(folder / "ct2")


WIDE = {"layers": 96, "width": 2048, "heads": 16, "ffn": 8192}
WIDER = {"width": 1 << 20}
LISTED, LARGER = "not in MANIFEST.json", "far larger model"
TRICKS = [
    Trick("foreign export", foreign_export, ("ct2 is an export of another model",)),
    Trick("stale export", stale_weights, ("ct2 is an export of another model",)),
    Trick("added calibration", added_calibration, ("Unexpected file calibration.json in", LISTED)),
    Trick("calibration is a FIFO", fifo("calibration.json"), ("calibration.json is a FIFO",)),
    Trick("calibration without end", endless, ("calibration.json is a symbolic link",)),
    Trick("vocabulary is a FIFO", fifo("text/joint.model"), ("text/joint.model is a FIFO",)),
    Trick("manifest is a FIFO", fifo("ct2/MANIFEST.json"), ("MANIFEST.json is a FIFO",)),
    Trick("weights are a link", link("weights.safetensors"), ("weights.safetensors is a symbolic link",)),
    Trick("settings are a link", link("settings.toml"), ("settings.toml is a symbolic link", "cp -rL")),
    Trick("export is a link", link("ct2"), ("ct2 is a symbolic link",)),
    Trick("file beside the weights", unlisted("notes.txt"), ("notes.txt", LISTED)),
    Trick("file in text", unlisted("text/more.model"), ("text/more.model", LISTED)),
    Trick("file in the export", unlisted("ct2/vmap.txt"), ("vmap.txt", LISTED)),
    Trick("short manifest", short_manifest, (LISTED,)),
    Trick("26 kB that want 9 GB", large(encoder=WIDE, decoder=WIDE), (LARGER, "settings.toml")),
    Trick("one wide layer", large(encoder=WIDER, decoder=WIDER), (LARGER, "settings.toml")),
    Trick("a table of places", large(encoder={"max_positions": 1 << 30}), (LARGER, "settings.toml")),
    Trick("sparse weights", sparse("weights.safetensors"), (LARGER, "weights.safetensors")),
    Trick("sparse settings", sparse("settings.toml"), ("settings.toml is too large",)),
]
# These change what is in an export, which PyTorch does not open.
IN_EXPORT = [
    Trick("sparse model.bin", sparse("ct2/model.bin"), ("model.bin", "bytes, at most")),
    Trick("zero heads", patched(scalar("encoder/num_heads", 0)), ("model.bin", "encoder/num_heads is 0")),
    Trick("odd heads", patched(scalar("decoder/num_heads", 127)), ("model.bin", "num_heads is 127, not 2")),
    Trick("few rows", patched(few_rows), ("model.bin", "decoder/embeddings/weight has the shape (4, 32)")),
    Trick("cut model.bin", patched(lambda raw: raw[:-500]), ("model.bin",)),
    Trick("longer model.bin", patched(lambda raw: raw + b"x"), ("model.bin", "extra bytes at its end")),
    Trick("config.json", rewritten("config.json", "[[[["), ("config.json",)),
    Trick("other config.json", rewritten("config.json", '{"add_source_eos": 1}'), ("config.json",)),
    Trick("other vocabulary", other_vocabulary, ("_vocabulary.json",)),
]
# What the issue names; benchmarks/robustness/refused.py measures these and all others.
NAMED = ["foreign export", "added calibration", "calibration is a FIFO", "weights are a link",
         "26 kB that want 9 GB", "zero heads"]  # fmt: skip


def overlapping(file: Path, members: int = 40, size: int = 20_000_000) -> None:
    """An .npz whose members all claim the same bytes: none is packed too well, and all of them unpack to
    thousands of times the file."""
    header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (%d,), }" % (size // 4)
    npy = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("a.npy", npy + random.Random(1).randbytes(size // 90) + bytes(size - size // 90))
        archive.filelist.extend(copy.copy(archive.filelist[0]) for _ in range(members - 1))
