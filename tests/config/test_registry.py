"""Parts by name: ours cost no import, others come from a package, and none replaces ours."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dragoman.config.model import DECODERS, ENCODERS
from dragoman.config.parts.part import EncoderPart
from dragoman.errors import UsageError
from dragoman.registry import Registry

SETTINGS = '''
"""An encoder of another package: the mean of the embeddings beside each of them."""

from typing import ClassVar, Literal

from dragoman.config.parts.part import EncoderPart


class BagPart(EncoderPart):
    reads_end: ClassVar[bool] = True
    kind: Literal["bag"] = "bag"
    width: int = 16
    dropout: float = 0.0
    layers: int = 1

    name = property(lambda self: "bag")
    shape = property(lambda self: f"width {self.width}")
    token_features = property(lambda self: self.width)
    memory_features = property(lambda self: self.width)
    longest = property(lambda self: None)

    def build_encoder(self, matrix, *, returns_final_states):
        from bag.network import BagEncoder

        return BagEncoder(matrix, self.width)
'''
NETWORK = """
from torch import nn

from dragoman.nn.embedding import PlainEmbedding
from dragoman.protocols import Memory


class BagEncoder(nn.Module):
    def __init__(self, matrix, width):
        super().__init__()
        self.embed = PlainEmbedding(matrix, 0.0)
        self.W = nn.Linear(width, width)

    def forward(self, src, keep):
        x = self.W(self.embed(src)) * keep.unsqueeze(2)
        z = x.sum(dim=1) / keep.sum(dim=1, keepdim=True)
        return Memory(x + z.unsqueeze(1), keep, z)
"""


def test_every_part_of_ours_is_there_under_its_kind() -> None:
    for registry in (ENCODERS, DECODERS):
        for name in registry.ours:
            assert registry[name].model_fields["kind"].default == name


def test_a_part_can_be_added_but_not_replaced() -> None:
    registry = Registry[type[EncoderPart]]("things", {"rnn": ENCODERS.ours["rnn"]})
    assert "mine" not in registry
    registry.register("mine")(EncoderPart)
    assert registry["mine"] is EncoderPart
    assert list(registry) == ["rnn", "mine"]
    with pytest.raises(UsageError, match='"rnn" is a name'):
        registry.register("rnn")


def test_an_encoder_of_another_package_is_trained_run_and_scored(tmp_path: Path) -> None:
    package, about = tmp_path / "site" / "bag", tmp_path / "site" / "bag-1.0.dist-info"
    package.mkdir(parents=True)
    about.mkdir()
    (package / "__init__.py").write_text("")
    (package / "settings.py").write_text(SETTINGS)
    (package / "network.py").write_text(NETWORK)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: bag\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[dragoman.encoders]\nbag = bag.settings:BagPart\n")
    words = "abcd"
    pairs = "".join(f"{one} {two}\t{two} {one}\n" for one in words for two in words)
    (tmp_path / "pairs.tsv").write_text(pairs)

    def dragoman(*arguments: str, site: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "dragoman", *arguments],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": site, "OMP_NUM_THREADS": "1", "COLUMNS": "80"},
            capture_output=True,
            encoding="utf-8",
            timeout=300,
        )

    train = ["train", "pairs.tsv", "--valid", "pairs.tsv", "-o", "run", "--yes", "model.preset=rnn-small"]
    # Its square matrix has more bytes than the parts of ours leave room for.
    train += ["model.encoder={kind='bag', width=2300}", "model.tied=target", "model.decoder.width=16"]
    train += ["model.decoder.embedding=16", "text.kind=word", "training.updates=3", "search.max_length=6"]
    done = dragoman(*train, site=str(tmp_path / "site"))
    assert done.returncode == 0, done.stderr
    assert "bag, 1 layer × width 2300" in done.stderr
    for verb in (["run", "run", "a b"], ["score", "run", "pairs.tsv"], ["info", "run"]):
        done = dragoman(*verb, site=str(tmp_path / "site"))
        assert done.returncode == 0, done.stderr
    done = dragoman(*train[:-1], "model.encoder.layer=2", site=str(tmp_path / "site"))
    assert 'Did you mean "model.encoder.layers"?' in done.stderr
    done = dragoman("run", "run", "a b", site="")  # without the package
    assert done.returncode == 1
    assert "model.encoder.kind cannot be bag" in done.stderr
