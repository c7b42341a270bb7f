"""What the page shows is what the public Python interface gives with the same decisions."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
import torch

from dragoman.errors import UsageError
from dragoman.inference.model import Model
from dragoman.serving.what_if import NamedModel, Workbench, token
from dragoman.steering.step_tokens import StepTokens
from dragoman.steering.token_bytes import TokenBytes
from dragoman.text.specials import EOS
from support.made_up_corpus import learn

TEXT = "a b c d"


@pytest.fixture(params=[0, 1], ids=["transformer", "recurrent"])
def number(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.fixture
def model(models: list[NamedModel], number: int) -> Model:
    return models[number].model


def ids(answer: dict[str, Any]) -> list[int]:
    return [step["id"] for step in answer["steps"]]


def shown(piece: str) -> str:
    return piece or "␣"


def test_models_are_described(workbench: Workbench) -> None:
    told = workbench.actions["models"](None)
    assert told["text"] == TEXT
    assert [one["name"] for one in told["models"]] == ["transformer", "recurrent"]
    assert told["models"][0]["search"]["size"] == 3
    assert told["models"][0]["parameters"] > 1000


def test_an_answer_is_the_explanation_of_the_model(workbench: Workbench, number: int, model: Model) -> None:
    answer = workbench.actions["decode"]({"model": number, "text": TEXT})
    found = model.explain(TEXT, saliency=False)
    assert answer["output"] == found.output
    assert [token["shown"] for token in answer["source"]] == list(found.source)
    assert [step["shown"] for step in answer["steps"]] == list(map(shown, found.tokens))
    for step, expected in zip(answer["steps"], found.steps, strict=True):
        assert step["p"] == pytest.approx(expected.p)
        assert step["entropy"] == pytest.approx(expected.entropy)
        top = [choice for choice in expected.top if choice.token not in ("<pad>", "<s>")]  # never written
        alternatives = step["alternatives"][: len(top)]
        assert [one["shown"] for one in alternatives] == [shown(choice.token) for choice in top]
        assert [one["p"] for one in alternatives] == pytest.approx([choice.p for choice in top])
    mean = [layer.mean for layer in found.attention if layer.kind == "cross"][-1]
    for row, weights in zip(answer["attention"][-1]["mean"], mean, strict=True):
        assert row == pytest.approx(weights, abs=1e-5)
    assert found.beam is not None
    assert [node["log_p"] for node in answer["beam"]["nodes"]] == [node.log_p for node in found.beam.nodes]
    json.dumps(answer, allow_nan=False)


def test_a_chosen_alternative_is_a_decode_with_that_prefix(
    workbench: Workbench, number: int, model: Model
) -> None:
    """Against the search of the model itself, which is called with the constraint."""
    before = workbench.actions["decode"]({"model": number, "text": TEXT})
    outputs = set()
    for step in (0, 2):
        for choice in before["steps"][step]["alternatives"][:2]:
            write = {**dict(enumerate(ids(before)[:step])), step: choice["id"]}
            answer = workbench.actions["decode"]({"model": number, "text": TEXT, "write": write})
            fresh = model(TEXT, details=True, steps=StepTokens(write=write))
            assert fresh.details is not None
            assert answer["output"] == fresh.text
            assert ids(answer)[: step + 1] == list(write.values())
            assert [s["shown"] for s in answer["steps"]] == [shown(one.piece) for one in fresh.details]
            assert [math.log(s["p"]) for s in answer["steps"]] == pytest.approx(
                [one.log_p for one in fresh.details], abs=1e-4
            )
            outputs.add(answer["output"])
    assert len(outputs) > 2, "another decision is another output"


def test_a_forbidden_token_is_a_decode_without_it(workbench: Workbench, number: int, model: Model) -> None:
    before = workbench.actions["decode"]({"model": number, "text": TEXT})
    for step in (0, 2):
        avoid = {step: [ids(before)[step]]}
        answer = workbench.actions["decode"]({"model": number, "text": TEXT, "avoid": avoid})
        assert answer["output"] == model(TEXT, steps=StepTokens(avoid=avoid)).text
        assert ids(answer)[step : step + 1] != [ids(before)[step]]


def test_a_forbidden_word_is_in_no_step(workbench: Workbench, number: int, model: Model) -> None:
    before = workbench.actions["decode"]({"model": number, "text": TEXT})
    word = before["steps"][0]["shown"]
    answer = workbench.actions["decode"]({"model": number, "text": TEXT, "forbid": [word]})
    assert answer["output"] == model(TEXT, forbid=[word]).text
    assert word not in answer["output"].split()


def test_forced_attention_is_that_of_the_model(workbench: Workbench, number: int, model: Model) -> None:
    outputs = set()
    for source in (0, 3):
        attend = {0: source, 1: 4 - source}
        answer = workbench.actions["decode"]({"model": number, "text": TEXT, "attend": attend})
        found = model.explain(TEXT, attend=attend)
        assert answer["output"] == found.output
        for step, there in attend.items():
            row = answer["attention"][-1]["mean"][step]
            assert row == [float(s == there) for s in range(5)]
        outputs.add(answer["output"])
    assert len(outputs) > 1


@pytest.mark.parametrize(
    "search",
    [
        {"kind": "greedy"},
        {"kind": "beam", "size": 5, "length_penalty": 0.2},
        {"kind": "sample", "temperature": 1.5, "seed": 7},
    ],
    ids=str,
)
def test_settings_of_the_search_are_those_of_the_model(
    workbench: Workbench, number: int, model: Model, search: dict[str, Any]
) -> None:
    answer = workbench.actions["decode"]({"model": number, "text": TEXT, "search": search, "write": {1: 6}})
    assert answer["output"] == model(TEXT, search, steps=StepTokens(write={1: 6})).text
    assert (answer["beam"] is None) == (search["kind"] == "sample")


def test_a_text_without_words(workbench: Workbench) -> None:
    assert workbench.actions["decode"]({"text": "  "})["steps"] == []


def test_the_equations_of_a_step_follow_from_each_other(workbench: Workbench, number: int) -> None:
    asked = {"model": number, "text": TEXT}
    answer = workbench.actions["decode"](asked)
    for step in (0, 2):
        told = workbench.actions["equations"]({**asked, "step": step, "head": 0})
        names = [one["name"] for one in told["equations"]]
        assert names == ["query", "energies", "weights", "context", "features", "logits", "probabilities"]
        values = {one["name"]: torch.tensor(one["values"]) for one in told["equations"]}
        assert torch.allclose(values["energies"].softmax(0), values["weights"], atol=1e-5)
        layer = answer["attention"][-1]
        heads = layer["heads"] or [layer["mean"]]
        assert told["heads"] == len(heads)
        assert values["weights"].tolist() == pytest.approx(heads[0][step], abs=1e-5)
        ratio = values["probabilities"].log() - values["logits"]
        assert torch.allclose(ratio, ratio[:1].expand_as(ratio), atol=1e-4), "the same Σ exp z for all"
        shown = [one["shown"] for one in answer["steps"][step]["alternatives"]]
        assert told["equations"][-1]["labels"] == shown
        p = [one["p"] for one in answer["steps"][step]["alternatives"]]
        assert told["equations"][-1]["values"] == pytest.approx(p, rel=1e-4)


def test_the_equations_of_forced_attention(workbench: Workbench, number: int) -> None:
    asked = {"model": number, "text": TEXT, "attend": {1: 3}, "step": 1}
    told = workbench.actions["equations"](asked)
    values = {one["name"]: one["values"] for one in told["equations"]}
    assert values["weights"] == [0.0, 0.0, 0.0, 1.0, 0.0]
    assert all(map(math.isfinite, values["energies"]))


def test_pictures_are_files(workbench: Workbench, number: int, model: Model) -> None:
    asked = {"model": number, "text": TEXT, "write": {0: 9}, "attend": {1: 0}}
    svg = workbench.actions["picture"]({**asked, "format": "svg", "theme": "dark"})["content"]
    assert svg.startswith("<svg")
    data = workbench.actions["picture"]({**asked, "format": "json"})["content"]
    assert data["output"] == model.explain(TEXT, attend={1: 0}, steps=StepTokens(write={0: 9})).output


@pytest.mark.parametrize(
    ("asked", "where"),
    [
        ({}, "text"),
        ({"text": 5}, "text"),
        ({"text": "x" * 20_001}, "text"),
        ({"text": "a", "search": {"size": 0}}, "search.size"),
        ({"text": "a", "search": {"temperature": float("nan")}}, "search.temperature"),
        ({"text": "a", "more": 1}, "more"),
        ({"text": "a", "write": {"0": "b"}}, "write.0"),
        ({"text": "a", "model": 2}, "model"),
        ({"text": "a", "write": {"0": 1_000_000}}, "steps"),
        ({"text": "a", "attend": {"0": 7}}, "attend"),
        ([], "the request"),
    ],
    ids=str,
)
def test_other_requests_are_refused(workbench: Workbench, asked: Any, where: str) -> None:
    with pytest.raises(UsageError) as refused:
        workbench.actions["decode"](asked)
    assert refused.value.where == where


def test_a_step_that_does_not_exist_has_no_equations(workbench: Workbench) -> None:
    with pytest.raises(UsageError, match="no step 99"):
        workbench.actions["equations"]({"text": TEXT, "step": 99})


def test_sub_words_are_shown_without_the_mark_of_a_space() -> None:
    tokenizer = learn("bpe", sampling=0.0)
    surface = TokenBytes(tokenizer)
    ids = tokenizer.encode("the")
    told = [token(id, surface) for id in ids]
    assert "".join(one["shown"] for one in told).removeprefix("␣") == "the"
    assert [one["space"] for one in told] == [True] + [False] * (len(ids) - 1)
    assert token(EOS, surface) == {"id": EOS, "shown": "</s>", "space": False}
