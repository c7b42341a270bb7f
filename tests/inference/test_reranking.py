"""n best, samples, risk, ensembles, a reverse model and traces, from texts to results."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from dragoman.config.search import SearchConfig
from dragoman.errors import ConfigError, ModelError, UsageError
from dragoman.inference.model import load
from dragoman.inference.reranking import ReverseModel, minimum_bayes_risk, rerank_by_reverse
from dragoman.inference.runtimes.torch import TorchRuntime
from dragoman.metrics.sentence_distance import DISTANCES
from dragoman.search.forced import forced
from dragoman.search.hypothesis import Hypothesis
from dragoman.text.specials import EOS
from dragoman.text.tokenizers.word import Word
from support.tiny_bundle import RNN, WORDS, tiny, tiny_folder

TEXTS = ["a b c", "d e f", "g h", ""]


def test_the_n_best_are_told_with_their_scores() -> None:
    translate = TorchRuntime(tiny())
    for one, many in zip(
        translate(TEXTS, SearchConfig(size=4, max_length=9)),
        translate(TEXTS, SearchConfig(size=4, max_length=9, n_best=4)),
        strict=True,
    ):
        assert one.alternatives == ()
        assert (many.text, many.score) == (one.text, pytest.approx(one.score, abs=1e-6))
        if many.text:
            assert many.alternatives[0][:2] == (many.text, many.score)
            assert 1 < len(many.alternatives) <= 4
            scores = [a.score for a in many.alternatives]
            assert scores == sorted(scores, reverse=True)


def test_samples_are_the_same_alone_and_in_any_batch() -> None:
    translate = TorchRuntime(tiny())
    search = SearchConfig(kind="sample", n_best=3, top_p=0.9, temperature=30.0, max_length=8, seed=4)
    together = translate(TEXTS, search)
    assert len({a.text for result in together for a in result.alternatives}) > 4
    for text, result in zip(TEXTS, together, strict=True):
        (alone,) = translate([text], search)
        assert [a.text for a in alone.alternatives] == [a.text for a in result.alternatives]
        assert alone.text == result.text
    (first,) = translate(TEXTS[:1], search.model_copy(update={"n_best": 1}))
    assert first.text == together[0].text == together[0].alternatives[0].text


def test_risk_by_hand() -> None:
    """Of four samples three share most words; the odd one is most probable, and last."""
    text = Word.learn(["a b c d x y"], 20)
    lines = ["x y", "a b c", "a b d", "a b c"]
    samples = [Hypothesis(tuple(text.encode(line)), 0.0, -float(i), True) for i, line in enumerate(lines)]
    distance = DISTANCES["chrf"]()
    ranked = minimum_bayes_risk(samples, text, distance)
    assert [text.decode(h.tokens) for h in ranked] == ["a b c", "a b d", "x y"]
    expected = 1 - (distance("a b c", "x y") + distance("a b c", "a b d")) / 4
    assert ranked[0].score == pytest.approx(expected, abs=1e-6)
    assert ranked[0].log_p == -1.0


def test_risk_takes_time_by_the_samples_and_not_by_their_square() -> None:
    text = Word.learn([" ".join(f"w{n}" for n in range(1024))], 2000)
    samples = [Hypothesis(tuple(text.encode(f"w{n} w{n // 2}")), 0.0, 0.0, True) for n in range(1024)]
    compared = []

    def distance(output: str, reference: str) -> float:
        compared.append(reference)
        return float(output != reference)

    ranked = minimum_bayes_risk(samples, text, distance)
    assert len(ranked) == 1024
    assert len(compared) <= 64 * 1024
    assert len(set(compared)) == 64
    assert ranked[0].score == pytest.approx(1 / 64)


@pytest.mark.parametrize("utility", ["chrf", "bleu"])
def test_minimum_risk_chooses_among_the_samples(utility: str) -> None:
    translate = TorchRuntime(tiny())
    drawn = translate(TEXTS, SearchConfig(kind="sample", n_best=8, max_length=6))
    search = SearchConfig(kind="mbr", samples=8, n_best=3, max_length=6, utility=utility)
    for samples, result in zip(drawn, translate(TEXTS, search), strict=True):
        assert {a.text for a in result.alternatives} <= {a.text for a in samples.alternatives}
        assert all(0.0 <= a.score <= 1.0 for a in result.alternatives)


def test_a_reverse_model_scores_as_forced_decoding_does() -> None:
    bundle = tiny(RNN, seed=5)
    outputs = ["a b", "c", "d e f g", ""]
    found = ReverseModel(bundle).mean_log_p("h i j", outputs)
    x = [*bundle.text.tgt.encode("h i j"), EOS]
    for y, mean in zip(outputs, found, strict=True):
        src = torch.tensor([[*bundle.text.src.encode(y), EOS]])
        again = forced(bundle.model, src, torch.ones_like(src, dtype=torch.bool), [x]).log_p.mean()
        assert mean == pytest.approx(float(again), abs=1e-5)


def test_a_reverse_model_reorders() -> None:
    hypotheses = [Hypothesis((4,), -1.0, -2.0, True), Hypothesis((5,), -1.2, -2.4, True)]
    ranked = rerank_by_reverse(hypotheses, [-3.0, -1.0], 0.25)
    assert [(h.tokens, h.score) for h in ranked] == [
        ((5,), pytest.approx(-1.15)),
        ((4,), pytest.approx(-1.5)),
    ]
    assert ranked[1].log_p == -2.0
    plain = TorchRuntime(tiny())(TEXTS, SearchConfig(size=4, max_length=8, n_best=4))
    both = TorchRuntime(tiny(), reverse=tiny(seed=7))
    same = both(TEXTS, SearchConfig(size=4, max_length=8, n_best=4, reverse_weight=0.0))
    assert [r.text for r in same] == [r.text for r in plain]
    back = both(TEXTS, SearchConfig(size=4, max_length=8, n_best=4, reverse_weight=1.0))
    assert [r.text for r in back] != [r.text for r in plain]
    for p, b in zip(plain, back, strict=True):
        assert sorted(a.text for a in p.alternatives) == sorted(a.text for a in b.alternatives)


def test_an_ensemble_decides_together(tmp_path: Path) -> None:
    folders = [tiny_folder(tmp_path / str(seed), seed=seed) for seed in (1, 2)]
    model = load(folders[0], ensemble=folders[1:])
    alone = [load(folder)(TEXTS) for folder in folders]
    found = model(TEXTS)
    assert [r.text for r in found] not in [[r.text for r in results] for results in alone]
    twice = load(folders[0], ensemble=[folders[0]])(TEXTS)
    assert [r.text for r in twice] == [r.text for r in alone[0]]
    logs = model(TEXTS, SearchConfig(size=3, max_length=12, ensemble="log"))
    assert [r.score for r in logs] != [r.score for r in found]


def test_models_of_other_vocabularies_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = tiny_folder(tmp_path / "one")
    monkeypatch.setattr("support.tiny_bundle.WORDS", [*WORDS[:-1], "q"])
    with pytest.raises(ModelError, match="must share one vocabulary"):
        load(one, ensemble=[tiny_folder(tmp_path / "other")])


def test_a_call_changes_the_models_own_search(tmp_path: Path) -> None:
    model = load(tiny_folder(tmp_path / "model", max_length=3))
    result = model("a b c", search={"n_best": 2})
    assert len(result.alternatives) == 2
    assert all(len(a.tokens) <= 3 for a in result.alternatives)
    assert model("a b c").alternatives == ()
    with pytest.raises(ConfigError, match=r"Did you mean .*n_best") as wrong:
        model("a b c", search={"nbest": 2})
    assert wrong.value.where == "the search of this call"
    with pytest.raises(ConfigError, match=r"search\.size = 4"):
        model("a b c", search={"n_best": 4})


def test_a_trace_is_kept_where_it_is_asked_for() -> None:
    translate = TorchRuntime(tiny())
    plain = translate(TEXTS)
    for without, result in zip(plain, translate(TEXTS, trace=True), strict=True):
        assert without.trace is None
        assert (result.trace is None) == (result.text == "")
        assert result.text == without.text
        if result.trace:
            last = result.trace.candidates[result.trace.best[0] - 1]
            assert last.score == pytest.approx(result.score, abs=1e-5)
    with pytest.raises(UsageError, match="greedy and beam"):
        translate(TEXTS, SearchConfig(kind="sample"), trace=True)
