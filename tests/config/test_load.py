"""Settings from files and overrides: what is accepted, and how a refusal reads."""

from __future__ import annotations

import re
import shlex
import time
from pathlib import Path
from typing import get_args

import pytest

from dragoman.config.dump import to_toml
from dragoman.config.key_lookup import all_names, kind_of, sections_at
from dragoman.config.load import load, validate, with_overrides
from dragoman.config.presets import PRESETS
from dragoman.config.root import TASK_OBJECTIVES, TaskName
from dragoman.config.search import SearchConfig
from dragoman.config.text import TextConfig
from dragoman.errors import ConfigError

DATA = {"data": {"train": ["a.en", "a.de"]}}
HEAD = '[data]\ntrain = ["a.en", "a.de"]\n'


def settings(tmp_path: Path, text: str, *overrides: str) -> ConfigError:
    """The complaint about this file."""
    file = tmp_path / "dragoman.toml"
    file.write_text(HEAD + text, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load(file, overrides)
    error = caught.value
    assert error.where
    assert error.hint
    assert error.exit_code == 2
    return error


def override(*overrides: str) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        load(None, overrides, DATA)
    assert caught.value.where
    assert caught.value.hint
    return caught.value


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_is_valid(preset: str) -> None:
    config = validate({**DATA, "model": {"preset": preset}})
    assert config.model.preset == preset


def test_base_goes_over_file_and_overrides_go_over_both(tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    file.write_text("[training]\nlr = 2e-3\nwarmup = 7\n", encoding="utf-8")
    config = load(file, ["training.lr=3e-3"], {**DATA, "training": {"lr": 1.0, "seed": 9}})
    assert (config.training.lr, config.training.warmup, config.training.seed) == (3e-3, 7, 9)


def test_field_changes_its_preset_and_leaves_the_rest() -> None:
    config = load(None, ["model.preset=transformer-base", "model.encoder.layers=2"], DATA)
    assert (config.model.encoder.layers, config.model.encoder.width) == (2, 512)
    assert config.model.decoder.layers == 6


def test_a_preset_of_the_command_line_replaces_the_network_of_the_file(tmp_path: Path) -> None:
    file = tmp_path / "dragoman.toml"
    network = (
        'encoder = { kind = "transformer", width = 96 }\ndecoder = { kind = "transformer", width = 96 }\n'
    )
    file.write_text(f'[model]\n{network}tgt_embedding = {{ kind = "characters" }}\ntied = "none"\n', "utf-8")
    over = ["model.preset=rnn-small", "model.tied=none", "model.decoder.width=64", "text.kind=word"]
    model = load(file, over, DATA).model
    assert (model.encoder.kind, model.encoder.width, model.decoder.width) == ("rnn", 256, 64)
    assert model.tgt_embedding.kind == "characters"  # of which the preset says nothing
    table = {**DATA, "model": {"preset": "elman", "tied": "none"}, "text": {"kind": "word"}}
    assert load(file, [], table).model.encoder.kind == "rnn"


def test_another_kind_of_part_drops_what_the_preset_said_of_it() -> None:
    config = load(None, ["model.decoder.kind=rnn", "model.decoder.width=128"], DATA)
    assert (config.model.decoder.kind, config.model.decoder.width) == ("rnn", 128)


def test_numbers_of_layers_are_given_once_or_each() -> None:
    conv = ["model.preset=conv-small", "model.encoder.layers=2", "model.encoder.width=[256, 512]"]
    encoder = load(None, conv, DATA).model.encoder
    assert (encoder.widths, encoder.kernels, encoder.shape) == ((256, 512), (3, 3), "width 256–512, kernel 3")
    assert override(conv[0], conv[2]).what.startswith("model.encoder: width has 2 numbers for 3 layers")
    assert "encoder.kernel cannot be 0" in override(conv[0], "model.encoder.kernel=0").what


def test_order_of_overrides_does_not_matter() -> None:
    one = ["model.decoder.layers=2", "model.decoder.kind=rnn", "model.decoder.cell=gru"]
    assert load(None, one, DATA) == load(None, one[::-1], DATA)


def test_kind_of_search_or_text_leaves_its_neighbours(tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    file.write_text(
        HEAD + '[search]\nkind = "beam"\nmax_length = 40\n[text]\nkind = "bpe"\nlowercase = true\n'
    )
    config = load(file, ["search.kind=greedy", "text.kind=char"])
    assert config.search.max_length == 40
    assert config.text.lowercase


@pytest.mark.parametrize(
    ("text", "path", "value"),
    [
        ("training.updates=2000", ("training", "updates"), 2000),
        ("training.lr=5e-4", ("training", "lr"), 5e-4),
        ("training.lr=1", ("training", "lr"), 1.0),
        ("training.budget=30m", ("training", "budget"), "30m"),
        ("training.betas=[0.9, 0.95]", ("training", "betas"), (0.9, 0.95)),
        ("text.lowercase=true", ("text", "lowercase"), True),
        ("search.kind=greedy", ("search", "kind"), "greedy"),
        ('search.kind="greedy"', ("search", "kind"), "greedy"),
    ],
)
def test_override_has_the_type_of_its_setting(text: str, path: tuple[str, str], value: object) -> None:
    section, key = path
    got = getattr(getattr(load(None, [text], DATA), section), key)
    assert got == value
    assert type(got) is type(value)


def test_train_may_be_one_file_two_files_or_a_mixture() -> None:
    assert load(None, ["data.train=pairs.tsv"]).data.train[0].files == ("pairs.tsv",)
    assert load(None, ['data.train=["a", "b"]']).data.train[0].files == ("a", "b")
    mixture = load(None, ['data.train=[{files=["a","b"],weight=2},{files=["c.tsv"]}]']).data.train
    assert [corpus.weight for corpus in mixture] == [2.0, 1.0]


def test_files_are_found_beside_their_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "task").mkdir()
    file = tmp_path / "task" / "dragoman.toml"
    file.write_text(
        '[data]\ntrain = [{ files = ["a.en", "a.de"] }, { files = ["b.tsv"] }]\nvalid = "v.tsv"\n'
    )
    monkeypatch.chdir(tmp_path)
    data = load(Path("task/dragoman.toml"), ["data.test=mine.tsv"]).data
    assert [corpus.files for corpus in data.train] == [("task/a.en", "task/a.de"), ("task/b.tsv",)]
    assert data.valid is not None
    assert data.valid.files == ("task/v.tsv",)
    assert data.test is not None
    assert data.test.files == ("mine.tsv",)


def test_unknown_key_in_a_file_names_line_and_neighbour(tmp_path: Path) -> None:
    error = settings(tmp_path, "\n[training]\nseed = 3\nlearning_rate = 1e-3\n")
    assert error.what == 'Unknown setting training.learning_rate. Did you mean "lr"?'
    assert error.where == f"{tmp_path / 'dragoman.toml'}:6"
    assert error.hint == "Change it to lr."


def test_unknown_section_names_the_near_one(tmp_path: Path) -> None:
    error = settings(tmp_path, "[trainig]\nlr = 1\n")
    assert 'Did you mean "training"?' in error.what
    assert error.where.endswith(":3")


def test_unknown_key_in_an_inline_table_names_its_line(tmp_path: Path) -> None:
    error = settings(tmp_path, '[model]\nencoder = { kind = "transformer", layer = 2 }\n')
    assert error.what == 'Unknown setting model.encoder.layer. Did you mean "layers"?'
    assert error.where.endswith(":4")


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("training.learning_rate", "training.lr"),
        ("train.lr", "training.lr"),
        ("lr", "training.lr"),
        ("training.epochs", "training.updates"),
        ("training.batch_size", "training.batch_tokens"),
        ("training.update", "training.updates"),
        ("model.encoder.d_model", "model.encoder.width"),
        ("model.decoder.num_layers", "model.decoder.layers"),
        ("search.beam_size", "search.size"),
        ("text.vocab_size", "text.size"),
        ("serch.kind", "search.kind"),
        ("model.attention.kind", "model.decoder.attention"),
        ("model.bridge.kind", "model.decoder.bridge"),
    ],
)
def test_unknown_override_is_told_what_was_meant(wrong: str, right: str) -> None:
    error = override(f"{wrong}=5")
    assert error.what == f'Unknown setting {wrong}. Did you mean "{right}"?'
    assert error.where == f'"{wrong}=5" on the command line'
    assert error.hint == f"{right}=5"


