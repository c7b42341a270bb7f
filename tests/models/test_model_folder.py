"""The files of a model folder: who may read them, what they may be, and that they are read once."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save

from dragoman.durable import new_folder
from dragoman.errors import ModelError
from dragoman.inference.model import load
from dragoman.inference.verify import is_finite, verify_model
from dragoman.manifest import MANIFEST, Damaged, Manifest
from dragoman.models.bundle import load_bundle, tensors
from dragoman.models.header import entries
from support.tiny_bundle import tiny_folder

READ = """
import os, sys
sys.path.insert(0, sys.argv[1])
import dragoman.models.folder, dragoman.config.load
from dragoman.errors import ModelError
from dragoman.inference.verify import is_finite
from pathlib import Path
os.chdir(sys.argv[2])
if os.getuid() == 0:
    os.setuid(65534)  # root may read everything
try:
    manifest = dragoman.models.folder.open_folder(Path("."))
    manifest.verify()
except ModelError as error:
    print(error)
"""


@pytest.mark.parametrize("umask", [0o022, 0o027, 0o077])
def test_weights_may_be_read_by_whom_the_umask_lets_read(umask: int, tmp_path: Path) -> None:
    before = os.umask(umask)
    try:
        folder = tiny_folder(tmp_path / "model")
    finally:
        os.umask(before)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.rglob("*") if path.is_file()}
    assert set(modes.values()) == {0o666 & ~umask}, modes


def test_a_file_that_may_not_be_read_is_named_and_nothing_else_blamed(tmp_path: Path) -> None:
    folder = tiny_folder(tmp_path / "model")
    (folder / "weights.safetensors").chmod(0)
    src = str(Path(__file__).parents[2] / "src")
    done = subprocess.run(
        [sys.executable, "-c", READ, src, str(folder)], capture_output=True, text=True, check=False
    )
    assert "You do not have permission to read weights.safetensors." in done.stdout, done.stderr
    assert "chmod a+r weights.safetensors" in done.stdout
    assert "damaged" not in done.stdout


def test_a_file_is_given_out_only_if_its_hash_is_right(tmp_path: Path) -> None:
    with new_folder(tmp_path / "one") as new:
        (new / "a.bin").write_bytes(b"abc")
    manifest = Manifest(tmp_path / "one")
    assert manifest.read(tmp_path / "one" / "a.bin") == b"abc"
    assert manifest.read_writable(tmp_path / "one" / "a.bin") == b"abc"
    (tmp_path / "one" / "a.bin").write_bytes(b"abd")  # after the manifest was read
    for read in (manifest.read, manifest.read_writable):
        with pytest.raises(Damaged, match="its SHA-256 differs"):
            read(tmp_path / "one" / "a.bin")
    with pytest.raises(Damaged, match=r"b is not in MANIFEST\.json"):
        manifest.read(tmp_path / "one" / "b")


@pytest.mark.parametrize("name", ["../x", "/etc/passwd", "a/../../x", "./a", "a//b"])
def test_names_outside_of_the_folder_are_refused(name: str, tmp_path: Path) -> None:
    (tmp_path / MANIFEST).write_text(
        f'{{"format": 1, "files": {{"{name}": {{"bytes": 0, "sha256": ""}}}}}}', encoding="utf-8"
    )
    with pytest.raises(Damaged, match="outside the folder"):
        Manifest(tmp_path)


def in_a_cache(model: Path, repository: Path) -> Path:
    """Lay a model out as Hugging Face's tools download it: a snapshot of links to blobs."""
    snapshot, blobs = repository / "snapshots" / "0a1b", repository / "blobs"
    blobs.mkdir(parents=True)
    for number, file in enumerate(sorted(path for path in model.rglob("*") if path.is_file())):
        link = snapshot / file.relative_to(model)
        link.parent.mkdir(parents=True, exist_ok=True)
        file.rename(blobs / str(number))
        link.symlink_to(os.path.relpath(blobs / str(number), link.parent))
    return snapshot


