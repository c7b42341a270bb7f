"""A folder signed as docs/export.md says is known to be its maker's, and any change to it is noticed."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hostile.verbs import drive
from support.pages import ROOT, joined
from support.tiny_bundle import tiny_folder

COMMANDS = [
    line
    for line in joined((ROOT / "docs" / "export.md").read_text(encoding="utf-8")).split("\n")
    if line.startswith(("openssl ", "model_signing "))
]


def type_in(line: str) -> int:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(["sh", "-c", line], env={**os.environ, "PATH": path}, timeout=100).returncode


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("openssl") is None, reason="OpenSSL is not installed")
def test_a_signed_folder_is_verified_and_any_change_to_it_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("model_signing")
    monkeypatch.chdir(tmp_path)
    tiny_folder(Path("en-de"))
    make_keys, sign, verify = COMMANDS
    assert "--signature en-de.sig" in sign
    for line in COMMANDS:
        assert type_in(line) == 0
    checked = drive("check", "en-de")
    assert checked.code == 0, checked.err

    shutil.copytree("en-de", "good")
    with Path("en-de/card.md").open("a", encoding="utf-8") as card:
        card.write("better than it is")
    assert type_in(verify) != 0
    shutil.rmtree("en-de")
    shutil.copytree("good", "en-de")
    Path("en-de/ct2").mkdir()
    Path("en-de/ct2/model.bin").write_bytes(b"an export that was added")
    assert type_in(verify) != 0
    shutil.rmtree("en-de/ct2")
    assert type_in(verify) == 0
    assert type_in(make_keys) == 0  # those of somebody else
    assert type_in(verify) != 0
    assert [option for option in shlex.split(verify) if option.endswith("_key")] == ["--public_key"]