def test_override_far_from_every_name_lists_the_section() -> None:
    error = override("training.qqqqq=5")
    assert "Did you mean" not in error.what
    assert "training.lr" in error.expected


@pytest.mark.parametrize("text", ["updates", "Training.lr=1", "training..lr=1", "=5", "training.lr"])
def test_what_is_no_setting_is_called_so(text: str) -> None:
    assert "section.key=value" in override(text).expected or "Unknown" in override(text).what


def test_key_of_another_kind_is_refused_by_name(tmp_path: Path) -> None:
    error = settings(tmp_path, '[model]\ndecoder = { kind = "rnn", heads = 4 }\n')
    assert 'heads belongs to kind = "transformer"' in error.what
    assert error.where.endswith(":4")
    assert "transformer" in override("model.preset=rnn-small", "model.decoder.heads=4").what
    assert 'cell belongs to kind = "rnn"' in override("model.encoder.cell=gru").what


@pytest.mark.parametrize(
    "text",
    ["training.lr=true", "training.updates=2.5", "training.updates=abc", "text.lowercase=5", "task=[1]"],
)
def test_wrong_type_is_refused_with_what_was_expected(text: str) -> None:
    error = override(text)
    assert f'"{text}" on the command line' == error.where
    assert error.expected


def test_weight_that_times_its_pairs_is_no_number_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text('[data]\ntrain = [{ files = ["a.tsv"] }, { files = ["b.tsv"], weight = 1e308 }]\n')
    with pytest.raises(ConfigError, match="weight") as caught:
        load(file)
    assert "1000000" in caught.value.expected.replace(",", "")