def test_a_snapshot_of_a_hugging_face_cache_is_a_model_folder(tmp_path: Path) -> None:
    tiny_folder(tmp_path / "model")
    expected = load(tmp_path / "model")("a b c").text
    snapshot = in_a_cache(tmp_path / "model", tmp_path / "hub" / "models--me--en-de")
    (tmp_path / "there").symlink_to(tmp_path / "hub")  # the cache itself may be a link
    home = tmp_path / "there" / "models--me--en-de" / "snapshots" / "0a1b"
    assert load(snapshot)("a b c").text == load(home)("a b c").text == expected
    assert verify_model(snapshot)


def test_a_link_out_of_the_repository_is_not_followed(tmp_path: Path) -> None:
    tiny_folder(tmp_path / "model")
    snapshot = in_a_cache(tmp_path / "model", tmp_path / "hub" / "models--me--en-de")
    card = (snapshot / "card.md").resolve()
    for elsewhere in (tmp_path / "card.md", tmp_path / "hub" / "other" / "blobs" / "1"):
        elsewhere.parent.mkdir(parents=True, exist_ok=True)
        elsewhere.write_bytes(card.read_bytes())
        (snapshot / "card.md").unlink()
        (snapshot / "card.md").symlink_to(elsewhere)
        with pytest.raises(ModelError, match=r"card.md is a symbolic link"):
            load(snapshot)
    (snapshot / "card.md").unlink()
    (snapshot / "card.md").symlink_to(card)
    card.write_bytes(card.read_bytes()[::-1])
    with pytest.raises(ModelError, match=r"card.md was changed"):
        verify_model(snapshot)


def test_the_header_is_that_of_safetensors() -> None:
    made = {
        "a": torch.randn(3, 4),
        "b": torch.randn(5).to(torch.bfloat16),
        "c": torch.randn(2, 2, 2).to(torch.float16),
        "d": torch.tensor(1.5, dtype=torch.float64),
        "e": torch.empty(0, 3),
    }
    raw = save(made, {"format": "pt"})
    found = tensors(bytearray(raw), Path("made"))
    assert found.keys() == made.keys()
    for name, tensor in made.items():
        assert found[name].dtype == tensor.dtype
        assert torch.equal(found[name], tensor)
    for end in range(len(raw)):
        with pytest.raises(ValueError, match=r"truncated|end at byte|not contiguous|JSON|Expecting"):
            entries(raw[:end])


def test_what_is_loaded_is_what_was_saved(tmp_path: Path) -> None:
    folder = tiny_folder(tmp_path / "model")
    loaded, saved = load_bundle(folder).model, load_file(folder / "weights.safetensors")
    for name, p in loaded.named_parameters():
        assert torch.equal(p, saved[name])
        assert p.data_ptr() % 64 == 0  # memory of its own, as torch gives it


def test_more_settings_than_weights_are_refused_before_the_model_is_built(tmp_path: Path) -> None:
    folder = tiny_folder(tmp_path / "model")
    file = folder / "settings.toml"
    file.write_text(file.read_text("utf-8").replace("ffn = 64", "ffn = 6400000"), encoding="utf-8")
    (folder / MANIFEST).unlink()
    with new_folder(tmp_path / "again") as new:
        copied(folder, new)
    with pytest.raises(ModelError, match="far larger model than the weights"):
        load_bundle(tmp_path / "again")


def copied(folder: Path, new: Path) -> None:
    (new / "text").mkdir()
    for path in folder.rglob("*"):
        if path.is_file():
            (new / path.relative_to(folder)).write_bytes(path.read_bytes())


@pytest.mark.parametrize("kind", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
def test_what_is_no_number_is_found_without_torch(kind: torch.dtype) -> None:
    good = torch.tensor([0.0, -1.5, torch.finfo(kind).max, torch.finfo(kind).tiny], dtype=kind)
    for bad in (torch.nan, torch.inf, -torch.inf):
        for values, wanted in ((good, True), (torch.cat((good, torch.tensor([bad], dtype=kind))), False)):
            raw = save({"a": values})
            entry = entries(raw)["a"]
            assert is_finite(raw[entry.begin : entry.end], entry.kind) == wanted
