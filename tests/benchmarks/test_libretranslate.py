"""Where LibreTranslate can be run, it answers as the model does; and our lines are cut as in our packages."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.peers.libretranslate import sentences
from dragoman.export.argos import SPLITTER
from hostile.folders import good_folder

ROOT = Path(__file__).parents[2]
SCRIPT = "benchmarks.peers.libretranslate"
LINES = "The man rides. Two dogs run!\nthe bicycle\nA_man\n"


@pytest.fixture(scope="module")
def splitter() -> Any:
    onnxruntime = pytest.importorskip("onnxruntime")
    return onnxruntime.InferenceSession(SPLITTER)


@given(line=st.text("aé ." + "!?…\"'”’»)]。！？", max_size=30))
def test_lines_are_cut_where_the_splitter_of_a_package_cuts_them(splitter: Any, line: str) -> None:
    facts = json.loads(splitter.get_modelmeta().custom_metadata_map["vocab"])["_unit2id"]
    ids = np.array([[facts.get(character, facts["<UNK>"]) for character in line]], np.int64)
    (scores,) = (
        splitter.run(["out"], {"units": ids, "features": np.zeros((1, len(line), 0), np.float32)})
        if line
        else ([[]],)
    )
    ends = [place + 1 for place, score in enumerate(scores[0]) if np.argmax(score) == 2]
    parts = [line[start:end].strip() for start, end in zip([0, *ends], [*ends, len(line)], strict=True)]
    assert sentences(line) == [part for part in parts if part]


@pytest.mark.slow
@pytest.mark.skipif(
    "LIBRETRANSLATE_VENV" not in os.environ,
    reason="LIBRETRANSLATE_VENV names no environment; benchmarks/peers/libretranslate.py --venv makes one",
)
def test_a_server_without_a_network_answers_as_the_model_does(tmp_path: Path) -> None:
    (tmp_path / "test.en").write_text(LINES, encoding="utf-8")
    home = ["--venv", os.environ["LIBRETRANSLATE_VENV"]]
    asked = [
        sys.executable,
        "-m",
        SCRIPT,
        good_folder(tmp_path / "model", "bpe"),
        tmp_path / "test.en",
        *home,
    ]
    done = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert '"same": 3,' in done.stdout