def test_a_kind_in_place_of_a_part_is_told_where_it_belongs() -> None:
    assert (
        override("training.objective=scheduled_sampling").hint == "training.objective.kind=scheduled_sampling"
    )


def test_number_out_of_range_says_the_range(tmp_path: Path) -> None:
    error = settings(tmp_path, "[training]\nlr = -1\n")
    assert error.what == "The setting training.lr cannot be -1."
    assert error.expected == "greater than 0"
    assert error.where.endswith(":4")


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("search.kind=beem", "beam"),
        ("model.encoder.kind=transfomer", "transformer"),
        ("model.preset=rnn-smal", "rnn-small"),
    ],
)
def test_wrong_choice_is_told_the_near_one(text: str, right: str) -> None:
    error = override(text)
    assert f'Did you mean "{right}"?' in error.what
    assert right in error.expected
    assert error.where == f'"{text}" on the command line'
    assert error.hint == f"{text.partition('=')[0]}={right}"


def test_settings_that_contradict_each_other_are_refused(tmp_path: Path) -> None:
    assert "not both" in override("training.updates=5", "training.budget=3m").what
    assert 'model.tied = "target"' in override("text.joint=false").what
    assert "heads" in settings(tmp_path, "[model]\nencoder = { width = 30, heads = 4 }\n").what
    assert "a divisor of heads" in override("model.decoder.kv_heads=3").what
    assert "2 × heads" in override("model.encoder.width=12", "model.encoder.positions=rotary").what
    assert (
        "decoder.width = 512"
        in override("model.preset=rnn-small", "model.decoder.width=8", "model.decoder.attention=dot").what
    )


def test_budget_that_is_no_time_shows_how_to_write_one() -> None:
    error = override("training.budget=soon")
    assert "30m" in error.what
    assert error.hint == "Change training.budget."
    assert "write 10s, 10m or 10h" in override("training.budget=10").what


def test_missing_data_is_asked_for() -> None:
    with pytest.raises(ConfigError, match=r"The setting data is missing\.") as caught:
        load(None)
    assert "train.en" in caught.value.expected


def test_missing_file_and_folder_are_refused(tmp_path: Path) -> None:
    for file in (tmp_path / "none.toml", tmp_path):
        with pytest.raises(ConfigError) as caught:
            load(file)
        assert str(file) in caught.value.where


def test_broken_toml_names_the_line(tmp_path: Path) -> None:
    error = settings(tmp_path, "[training]\nlr = = 3\n")
    assert "not valid TOML" in error.what
    assert error.where.endswith(":4")


def test_file_in_another_encoding_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    file.write_bytes("# März\n".encode("latin-1"))
    with pytest.raises(ConfigError, match="not UTF-8"):
        load(file)


@pytest.mark.parametrize(
    "bomb",
    [
        "x = " + "[" * 100_000,
        "x = " + "{a=" * 50_000,
        "x." * 300 + "y = 1",
        "x." * 40_000 + "y = 1",
        "x = " + "[" * 300 + "]" * 300,
        "x = " + "9" * 100_000,
        "x = 1\n" * 30_000,
        "[training]\nlr = " + "[" * 50 + "]" * 50,
    ],
    ids=["arrays", "tables", "dots", "many dots", "closed", "digits", "length", "known key"],
)
def test_bombs_are_refused_within_a_second(tmp_path: Path, bomb: str) -> None:
    start = time.process_time()
    error = settings(tmp_path, bomb)
    assert time.process_time() - start < 1
    assert len(str(error)) < 2000


