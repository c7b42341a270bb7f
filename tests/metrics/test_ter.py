"""TER is sacreBLEU's, number for number."""

from __future__ import annotations

import random

import sacrebleu
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics.lib_ter import BeamEditDistance, translation_edit_rate

from dragoman.metrics.edit_distance import edit_distance
from dragoman.metrics.ter import MAX_CANDIDATES, Shift, sentence_edits, ter

few_words = st.lists(st.sampled_from("abcd"), max_size=12)
more_words = st.lists(st.sampled_from("abcdefghij"), max_size=24)


@given(few_words, few_words)
def test_edits_of_repetitive_lines_are_those_of_sacrebleu(output: list[str], wanted: list[str]) -> None:
    assert sentence_edits(output, wanted) == translation_edit_rate(output, wanted)[0]


@given(more_words, st.data())
def test_edits_of_another_order_are_those_of_sacrebleu(wanted: list[str], data: st.DataObject) -> None:
    output = data.draw(st.permutations(wanted))
    assert sentence_edits(output, wanted) == translation_edit_rate(output, wanted)[0]


def test_the_search_ends_where_that_of_sacrebleu_ends() -> None:
    """With two words there are more shifts than Tercom tries."""
    rng = random.Random(3)
    tried = 0
    for _ in range(5):
        wanted = [rng.choice("ab") for _ in range(24)]
        output = rng.sample(wanted, len(wanted))
        tried += len(wanted) ** 2
        assert sentence_edits(output, wanted) == translation_edit_rate(output, wanted)[0]
    assert tried > MAX_CANDIDATES


def test_loops_of_long_lines_are_edited_within_the_beam_of_sacrebleu() -> None:
    """The shortest way to edit them is not always in the beam."""
    rng = random.Random(5)
    outside = 0
    for _ in range(60):
        wanted = [rng.choice("abcdefghijklmnopqrst") for _ in range(rng.randrange(28, 40))]
        output = (wanted[:4] * 30)[: rng.randrange(1, 3 * len(wanted))]
        edits = translation_edit_rate(output, wanted)[0]
        outside += BeamEditDistance(wanted)(output)[0] > edit_distance(wanted, output)
        assert sentence_edits(output, wanted) == edits
    assert outside


def test_a_phrase_that_is_moved_is_one_edit() -> None:
    assert sentence_edits(["c", "d", "e", "a", "b"], ["a", "b", "c", "d", "e"]) == 1


def test_a_shift_moves_a_phrase_forward_backward_and_past_itself() -> None:
    assert Shift(3, 2, 0).apply("abcdef") == "deabcf"
    assert Shift(0, 2, 4).apply("abcdef") == "cdabef"
    assert Shift(1, 2, 2).apply("abcdef") == "adbcef"


def test_the_corpus_with_two_references_scores_as_in_sacrebleu() -> None:
    outputs = ["The cat sat on the mat.", "", "men two ride in the park", "x"]
    wanted = ["the cat sat on a mat.", "a dog ran", "Two men ride in the park", ""]
    others = ["on the mat the cat sat.", "dogs", "two men are riding there", "y"]
    metric = sacrebleu.TER()
    for references in ([wanted], [wanted, others]):
        score = ter(outputs, *references).score()
        assert score.value == metric.corpus_score(outputs, references).score
        assert score.signature == str(metric.get_signature())
