"""The made-up tasks are what they say: right, unambiguous, and without leaks."""

from __future__ import annotations

import hashlib
import math
import random
import re
from collections import Counter
from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rapidfuzz.distance import Levenshtein

from dragoman.data.recipes.build import RECIPES
from dragoman.data.recipes.chat import generate as chat
from dragoman.data.recipes.commands import generate as commands
from dragoman.data.recipes.dates import generate as dates
from dragoman.data.recipes.dates.calendars import CALENDARS, write
from dragoman.data.recipes.dates.generate import FORMS
from dragoman.data.recipes.g2p import generate as g2p
from dragoman.data.recipes.grammar import generate as grammar
from dragoman.data.recipes.intents import generate as intents
from dragoman.data.recipes.ocr import generate as ocr
from dragoman.data.recipes.reverse import generate as reverse
from dragoman.data.recipes.slots import generate as slots
from dragoman.data.recipes.spelling import generate as spelling
from dragoman.data.recipes.tones import generate as tones

days = st.dates(dates.FIRST, dates.LAST)
MARCH_3 = date(1987, 3, 3)


GENERATED = {name: recipe.splits for name, recipe in RECIPES.items() if recipe.splits}
SHARED_TARGETS = {
    "spelling",
    "commands",
    "chat",
    "slots",
    "intents",
}  # several sources have the same target, and may be apart


@pytest.mark.parametrize("name", GENERATED)
def test_no_source_and_no_target_stands_in_two_splits(name: str) -> None:
    splits = GENERATED[name]()
    parts = [splits[part] for part in ("train", "valid", "test")]
    sources = [src for pairs in parts for src, _ in pairs]
    targets = [tgt for pairs in parts for _, tgt in pairs]
    assert len(set(sources)) == len(sources)
    assert len(set(targets)) == len(targets) or name in SHARED_TARGETS


@pytest.mark.parametrize("name", GENERATED)
def test_the_page_counts_the_pairs(name: str) -> None:
    page = RECIPES[name].texts["README.md"]
    counts = re.findall(r"^\| ([a-z-]+)\.tsv \| ([\d,]+) \|", page, re.MULTILINE)
    splits = GENERATED[name]()
    assert not counts or {part: f"{len(list(pairs)):,}" for part, pairs in splits.items()} == dict(counts)


@pytest.mark.parametrize("name", GENERATED)
def test_the_page_says_what_to_expect(name: str) -> None:
    page = RECIPES[name].texts["README.md"]
    assert re.search(r"^Expect ", page, re.MULTILINE) or name in ("reverse", "from-rnn-to-attention")


@pytest.mark.parametrize(
    "module", [dates, reverse, spelling, g2p, commands, chat, grammar, slots, intents, ocr, tones]
)
def test_seed_decides_everything(module: object) -> None:
    assert module.splits(3) == module.splits(3)  # type: ignore[attr-defined]
    assert module.splits(3) != module.splits(4)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("language", "form", "text"),
    [
        ("en", "the {nth} of {month} {y}", "the 3rd of March 1987"),
        ("en", "{weekday}, {month} {d}, {y}", "Tuesday, March 3, 1987"),
        ("de", "{dd}.{mm}.{y}", "03.03.1987"),
        ("de", "{weekday}, {d}. {month} {y}", "Dienstag, 3. März 1987"),
        ("fr", "le {weekday} {nth} {month} {y}", "le mardi 3 mars 1987"),
        ("es", "{d} de {month} de {y}", "3 de marzo de 1987"),
        ("it", "{nth} {month} {y}", "il 3 marzo 1987"),
        ("pt", "{weekday}, {nth} de {month} de {y}", "terça-feira, 3 de março de 1987"),
        ("nl", "{weekday} {d} {month} {y}", "dinsdag 3 maart 1987"),
        ("pl", "{weekday}, {d} {month} {y} r.", "wtorek, 3 marca 1987 r."),
        ("ja", "{y}年{m}月{d}日（{weekday}）", "1987年3月3日（火）"),
    ],
)
def test_date_is_written_as_people_write_it(language: str, form: str, text: str) -> None:
    assert form in CALENDARS[language].forms
    assert write(MARCH_3, language, form) == text


@pytest.mark.parametrize(
    ("language", "day", "text"),
    [("fr", 1, "1er"), ("it", 1, "il 1º"), ("it", 8, "l'8"), ("pt", 1, "1º"), ("en", 22, "22nd")],
)
def test_ordinals_follow_their_language(language: str, day: int, text: str) -> None:
    assert write(date(1987, 5, day), language, "{nth}") == text


def test_every_calendar_is_complete() -> None:
    for calendar in CALENDARS.values():
        names = [calendar.months.split(), calendar.short.split(), calendar.weekdays.split()]
        assert [len(set(group)) for group in names] == [12, 12, 7]


def test_no_month_name_means_two_months() -> None:
    meaning: dict[str, set[int]] = {}
    for calendar in CALENDARS.values():
        for names in (calendar.months, calendar.short):
            for number, name in enumerate(names.split()):
                for variant in (name, name.lower(), name.upper()):
                    meaning.setdefault(variant.rstrip("."), set()).add(number)
    assert all(len(numbers) == 1 for numbers in meaning.values())


