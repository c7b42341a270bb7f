"""A signed model folder is known to be its maker's, and any change to it is noticed."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from hostile.verbs import drive
from support.tiny_bundle import tiny_folder

pytestmark = pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="OpenSSH is not installed")


@pytest.fixture(autouse=True)
def _folder_with_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    tiny_folder(Path("model"))
    for name in ("mine", "theirs"):
        command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", name]
        subprocess.run(command, check=True, stdin=subprocess.DEVNULL)


def test_a_signed_model_is_verified_by_the_public_key_and_by_no_other() -> None:
    assert "signature" in drive("check", "model", "--sign", "mine").out.decode()
    good = drive("check", "model", "--signed-by", "mine.pub", "--json")
    assert good.code == 0, good.err
    assert 'Good "dragoman" signature' in json.loads(good.out)["signature"]
    other = drive("check", "model", "--signed-by", "theirs.pub")
    assert other.code == 1
    assert "The signature is not valid" in other.err
    assert "MANIFEST.json.sig" in other.err
    assert b"not verified" in drive("check", "model").out


def test_allowed_signers_are_a_list() -> None:
    drive("check", "model", "--sign", "mine")
    keys = [f"{name}@example.org {Path(f'{name}.pub').read_text('utf-8')}" for name in ("theirs", "mine")]
    Path("allowed").write_text("# who may sign\n" + "".join(keys), encoding="utf-8")
    found = drive("check", "model", "--signed-by", "allowed")
    assert found.code == 0, found.err
    assert b"mine@example.org" in found.out


def test_a_change_after_signing_is_noticed_wherever_it_is() -> None:
    drive("check", "model", "--sign", "mine")
    shutil.copytree("model", "changed")
    with Path("changed/card.md").open("a", encoding="utf-8") as card:
        card.write("better than it is")
    assert "card.md" in drive("check", "changed", "--signed-by", "mine.pub").err
    manifest = Path("model/MANIFEST.json")
    manifest.write_text(manifest.read_text(encoding="utf-8") + " ", encoding="utf-8")
    found = drive("check", "model", "--signed-by", "mine.pub")
    assert found.code == 1
    assert "The signature is not valid" in found.err


def test_a_signature_for_something_else_is_none_for_a_model() -> None:
    command = ["ssh-keygen", "-q", "-Y", "sign", "-f", "mine", "-n", "file", "model/MANIFEST.json"]
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, capture_output=True)
    assert drive("check", "model", "--signed-by", "mine.pub").code == 1


def test_what_is_not_there_is_named() -> None:
    assert "not signed" in drive("check", "model", "--signed-by", "mine.pub").err
    assert "no such key" in drive("check", "model", "--sign", "gone").err
    assert "cannot sign" in drive("check", "model", "--sign", "model/card.md").err
    drive("check", "model", "--sign", "mine")
    assert "key cannot be read" in drive("check", "model", "--signed-by", "gone.pub").err
    assert "Only a model can be signed" in drive("check", "--signed-by", "mine.pub").err
