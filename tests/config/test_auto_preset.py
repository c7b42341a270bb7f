"""Model, vocabulary and learning rate follow from data and machine where they are not set, and say why."""

from __future__ import annotations

import gzip
import random
from pathlib import Path

import pytest

from dragoman.config.auto_preset import (
    AutoPreset,
    choose,
    corpora_of,
    default_batch_tokens,
    default_vocabulary_size,
    guess_pairs,
)
from dragoman.config.dump import to_toml
from dragoman.config.load import load
from dragoman.config.root import Config


@pytest.mark.parametrize(
    ("pairs", "cores", "preset", "why"),
    [
        (29_123, 2, "transformer-tiny", "about 29,000 pairs are few"),
        (400_000, 2, "transformer-small", "about 400,000 pairs suit"),
        (5_000_000, 2, "transformer-small", "but 2 cores are too slow for it"),
        (5_000_000, 32, "transformer-base", "32 cores are fast enough"),
    ],
)
def test_more_data_and_a_faster_machine_give_a_larger_model(
    pairs: int, cores: int, preset: str, why: str
) -> None:
    sized = choose(pairs, cores)
    assert isinstance(sized, AutoPreset)
    assert sized.preset == preset
    assert why in sized.why


@pytest.mark.parametrize(
    ("pairs", "minutes", "preset"),
    [
        (300, 30, "transformer-micro"),
        (300, 120, "transformer-tiny"),
        (29_000, 6, "transformer-micro"),
        (29_000, 24, "transformer-micro"),
        (29_000, 120, "transformer-tiny"),
        (150_000, 24, "transformer-micro"),
        (150_000, 120, "transformer-tiny"),
        (150_000, 1_000, "transformer-small"),
    ],
)
def test_little_time_has_a_small_model(pairs: int, minutes: int, preset: str) -> None:
    assert choose(pairs, 1, 60.0 * minutes).preset == preset


@pytest.mark.parametrize(
    "train",
    [
        ["a.en", "a.de"],
        [{"files": ["a.en", "a.de"], "weight": 2}],
        [["a.en", "a.de"]],
    ],
)
def test_files_are_found_in_every_form(train: object) -> None:
    assert corpora_of({"train": train}) == [[Path("a.en"), Path("a.de")]]


def test_several_corpora_are_several() -> None:
    train = [{"files": ["a.en", "a.de"]}, {"files": "b.tsv"}]
    assert corpora_of({"train": train}) == [[Path("a.en"), Path("a.de")], [Path("b.tsv")]]


@pytest.mark.parametrize("data", [None, 3, {}, {"train": 3}, {"train": [3]}, {"train": [{"files": 3}]}])
def test_wrong_tables_have_no_files(data: object) -> None:
    assert corpora_of(data) == []


def test_lines_are_counted_or_guessed_from_the_beginning(tmp_path: Path) -> None:
    few, many, packed = tmp_path / "a.tsv", tmp_path / "b.tsv", tmp_path / "c.tsv.gz"
    few.write_bytes(b"a\tb\n" * 100)
    many.write_bytes(b"one word\tanother word\n" * 100_000)
    packed.write_bytes(
        gzip.compress(random.Random(1).randbytes(3_000_000).hex(",", 8).replace(",", "\n").encode())
    )
    assert guess_pairs([[few]]) == 100
    assert guess_pairs([[few, many], [few]]) == 200  # the two sides of a corpus are as long
    assert guess_pairs([[many]]) == pytest.approx(100_000, rel=0.01)
    assert guess_pairs([[packed]]) == pytest.approx(375_000, rel=0.1)
    assert guess_pairs([[tmp_path / "gone"], [tmp_path]]) == 0


def test_the_choice_and_its_reason_are_settings_and_fields_still_change_it(tmp_path: Path) -> None:
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("a b\tc d\n" * 1000)
    model = load(
        None, ["model.preset=auto", "model.encoder.layers=2"], {"data": {"train": [str(pairs)]}}
    ).model
    assert model.preset == "transformer-tiny"
    assert "are few" in model.why
    assert (model.encoder.layers, model.decoder.layers) == (2, 4)


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("a.tmx", "<tu><tuv><seg>a</seg>\n</tuv></tu>"),
        ("a.xlf", '<trans-unit id="1">\n</trans-unit>'),
        ("a.po", '\nmsgid "a"\nmsgstr "b"\n'),
    ],
)
def test_units_of_a_memory_are_counted_and_not_its_lines(tmp_path: Path, name: str, unit: str) -> None:
    (tmp_path / name).write_text(unit * 100, encoding="utf-8")
    assert guess_pairs([[tmp_path / name]]) == 100


@pytest.mark.parametrize(
    ("pairs", "size"), [(0, 8000), (285, 600), (3_000, 1_900), (29_000, 6_000), (150_000, 8_000)]
)
def test_few_pairs_have_few_sub_words(pairs: int, size: int) -> None:
    assert default_vocabulary_size(pairs) == size


