"""Alignments of a tiny model: those of the attention that its own steps return."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.analysis.model_alignment import model_alignments
from dragoman.inference.runtimes.torch import TorchRuntime, load_torch_runtime
from support.tiny_bundle import RNN, tiny_folder


@pytest.fixture(scope="module", params=["transformer", "rnn"])
def runtime(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> TorchRuntime:
    folder = tmp_path_factory.mktemp(request.param) / "model"
    part: dict[str, Any] = {"part": RNN} if request.param == "rnn" else {}
    tiny_folder(folder, **part)
    return load_torch_runtime(folder)


def test_an_alignment_for_each_layer(runtime: TorchRuntime) -> None:
    found = model_alignments(runtime, "a b c", "d e", saliency=True)
    layers = sum("next" in name for name in found)
    assert list(found)[:2] == ["layer 1", "layer 1, next"]
    assert len(found) == 2 * layers + 1
    for links in found.values():
        assert all(0 <= i < 3 and 0 <= j < 2 for i, j in links)
    assert [j for _, j in found["input × gradient"]] == [0, 1]  # every word depends on some word


def test_attention_aligns_as_results_do(runtime: TorchRuntime) -> None:
    """The alignment of a result is by the attention that the decoder's steps return: the last layer's."""
    sources = ["a b c", "b d e f", "c a", "p o n m"]
    results = [
        (source, one) for source, one in zip(sources, runtime(sources, details=True), strict=True) if one.text
    ]
    assert results
    for source, result in results:
        found = model_alignments(runtime, source, result.text)
        last = [name for name in found if "next" not in name][-1]
        assert found[last] == result.alignment
