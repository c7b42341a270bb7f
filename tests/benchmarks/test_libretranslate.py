"""Where LibreTranslate can be run, it answers as the model does; and our lines are cut as in our packages."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.export.sentence_splitter import CHARACTERS, LEAST, weights
from hostile.folders import good_folder
from libretranslate import sentences

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "libretranslate.py"
LINES = "The man rides. Two dogs run!\nthe bicycle\nA_man\n"


@given(st.text("aé ." + "".join(CHARACTERS.values()), max_size=30))
def test_lines_are_cut_where_the_splitter_of_a_package_cuts_them(line: str) -> None:
    kinds = np.array([[character in CHARACTERS[kind] for kind in range(4)] for character in line], float)
    padded = np.pad(kinds.reshape(-1, 4), ((1, 1), (0, 0)))
    ends = [i + 1 for i in range(len(line)) if (weights()[2].T * padded[i : i + 3]).sum() > LEAST]
    parts = [line[start:end].strip() for start, end in zip([0, *ends], [*ends, len(line)], strict=True)]
    assert sentences(line) == [part for part in parts if part]


@pytest.mark.slow
@pytest.mark.skipif(
    "LIBRETRANSLATE_VENV" not in os.environ,
    reason="LIBRETRANSLATE_VENV names no environment; benchmarks/libretranslate.py --venv makes one",
)
def test_a_server_without_a_network_answers_as_the_model_does(tmp_path: Path) -> None:
    (tmp_path / "test.en").write_text(LINES, encoding="utf-8")
    home = ["--venv", os.environ["LIBRETRANSLATE_VENV"]]
    asked = [sys.executable, SCRIPT, good_folder(tmp_path / "model", "bpe"), tmp_path / "test.en", *home]
    done = subprocess.run(asked, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert '"same": 3,' in done.stdout