@pytest.mark.parametrize(
    ("pairs", "tokens"),
    [
        (0, 4096),
        (1, 512),
        (300, 512),
        (1_500, 512),
        (3_000, 1024),
        (6_000, 2048),
        (8_000, 4096),
        (1 << 30, 4096),
    ],
)
def test_few_pairs_have_small_batches(pairs: int, tokens: int) -> None:
    assert default_batch_tokens(pairs) == tokens


@pytest.mark.parametrize(
    ("minutes", "cores", "size", "tokens"),
    [(1, 1, 800, 1024), (3, 2, 4_500, 1024), (12, 2, 8_000, 2048), (60, 2, 8_000, 4096)],
)
def test_little_time_has_few_sub_words_and_small_batches(
    minutes: int, cores: int, size: int, tokens: int
) -> None:
    time = 60.0 * minutes * cores
    assert (default_vocabulary_size(150_000, time), default_batch_tokens(150_000, time)) == (size, tokens)


def test_few_pairs_that_are_read_many_times_have_more_dropout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dragoman.config.load.cores", lambda: 2)
    pairs, run = tmp_path / "pairs.tsv", tmp_path / "run"

    def config_of(count: int, *overrides: str) -> Config:
        pairs.write_text("a b\tc d\n" * count)
        return load(None, ["training.budget=15m", *overrides], {"data": {"train": [str(pairs)]}}, run=run)

    def dropout(count: int, *overrides: str) -> list[float]:
        return [part.dropout for part in config_of(count, *overrides).model.parts.values()]

    assert dropout(3_000) == [0.3, 0.3]
    assert dropout(150_000) == [0.1, 0.1]
    assert dropout(3_000, "model.preset=transformer-micro") == [0.1, 0.1]
    assert dropout(3_000, "model.encoder.kind=conv", "model.tied=target") == [0.2, 0.3]
    assert dropout(3_000, "model.decoder.dropout=0.4") == [0.3, 0.4]
    begun = to_toml(config_of(3_000, "model.decoder.dropout=0.4"))
    (run / "checkpoints" / "step-00000100").mkdir(parents=True)
    (run / "settings.toml").write_text(begun, encoding="utf-8")
    assert dropout(150_000, "model.decoder.dropout=0.4") == [0.3, 0.4]


def test_an_unfinished_run_keeps_what_it_chose(tmp_path: Path) -> None:
    pairs, run = tmp_path / "pairs.tsv", tmp_path / "run"
    pairs.write_text("a b\tc d\n" * 150_000)
    data = {"data": {"train": [str(pairs)]}}
    short = load(None, ["training.budget=1m"], data)
    (run / "checkpoints" / "step-00000100").mkdir(parents=True)
    (run / "settings.toml").write_text(to_toml(short), encoding="utf-8")
    week = ["training.budget=168h"]
    resumed, other = load(None, week, data, run=run), load(None, week, data)
    assert resumed.model == short.model
    assert resumed.text == short.text
    assert resumed.training.batch_tokens == short.training.batch_tokens
    assert resumed.training.schedule == short.training.schedule == "warmup_stable_decay"
    assert other.training.schedule == "cosine"
    assert other.model.preset != short.model.preset
    assert other.text.size > short.text.size
    assert other.training.batch_tokens > short.training.batch_tokens
    assert load(None, [*week, "training.batch_tokens=999"], data, run=run).training.batch_tokens == 999
    (run / "model").mkdir()  # by `--finish`: the rest of the run is still to come
    assert load(None, week, data, run=run) == resumed


def test_an_unfinished_recurrent_run_keeps_its_learning_rate(tmp_path: Path) -> None:
    (tmp_path / "pairs.tsv").write_text("a b\tc d\n" * 300)
    tables = {"data": {"train": [str(tmp_path / "pairs.tsv")]}, "model": {"preset": "gru-small"}}
    short, week = load(None, ["training.budget=1m"], tables), ["training.budget=168h"]
    (tmp_path / "checkpoints" / "step-00000100").mkdir(parents=True)
    (tmp_path / "settings.toml").write_text(to_toml(short), encoding="utf-8")
    assert load(None, week, tables, run=tmp_path).training.lr == short.training.lr == 4e-3
    assert load(None, week, tables).training.lr == 2e-3


@pytest.mark.parametrize(
    ("preset", "rate"), [("transformer-base", 0.5 / 512), ("transformer-big", 0.5 / 1024)]
)
def test_a_language_model_has_the_learning_rate_of_its_transformer(
    preset: str, rate: float, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text("a\n", encoding="utf-8")
    data = {"train": str(tmp_path / "a.txt")}
    overrides = ["task=lm", f"model.preset={preset}", "model.encoder.kind=none", "model.tied=target"]
    assert load(None, overrides, {"data": data}).training.lr == pytest.approx(rate)


def test_recurrent_presets_have_learning_rates_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "pairs.tsv").write_text("a b\tc d\n" * 300)
    data = {"train": [str(tmp_path / "pairs.tsv")]}

    def rate(preset: str, *overrides: str) -> float:
        return load(None, [f"model.preset={preset}", *overrides], {"data": data}).training.lr

    assert {rate(preset) for preset in ("rnn-small", "luong2015", "gnmt2016")} == {4e-3}
    assert {rate(preset) for preset in ("gru-small", "bahdanau2015", "cho2014", "elman")} == {2e-3}
    assert rate("rnn-small", "training.lr=1e-3") == 1e-3
    assert rate("rnn-small", "task=lm", "model.tied=target") == 2e-3