@pytest.mark.parametrize("text", ["training.lr=" + "[" * 100_000, "training.lr=" + "9" * 100_000])
def test_bombs_on_the_command_line_are_refused(text: str) -> None:
    assert len(str(override(text))) < 2000


def test_settings_that_are_gone_are_passed_over_in_what_a_run_has_written(tmp_path: Path) -> None:
    text = '[training]\nparallel = "exact"\nupdates = 7\n'
    for name in ("settings.toml", "dragoman.toml"):
        (tmp_path / name).write_text(f'[data]\ntrain = "a.tsv"\n{text}', encoding="utf-8")
    assert load(tmp_path / "settings.toml").training.updates == 7
    with pytest.raises(ConfigError, match=r"Unknown setting training\.parallel"):
        load(tmp_path / "dragoman.toml")


WRONG = [
    "abc", '""', "0,001", "2.5", "-1", "true", "nan", "1e400", "1979-05-27", "9" * 30,
    "[]", "[1, 2, 3]", '["a"]', "[[1]]", "[{}]", "{x = 1}",
]  # fmt: skip
FOREIGN = ("valid", "unable to", "input should", "tuple", "integer", "discriminator", "item", "datetime")


@pytest.mark.parametrize("name", all_names())
def test_wrong_value_of_any_setting_is_refused_in_plain_words(name: str) -> None:
    """Of every type; what a setting does accept is of no interest here."""
    kinds = [f"{'.'.join(path)}.kind={kind}" for path, kind in kinds_with(name)]
    for beside in [[], *([kind] for kind in kinds)]:
        for value in WRONG:
            error = refusal([*beside, f"{name}={value}"])
            if error is None:
                continue
            said = re.sub(r"[a-z_]+(\.[a-z_]+)+", "", str(error)).lower()  # without names of settings
            assert not [word for word in FOREIGN if word in said], said
            assert error.hint, said
            assert error.expected or "; " in error.what or "has no effect" in error.what, said


def refusal(overrides: list[str]) -> ConfigError | None:
    try:
        load(None, overrides, DATA)
    except ConfigError as error:
        return error
    return None


def kinds_with(name: str) -> list[tuple[tuple[str, ...], str]]:
    """The kinds of its part that have this setting, if kinds decide."""
    *path, key = name.split(".")
    sections = [s for s in sections_at(tuple(path)) if key in s.model_fields and "kind" in s.model_fields]
    return [(tuple(path), str(kind_of(s))) for s in sections if key != "kind" and s is not TextConfig]


@pytest.mark.parametrize(
    ("text", "expected", "hint"),
    [
        ("training.updates=abc", "a whole number, such as 2000", "training.updates=2000"),
        ("training.updates=2,500", "a whole number, such as 2000", "training.updates=2500"),
        ("training.lr=0,001", "a number, such as 0.002; decimals have a point", "training.lr=0.001"),
        ("training.betas=0.9", "two numbers, such as [0.9, 0.98]", "'training.betas=[0.9, 0.98]'"),
        ("training.betas=[0.9]", "two numbers, such as [0.9, 0.98]", "'training.betas=[0.9, 0.98]'"),
        ("text.lowercase=maybe", "true or false", "Change text.lowercase."),
        ("training.updates=true", "a whole number, such as 2000", "training.updates=2000"),
        ("text.size=2000000", "at most 1,000,000", "text.size=8000"),
        ("task=dance", "one of translate, transcribe, tag, classify, lm", "Change task."),
        ("model.head.size=100", "model.head.kind next to it", "model.head.kind=sampled"),
    ],
)
def test_wrong_value_is_told_what_to_write(text: str, expected: str, hint: str) -> None:
    error = override(text)
    assert error.expected == expected
    assert error.hint == hint
    load(None, [shlex.split(hint)[0]] if "=" in hint and "kind" not in hint else [], DATA)


