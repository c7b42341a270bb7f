"""Scores by hand, intervals, signatures, and comparisons of two systems."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import pytest
import sacrebleu
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.errors import DataError, UsageError
from dragoman.metrics.bleu import bleu
from dragoman.metrics.bootstrap import SAMPLES, p_value, resampled
from dragoman.metrics.chrf import chrf
from dragoman.metrics.corpus_score import CorpusScore
from dragoman.metrics.error_rates import cer, wer
from dragoman.metrics.exact_match import exact_match
from dragoman.metrics.names import ERRORS, OTHER_TITLES, PERCENT, SMALL, TITLES, USUAL
from dragoman.metrics.report import score, values
from dragoman.metrics.significance import compare, difference_interval
from dragoman.metrics.table import BY_SACREBLEU, MEASURES, OF_LABELS, OF_SOURCES
from dragoman.metrics.text_score import FIGURES

REFERENCES = ["the cat sat on the mat .", "a dog ran", "two men ride bicycles in the park .", "it rains"] * 10
GOOD = ["the cat sat on the mat .", "a dog ran", "two men ride bikes in the park .", "it rains"] * 10
POOR = ["a cat on mat .", "the dog ran", "men ride in park", "it rains ."] * 10


def test_a_score_is_printed_with_its_interval() -> None:
    assert str(CorpusScore(27.7856, (26.8196, 28.788), "chrF2|…")) == "27.79 (26.82 to 28.79)"


def test_bleu_and_chrf_are_those_of_sacrebleu() -> None:
    assert bleu(POOR, REFERENCES).value == sacrebleu.corpus_bleu(POOR, [REFERENCES]).score
    assert chrf(POOR, REFERENCES).value == sacrebleu.corpus_chrf(POOR, [REFERENCES]).score


def test_intervals_are_as_wide_as_those_of_sacrebleu() -> None:
    want = sacrebleu.BLEU().corpus_score(POOR, [REFERENCES], n_bootstrap=SAMPLES)
    low, high = bleu(POOR, REFERENCES).interval
    assert low < want._mean < high
    assert (high - low) / 2 == pytest.approx(want._ci, rel=0.1)


def test_signatures_say_how_bleu_and_chrf_were_computed() -> None:
    assert "case:mixed" in bleu(GOOD, REFERENCES).signature
    assert "tok:13a" in bleu(GOOD, REFERENCES).signature
    assert "case:lc" in bleu(GOOD, REFERENCES, lowercase=True).signature
    assert "nc:6" in chrf(GOOD, REFERENCES).signature


def test_word_error_rate_is_edits_over_reference_words() -> None:
    # one substitution, one deletion, one insertion, over 3 + 2 + 1 words
    assert wer(["a b x", "c", "d e"], ["a b c", "c d", "d"]).value == pytest.approx(3 / 6)


def test_character_error_rate_counts_code_points_and_spaces() -> None:
    assert cer(["naïve", "a b"], ["naive", "ab"]).value == pytest.approx(2 / 7)


def test_error_rates_can_pass_one() -> None:
    assert wer(["a b c"], ["x"]).value == 3.0


def test_exact_match_is_the_share_of_equal_lines() -> None:
    assert exact_match(["a", "B", "c"], ["a", "b", "c"]).value == pytest.approx(2 / 3)


def test_the_nearest_of_several_references_counts() -> None:
    outputs, wanted, others = ["a b", "c"], ["x y z", "d"], ["a b c", "c"]
    assert exact_match(outputs, wanted, others).value == pytest.approx(1 / 2)
    # one edit to "a b c", of three words on average; none to "c", of one
    assert wer(outputs, wanted, others).value == pytest.approx(1 / 4)
    assert bleu(outputs, wanted, others).value == sacrebleu.corpus_bleu(outputs, [wanted, others]).score
    assert "nrefs:2" in chrf(outputs, wanted, others).signature


@pytest.mark.parametrize(
    ("name", "meant"), [("gleu", 'google_gleu" or "napoles_gleu'), ("belu", "bleu"), ("spn_f1", "span_f1")]
)
def test_a_metric_that_does_not_exist_is_refused_with_the_nearest(name: str, meant: str) -> None:
    with pytest.raises(UsageError, match=f'no metric "{name}". Did you mean "{meant}"'):
        score(GOOD, REFERENCES, metrics=[name])


def test_metrics_that_are_asked_for_are_measured_once_each() -> None:
    report = score(GOOD, REFERENCES, metrics=["rouge", "wer", "rouge_1"])
    assert list(report.scores) == ["rouge_1", "rouge_2", "rouge_l", "wer"]


def test_every_metric_has_a_title_and_a_function() -> None:
    assert sorted(TITLES) == sorted([*BY_SACREBLEU, *MEASURES, *OF_LABELS, *OF_SOURCES])
    assert {*ERRORS, *PERCENT, *USUAL, *SMALL, *FIGURES} <= {*TITLES, *OTHER_TITLES}


def test_a_perfect_system_has_perfect_scores_and_no_doubt() -> None:
    report = score(REFERENCES, REFERENCES).asdict()
    assert report["bleu"] == pytest.approx(100)
    assert report["chrf"] == pytest.approx(100)
    assert (report["exact_match"], report["wer"], report["cer"]) == (100.0, 0.0, 0.0)
    low, high = report["intervals"]["exact_match"]
    assert (low < 100.0, high) == (True, 100.0)


def test_sixty_of_sixty_right_do_not_mean_that_none_can_be_wrong() -> None:
    low, high = exact_match(["a"] * 60, ["a"] * 60).score().interval
    assert (round(low, 1), high) == (94.0, 100.0)  # Wilson: 60 / (60 + 1.96²)
    low, high = exact_match(["a"] * 60, ["b"] * 60).score().interval
    assert (low, round(high, 1)) == (0.0, 6.0)


def test_an_interval_lies_where_scores_can() -> None:
    """By percentiles; mean ± half gave chrF of two lines, one of them right, from −18.83 to 64.50."""
    found = chrf(["a b c d e f", "xx"], ["a b c d e f", "the quick brown fox jumps over it"])
    low, high = found.interval
    assert 0.0 <= low <= found.value <= high <= 100.0
    assert "bs:1000|seed:12345" in found.signature


@pytest.mark.parametrize(
    ("output", "reference", "tokenizer"),
    [
        ("今天天气很好,我们去公园散步。", "今天天气很好,我们去公园玩。", "zh"),
        ("今日は天気がいいです。", "今日は天気がよいです。", "char"),
        ("วันนี้อากาศดีมาก", "วันนี้อากาศดี", "char"),
        ("the cat sat on a mat", "the cat sat on the mat", "13a"),
        ("오늘은 날씨가 좋다", "오늘은 날씨가 좋네", "13a"),
    ],
)
def test_bleu_has_the_tokens_of_the_references_script(output: str, reference: str, tokenizer: str) -> None:
    if tokenizer == "char" and "は" in reference and find_spec("MeCab"):
        tokenizer = "ja-mecab"
    found = bleu([output], [reference])
    assert f"tok:{tokenizer}" in found.signature
    wanted = sacrebleu.corpus_bleu([output], [[reference]], tokenize=tokenizer).score
    assert found.value == pytest.approx(wanted)


def test_chinese_is_not_worth_nothing() -> None:
    assert bleu(["今天天气很好,我们去公园散步。"], ["今天天气很好,我们去公园玩。"]).value == pytest.approx(
        79.2, abs=0.1
    )


def test_the_report_has_exactly_the_keys_promised_and_is_json() -> None:
    report = json.loads(json.dumps(score(POOR, REFERENCES).asdict()))
    metrics = ["bleu", "chrf", "exact_match", "wer", "cer"]
    assert sorted(report) == sorted([*metrics, "signature", "intervals", "sentences"])
    assert sorted(report["signature"]) == ["bleu", "chrf"]
    assert list(report["intervals"]) == metrics
    assert report["sentences"] == len(REFERENCES)
    for metric in metrics:
        low, high = report["intervals"][metric]
        assert low <= report[metric] <= high


@pytest.mark.parametrize("lowercase", [False, True])
def test_values_alone_are_those_of_the_report(lowercase: bool) -> None:
    shouting = [line.upper() for line in POOR]
    report = score(shouting, REFERENCES, lowercase=lowercase).asdict()
    for metric, value in values(shouting, REFERENCES, lowercase=lowercase).items():
        assert value == pytest.approx(report[metric])


def test_lower_case_reaches_every_metric() -> None:
    shouting = [line.upper() for line in REFERENCES]
    assert score(shouting, REFERENCES).asdict()["exact_match"] == 0.0
    lower = score(shouting, REFERENCES, lowercase=True).asdict()
    assert (lower["exact_match"], lower["wer"], lower["cer"]) == (100.0, 0.0, 0.0)
    assert lower["bleu"] == pytest.approx(100)


def test_scores_and_intervals_are_the_same_every_time() -> None:
    assert score(POOR, REFERENCES) == score(POOR, REFERENCES)


def test_resampled_sentences_are_shared_and_seeded() -> None:
    first, second = list(resampled(7)), list(resampled(7))
    assert len(first) == SAMPLES
    assert all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))


def test_too_few_outputs_are_refused_with_both_counts() -> None:
    with pytest.raises(DataError, match="39 outputs for 40 references"):
        score(GOOD[:-1], REFERENCES)


@pytest.mark.parametrize("references", [[], [""], [" ", ""]])
def test_references_without_text_are_refused(references: list[str]) -> None:
    with pytest.raises(DataError, match="no reference"):
        score(["x"] * len(references), references)


def test_an_empty_output_and_an_empty_reference_among_others_count_as_edits() -> None:
    report = score(["", "a", "b c"], ["x y", "", "b c"]).asdict()
    assert report["wer"] == pytest.approx(75)
    assert report["exact_match"] == pytest.approx(100 / 3)


def test_a_much_better_system_is_significantly_better() -> None:
    for row in compare(GOOD, POOR, REFERENCES):
        assert row.p_value < 0.05
        assert (row.system < row.baseline) == (row.metric in ("wer", "cer"))


def test_a_system_is_not_better_than_itself() -> None:
    assert [row.p_value for row in compare(GOOD, GOOD, REFERENCES)] == [1.0] * len(USUAL)


def test_one_sentence_more_right_of_forty_proves_nothing() -> None:
    almost = [*GOOD[:-1], "it snows"]
    exact = next(row for row in compare(GOOD, almost, REFERENCES) if row.metric == "exact_match")
    assert exact.system > exact.baseline
    assert exact.p_value > 0.05


def test_comparison_values_are_those_of_the_report() -> None:
    report = score(GOOD, REFERENCES, lowercase=True).asdict()
    for row in compare(GOOD, POOR, REFERENCES, lowercase=True):
        assert row.system == pytest.approx(report[row.metric])


def test_a_comparison_needs_as_many_outputs_of_both() -> None:
    with pytest.raises(DataError):
        compare(GOOD, POOR[:-1], REFERENCES)


def test_the_p_value_of_noise_without_difference_is_one() -> None:
    noise = np.random.default_rng(0).normal(size=SAMPLES)
    assert p_value(noise, 0.0) == 1.0
    assert p_value(noise + 10, 10.0) == pytest.approx(1 / (SAMPLES + 1))


lines = st.lists(st.text(max_size=20), min_size=1, max_size=4)


@settings(max_examples=6, deadline=None)
@given(lines, st.data())
def test_any_text_can_be_scored(references: list[str], data: st.DataObject) -> None:
    hypotheses = [data.draw(st.text(max_size=20)) for _ in references]
    if not any(reference.strip() for reference in references):
        return
    report = score(hypotheses, references).asdict()
    assert 0 <= report["bleu"] <= 100.001
    assert 0 <= report["exact_match"] <= 100
    assert report["wer"] >= 0
    assert report["cer"] >= 0


def test_metrics_do_not_reach_torch() -> None:
    code = (
        "import sys, dragoman.metrics.report, dragoman.metrics.significance; sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("metric", ["bleu", "chrf", "wer", "exact_match"])
def test_the_interval_of_a_difference_is_around_it(metric: str) -> None:
    new, old = (score(some, REFERENCES, metrics=[metric]).scores[metric].value for some in (GOOD, POOR))
    low, high = difference_interval(metric, GOOD, POOR, REFERENCES)
    assert low < new - old < high
    assert low * high > 0, "better, or for an error rate lower, in nearly all samples"
    assert difference_interval(metric, GOOD, GOOD, REFERENCES) == (0, 0)