def config(pairs: Path, *overrides: str) -> tuple[str, int, float, int]:
    found = load(None, overrides, {"data": {"train": [str(pairs)]}})
    return found.model.preset, found.text.size, found.training.lr, found.training.batch_tokens


def test_what_is_not_set_follows_from_the_data_and_what_is_set_stays(tmp_path: Path) -> None:
    pairs = tmp_path / "pairs.tsv"
    pairs.write_bytes(b"x\ty\n" * 285)
    assert config(pairs) == ("transformer-tiny", 600, 0.5 / 128, 512)
    assert config(pairs, "text.size=77", "training.lr=0.1") == ("transformer-tiny", 77, 0.1, 512)
    assert config(pairs, "model.preset=transformer-base") == ("transformer-base", 600, 0.5 / 512, 512)
    assert config(pairs, "model.preset=rnn-small") == ("rnn-small", 600, 4e-3, 512)
    assert config(pairs, "model.preset=rnn-small", "training.budget=3m")[2] == 4e-3
    assert config(pairs, "training.batch_tokens=99")[3] == 99


def test_a_short_budget_has_a_small_model(tmp_path: Path) -> None:
    pairs = tmp_path / "pairs.tsv"
    pairs.write_bytes(b"x\ty\n" * 150_000)
    assert config(pairs)[0] == "transformer-small"
    assert config(pairs, "training.budget=1m")[0] == "transformer-micro"
    assert config(pairs, "training.budget=30h")[0] == "transformer-small"
    assert choose(150_000, 2, 7200.0).why.endswith(
        "with 2 hours or more, model.preset=transformer-small is better"
    )
    assert config(pairs, "text.kind=char")[1] == 8000  # an alphabet has the size it has


@pytest.mark.parametrize(
    ("pairs", "preset", "tokens"),
    [
        (3_000, "transformer-tiny", 1_200),
        (500_000, "transformer-small", 25_000),
        (10**7, "transformer-base", 25_000),
    ],
)
def test_with_a_gpu_the_data_alone_decide(pairs: int, preset: str, tokens: int) -> None:
    assert choose(pairs, 2, gpu=True).preset == preset
    assert default_batch_tokens(pairs, gpu=True) == tokens


def test_with_a_gpu_a_budget_changes_no_default(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("a b\tc d\n" * 3_000, encoding="utf-8")
    base = {"data": {"train": str(tmp_path / "a.tsv")}}
    short = base | {"training": {"budget": "1m"}}
    with_gpu = load(None, base=short, gpu=True)
    assert with_gpu.model.preset == load(None, base=base, gpu=True).model.preset == "transformer-tiny"
    assert with_gpu.training.batch_tokens == 1_200
    assert load(None, base=short).model.preset == "transformer-micro"


def test_sentences_of_tagged_words_are_counted_and_not_their_words(tmp_path: Path) -> None:
    for name in ("a.conll", "b.tsv"):
        (tmp_path / name).write_text("word\tO\n" * 20 + "\n" + "more\tO\r\n" * 20 + "\r\n", encoding="utf-8")
        assert guess_pairs([[tmp_path / name]], tagged=True) == 2


@pytest.mark.parametrize(
    ("letters", "lines", "tokens"),
    [(10, 1_000, 512), (100, 1_000, 2048), (1_300, 1_000, 16_384), (90, 12_500, 4096)],
)
def test_long_lines_of_letters_have_larger_batches(
    letters: int, lines: int, tokens: int, tmp_path: Path
) -> None:
    """Sixteen lines at least, of spelled words, whose every byte is a token."""
    file = tmp_path / "reviews.tsv"
    file.write_text(("a" * (letters - 5) + "\tgood\n") * lines, encoding="utf-8")
    config = load(None, ["task=classify"], {"data": {"train": str(file)}})
    assert config.training.batch_tokens == tokens
    bpe = ["task=classify", "text.src.kind=bpe", "model.src_embedding.kind=table"]
    assert load(None, bpe, {"data": {"train": str(file)}}).training.batch_tokens == default_batch_tokens(
        lines
    )


def test_frames_have_larger_batches(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("a.wav\tone\n" * 500, encoding="utf-8")
    config = load(
        None, ["task=transcribe", "data.source.kind=sound"], {"data": {"train": str(tmp_path / "a.tsv")}}
    )
    assert config.training.batch_tokens == 8192
