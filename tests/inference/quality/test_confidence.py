"""A model learns on held-out pairs how sure it may be, and its folder says so."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
import torch

from dragoman.data.collate import collate_sources
from dragoman.data.pair import Pair
from dragoman.durable import verify_folder
from dragoman.errors import DataError, ModelError
from dragoman.inference.model import load
from dragoman.inference.quality.confidence import calibrate, error_elsewhere, mean_log_p, references
from dragoman.inference.quality.flags import Limits
from dragoman.inference.result import Result
from dragoman.inference.runtimes.torch import TorchRuntime
from dragoman.metrics.calibration import calibration_error, fit_logistic, fit_monotone, monotone
from dragoman.models.bundle import Bundle, add_calibration, load_bundle
from dragoman.models.calibration import FILE, Calibration
from dragoman.search.forced import forced
from dragoman.search.repetition import OutputBounds
from dragoman.text.specials import EOS
from support.exported_folder import CALIBRATION, exported_folder
from support.tiny_bundle import RNN, TRANSFORMER, WORDS, tiny, tiny_folder, tiny_lm

KNOWN = Calibration(
    sentences=9,
    tokens=((0.0, 0.1), (1.0, 0.9)),
    slope=1.0,
    offset=2.0,
    lowest=-2.4,
    shortest=0.2,
    longest=4.0,
    muted=("copied",),
    bounds=OutputBounds(1.0, 10, 3),
    error=(0.1, 0.01),
)
PAIRS = [Pair(" ".join(WORDS[k : k + 5]), " ".join(WORDS[k + 4 : k : -1]), k) for k in range(10)]


def test_what_is_learned_are_numbers_that_fit_the_task() -> None:
    translator = TorchRuntime(tiny())
    learned = calibrate(translator, [*PAIRS, Pair("", "a", 11), Pair("a", " ", 12)])
    assert learned.sentences == len(PAIRS)
    assert all(0 <= error <= 1 for error in learned.error)
    assert list(learned.tokens) == sorted(learned.tokens)
    assert learned.slope >= 0
    assert "copied" in learned.muted  # the same words in another order: here a copy is no fault
    assert "repetition" not in learned.muted
    assert (learned.shortest, learned.longest) == (Limits().shortest, Limits().longest)


def test_after_few_outputs_only_one_below_all_of_them_has_low_confidence() -> None:
    translator = TorchRuntime(tiny())
    results = list(translator([pair.src for pair in PAIRS]))
    assert calibrate(translator, PAIRS, results=results).lowest == min(map(mean_log_p, results))


def test_a_task_with_long_outputs_has_wider_limits() -> None:
    pairs = [Pair("a b", "c d e f g h " * 20, 1), Pair("a", "b", 2)]
    learned = calibrate(TorchRuntime(tiny()), pairs)
    assert learned.longest > 9
    assert learned.shortest == Limits().shortest


def test_no_usable_pair_is_explained() -> None:
    with pytest.raises(DataError, match="calibrate"):
        calibrate(TorchRuntime(tiny()), [Pair("", "a", 1)])


def test_references_end_and_stand_in_batches_of_like_length() -> None:
    translator = TorchRuntime(tiny())
    ((src, keep, rows),) = references(translator, PAIRS[::-1])
    assert len(src) == len(keep) == len(rows) == len(PAIRS)
    assert all(row[-1] == EOS for row in rows)
    assert [len(row) for row in rows] == sorted(len(row) for row in rows)


def test_a_folder_keeps_its_calibration_and_stays_whole(tmp_path: Path) -> None:
    folder = tiny_folder(tmp_path / "model")
    before = load(folder)("a b c", {"guard": False})
    assert before.confidence is None
    add_calibration(folder, KNOWN)
    assert verify_folder(folder) is None
    assert FILE in json.loads((folder / "MANIFEST.json").read_text())["files"]
    model = load(folder)
    assert model.translator.checker.calibration == KNOWN
    after = model("a b c", {"guard": False})
    assert after._replace(flags=(), confidence=None) == before._replace(flags=())
    assert 0 < after.confidence < 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model"]


def test_perfect_outputs_do_not_make_every_output_certain() -> None:
    """Where all validation outputs are right, their probabilities still say what a right output is like."""
    draw = np.random.default_rng(1)
    right = -draw.exponential(0.001, 500)  # mean log p, as of the recipe `dates`
    slope, offset = fit_logistic(right, np.ones(500))
    known = KNOWN.model_copy(update={"slope": slope, "offset": offset})
    assert np.median([known.confidence(x) for x in right]) > 0.99
    assert known.confidence(-0.07) < 0.05
    assert known.confidence(-5.0) < 0.01


def test_the_error_is_measured_on_pairs_that_the_curve_has_not_seen() -> None:
    """Of confidences that say nothing, a curve with 20 knots would fit the chance in 30 tokens."""
    draw = np.random.default_rng(1)
    halves = [(draw.uniform(size=200), draw.uniform(size=200) < 0.5) for _ in range(2)]
    inside = [calibration_error(monotone(p, fit_monotone(p, hit)), hit) for p, hit in halves]
    assert error_elsewhere(halves) > np.mean(inside)


def test_scores_that_say_nothing_give_no_confidence() -> None:
    assert KNOWN.model_copy(update={"slope": 0.0}).confidence(-1.0) is None


def test_a_calibration_from_before_is_read_and_flags_nothing(tmp_path: Path) -> None:
    folder = tiny_folder(tmp_path / "model")
    add_calibration(folder, KNOWN)
    facts = json.loads((folder / FILE).read_text())
    del facts["lowest"]
    old = Calibration.model_validate({**facts, "doubt": 0.9999})
    assert "earlier version" in old.warning
    assert not KNOWN.warning
    assert "no confidence" in KNOWN.model_copy(update={"slope": 0.0}).warning
    add_calibration(folder, old)
    assert "low_confidence" not in load(folder)("a b c", {"guard": False}).flags


def test_a_calibration_of_another_kind_is_refused(tmp_path: Path) -> None:
    folder = tiny_folder(tmp_path / "model")
    add_calibration(folder, KNOWN.model_copy(update={"slope": math.inf}))
    with pytest.raises(ModelError, match="calibration cannot be read"):
        load(folder)


@pytest.mark.parametrize("part", [TRANSFORMER, RNN], ids=["transformer", "rnn"])
def test_confidence_follows_from_the_mean_of_the_tokens(part: dict[str, object]) -> None:
    bundle = tiny(part)
    translate = TorchRuntime(Bundle(bundle.config, bundle.text, bundle.model, KNOWN))
    for result in translate(["a b c", "d e", "f", "g h i j"], details=True):
        mean = sum(token.log_p for token in result.details) / len(result.details)
        assert result.confidence == pytest.approx(1 / (1 + math.exp(-mean - 2.0)), abs=1e-5)
        assert ("low_confidence" in result.flags) == (mean < -2.4)
        for token in result.details:
            assert token.confidence == pytest.approx(0.1 + 0.8 * math.exp(token.log_p))


def alone(bundle: Bundle, source: str, result: Result) -> list[float]:
    """log p of each token of an output by one model."""
    src, keep = (torch.as_tensor(x) for x in collate_sources([bundle.text.src.encode(source)]))
    found = forced(bundle.stepper, src, keep, [[*result.tokens, *([] if result.truncated else [EOS])]])
    log_p: list[float] = found.log_p[0].tolist()
    return log_p


def confidence_of(log_p: list[float]) -> float:
    assert KNOWN.confidence(0.0)
    return KNOWN.confidence(sum(log_p) / len(log_p)) or 0.0


@pytest.mark.parametrize("how", ["lm", "ensemble"])
def test_confidence_is_that_of_the_model_whatever_took_part_in_the_search(how: str) -> None:
    tiny_model, other = tiny(), tiny(seed=2)
    bundle = Bundle(tiny_model.config, tiny_model.text, tiny_model.model, KNOWN)
    mixed = TorchRuntime(bundle, lm=tiny_lm()) if how == "lm" else TorchRuntime(bundle, other)
    texts = ["a b c", "d e", "f", "g h i j"]
    for text, result in zip(texts, mixed(texts), strict=True):
        own = alone(bundle, text, result)
        assert sum(own) != pytest.approx(result.log_p, abs=1e-2), "the search has other numbers"
        assert result.confidence == pytest.approx(confidence_of(own), abs=1e-5)
        assert ("low_confidence" in result.flags) == (sum(own) / len(own) < -2.4)


def test_the_tokens_of_a_prefix_do_not_count() -> None:
    tiny_model = tiny()
    bundle = Bundle(tiny_model.config, tiny_model.text, tiny_model.model, KNOWN)
    texts, prefixes = ["a b c", "d e", "f g"], ["p p p", "", "o"]
    results = TorchRuntime(bundle)(texts, prefix=prefixes)
    for text, prefix, result in zip(texts, prefixes, results, strict=True):
        assert result.text.startswith(prefix)
        own = alone(bundle, text, result)[len(prefix.split()) :]
        assert result.confidence == pytest.approx(confidence_of(own), abs=1e-5)


def test_an_export_leaves_the_prefix_out_too(tmp_path: Path) -> None:
    folder = exported_folder(tmp_path / "model")
    result, bundle = load(folder, runtime="ct2")("a dog", prefix="two"), load_bundle(folder)
    lengths = range(len(result.tokens))
    forced = next(n for n in lengths if bundle.text.tgt.decode(result.tokens[:n]).startswith("two"))
    chosen = alone(bundle, "a dog", result)[forced:]
    assert result.confidence == pytest.approx(CALIBRATION.confidence(sum(chosen) / len(chosen)), abs=1e-4)