@settings(deadline=None)
@given(days, days)
def test_no_text_means_two_days(one: date, other: date) -> None:
    texts = [{write(day, language, form).lower() for language, form in FORMS} for day in (one, other)]
    assert one == other or not texts[0] & texts[1]


def test_every_form_is_seen_in_training() -> None:
    seen: Counter[tuple[str, str]] = Counter()
    for src, tgt in dates.splits()["train"][:2000]:
        day = date.fromisoformat(tgt)
        seen.update(form for form in FORMS if write(day, *form).lower() == src.lower())
    assert all(seen[form] > 10 for form in FORMS), seen


def test_targets_are_the_days_the_sources_say() -> None:
    for pairs in dates.splits().values():
        for src, tgt in pairs[:300]:
            day = date.fromisoformat(tgt)
            assert src.lower() in {write(day, language, form).lower() for language, form in FORMS}


def test_reverse_reverses() -> None:
    assert all(tgt == src[::-1] for pairs in reverse.splits().values() for src, tgt in pairs)


def test_the_page_of_dates_counts_its_forms() -> None:
    assert f"Spanish), {len(FORMS)}\nforms" in RECIPES["dates"].texts["README.md"]


# Of all lines of SCAN's simple split (training and test, the prefix I_ removed), sorted.
SCAN = "6ec26459158f2f10e03e095527d0d611e43e1915768c8533e0b1ce59aedf1965"


def test_commands_are_those_of_scan() -> None:
    lines = sorted((command, " ".join(actions)) for command, actions in commands.commands().items())
    text = "".join(f"{command}\t{actions}\n" for command, actions in lines)
    assert hashlib.sha256(text.encode()).hexdigest() == SCAN


def test_jump_is_combined_with_nothing_in_training() -> None:
    parts = commands.splits()
    jumping = [command for command, _ in parts["jump-train"] if "jump" in command]
    assert jumping == ["jump"] * 1467
    assert all("jump" in command for command, _ in parts["jump-test"])
    assert len({*parts["jump-train"], *parts["jump-test"]}) == len(commands.commands())


@pytest.mark.parametrize(
    ("parts", "phonemes"),
    [
        ([("gu", "i", ""), ("t", "a", ""), ("rr", "a", "")], "ɡ i t ˈa r a"),
        ([("c", "i", ""), ("gü", "e", ""), ("ñ", "a", "")], "θ i ɡ w ˈe ɲ a"),
        ([("r", "a", ""), ("t", "o", "n")], "r ˈa t o n"),
        ([("h", "o", "n"), ("r", "a", "r")], "o n r ˈa ɾ"),
        ([("qu", "e", ""), ("s", "o", "s")], "k ˈe s o s"),
        ([("ll", "a", ""), ("v", "e", "s")], "ʝ ˈa b e s"),
        ([("p", "a", ""), ("p", "e", "l")], "p a p ˈe l"),
    ],
)
def test_spanish_is_read_as_it_is_spoken(parts: list[g2p.Syllable], phonemes: str) -> None:
    word, spoken = g2p.read(parts, g2p.stressed_by_rule(parts))
    assert word == "".join(letters for part in parts for letters in part)
    assert spoken == phonemes


def test_stress_against_the_rule_is_written() -> None:
    assert g2p.read([("r", "a", ""), ("t", "o", "n")], 1) == ("ratón", "r a t ˈo n")


def test_every_misspelling_is_near_its_word() -> None:
    for wrong, word in spelling.splits()["test"]:
        assert wrong != word
        assert Levenshtein.distance(wrong, word) <= 6
    assert spelling.neighbours("q") == "w"
    assert spelling.mishear("receive", random.Random(1)) in ("recieve", "reseive")


def test_replies_know_what_the_prompt_says() -> None:
    replies = [pair for pairs in chat.splits().values() for pair in pairs]
    assert ("How much is seven plus eight?", "Seven plus eight is fifteen.") in replies
    for prompt, reply in replies:
        names = [word for word in re.findall(r"\w+", prompt) if word in chat.NAMES]
        assert all(name in reply for name in names)


def test_the_page_of_the_grammar_knows_its_perplexity() -> None:
    log_p = grammar.sentences()
    test = [line for line, _ in grammar.splits()["test"]]
    words = sum(len(line.split()) + 1 for line in test)
    perplexity = math.exp(-sum(log_p[line] for line in test) / words)
    assert f"perplexity of {perplexity:.2f} per word" in RECIPES["grammar"].texts["README.md"]
    assert (
        f"of {len(set(' '.join(log_p).split())) - 1} words and a full stop"
        in RECIPES["grammar"].texts["README.md"]
    )


def test_every_word_of_a_request_has_a_tag() -> None:
    for words, tags in slots.splits()["test"]:
        assert len(words.split(" ")) == len(tags.split(" "))
        inside = [
            (a, b) for a, b in zip(["O", *tags.split(" ")], tags.split(" "), strict=False) if b[0] == "I"
        ]
        assert all(before[2:] == tag[2:] for before, tag in inside)
