"""A process of its own, because MKL reads the wish for reproducibility once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch

CODE = """
import sys, torch
sys.path.insert(0, {here!r})
from dragoman.inference.runtimes.reproducibility import request_reproducible_mkl
request_reproducible_mkl()
torch.set_num_threads({threads})
from inference.runtimes.test_torch import RNN, TRANSFORMER, TEXTS, GREEDY, BEAM, TorchRuntime, tiny
spelt = {{
    "tied": "none",
    "src_embedding": {{"kind": "characters"}},
    "tgt_embedding": {{"kind": "characters"}},
    "head": {{"kind": "adaptive", "cutoffs": [6, 9]}},
}}
one_way = {{"bidirectional": False, **RNN, "width": 256}}
handed = {{"encoder": one_way, "decoder": {{**RNN, "width": 256, "form": "sutskever", "bridge": "last"}}}}
conv = {{"kind": "conv", "layers": 2, "kernel": 3, "embedding": 32}}
every = ((TRANSFORMER, {{}}), (RNN, {{}}), (RNN, spelt), (RNN, handed), (conv, {{"tied": "none"}}))
for part, model in every[:{models}]:
    translate = TorchRuntime(tiny({{**part, "width": 256}}, model=model))
    for search in (GREEDY, BEAM):
        together = translate(TEXTS, search)
        assert [translate([text], search)[0] for text in TEXTS[:20]] == together[:20]
        few = search.model_copy(update={{"batch_sentences": 5}})
        assert translate(TEXTS, few) == together
"""


@pytest.mark.skipif(not torch.backends.mkl.is_available(), reason="this torch multiplies without MKL")
@pytest.mark.parametrize(
    ("threads", "models"),
    [(1, 2), pytest.param(1, 5, marks=pytest.mark.slow), pytest.param(2, 5, marks=pytest.mark.slow)],
)
def test_scores_have_the_same_bits_alone_and_in_any_batch(threads: int, models: int) -> None:
    code = CODE.format(here=str(Path(__file__).parents[2]), threads=threads, models=models)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