@pytest.mark.parametrize(
    ("idle", "others", "do"),
    [
        ("model.decoder.input_feeding=true", ["model.decoder.form=sutskever"], "model.decoder.form=luong"),
        ("model.decoder.attention=additive", ["model.decoder.form=cho"], "model.decoder.form=luong"),
        ("model.encoder.join=mean", ["model.encoder.bidirectional=false"], "bidirectional=true"),
        ("model.encoder.max_positions=64", ["model.encoder.positions=relative"], "other positions"),
        ("model.decoder.reads_end=false", ["model.preset=transformer-small"], "model.encoder.reads_end"),
        ("text.sampling=0.1", ["text.kind=word"], "text.kind=bpe"),
        (
            "training.label_smoothing=0.1",
            ["training.objective.kind=minimum_risk"],
            "training.objective.after",
        ),
        (
            "training.objective.half_at=100",
            ["training.objective.kind=scheduled_sampling", "training.objective.decay=constant"],
            "training.objective.reference_floor",
        ),
        ("training.valid_metric=bleu", ["training.valid_decode=0"], "valid_metric=loss"),
        ("search.temperature=0.7", [], "search.kind=sample"),
        ("search.top_k=5", ["search.kind=greedy"], "search.kind=sample"),
        ("search.samples=8", ["search.kind=sample"], "search.kind=mbr"),
        ("search.diversity=0.9", [], "search.groups=2"),
    ],
)
def test_setting_that_would_change_nothing_is_refused(
    tmp_path: Path, idle: str, others: list[str], do: str
) -> None:
    if idle.startswith("model") and not any("preset" in other or "positions" in other for other in others):
        others = [*others, "model.preset=rnn-small"]
    error = override(idle, *others)
    assert f"{idle.partition('=')[0]} has no effect: " in error.what
    assert error.where == f'"{idle}" on the command line'
    assert do in error.hint
    config = load(None, others, DATA)  # presets and defaults have it, too
    file = tmp_path / "settings.toml"
    file.write_text(to_toml(config), encoding="utf-8")
    assert load(file).model == config.model  # so has what a run writes


def test_setting_that_would_change_nothing_is_refused_in_a_file_and_in_a_search(tmp_path: Path) -> None:
    error = settings(tmp_path, "[search]\ntemperature = 0.7\n")
    assert error.where.endswith(":4")
    with pytest.raises(ConfigError, match=r"search\.samples has no effect"):
        with_overrides(SearchConfig(), ["search.samples=9"])
    file = tmp_path / "task.toml"
    file.write_text(HEAD + '[search]\nkind = "sample"\ntemperature = 0.7\n')
    assert load(file, ["search.kind=greedy"]).search.kind == "greedy"  # the file is right by itself
    assert with_overrides(SearchConfig(kind="mbr"), ["search.samples=9"]).samples == 9


EVERY_OBJECTIVE = ("teacher_forcing", "scheduled_sampling", "two_pass_sampling", "minimum_risk")


@pytest.mark.parametrize("objective", EVERY_OBJECTIVE)
@pytest.mark.parametrize("task", get_args(TaskName))
def test_an_objective_that_does_not_fit_the_task_is_refused(task: TaskName, objective: str) -> None:
    overrides = [f"task={task}", f"training.objective.kind={objective}", "model.tied=target"]
    if objective in TASK_OBJECTIVES[task]:
        assert load(None, overrides, DATA).training.objective.kind == objective
    else:
        with pytest.raises(ConfigError, match=f'does not fit task = "{task}"'):
            load(None, overrides, DATA)


@pytest.mark.parametrize("task", ["transcribe", "tag", "classify", "lm"])
def test_losses_of_attention_are_those_of_a_decoder(task: str) -> None:
    with pytest.raises(ConfigError, match="coverage and alignment"):
        load(None, [f"task={task}", "training.objective.coverage=1", "model.tied=target"], DATA)


@pytest.mark.parametrize("betas", ["[0.9, 1.0]", "[-0.1, 0.9]"])
def test_moments_that_never_settle_are_refused(betas: str) -> None:
    assert "training.betas" in override(f"training.betas={betas}").what


def test_a_language_model_of_convolutions_is_refused_before_data_are_read() -> None:
    assert "model.decoder.kind" in override("task=lm", "model.decoder.kind=conv").what


@pytest.mark.parametrize(
    ("kind", "fits"), [("bpe", False), ("byte", False), ("word", True), ("unigram", True)]
)
def test_clusters_of_rare_tokens_need_tokens_by_frequency(kind: str, fits: bool) -> None:
    settings = ["model.head.kind=adaptive", "model.tied=none", f"text.kind={kind}"]
    assert load(None, settings, DATA).model.head.kind == "adaptive"  # one that was trained so
    if fits:
        load(None, settings, DATA, is_new=True)
    else:
        with pytest.raises(ConfigError, match="takes large ids for rare tokens") as caught:
            load(None, settings, DATA, is_new=True)
        assert "text.kind=unigram" in caught.value.hint
