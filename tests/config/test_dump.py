"""What is written beside a run is what it was."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.config.dump import literal, to_toml
from dragoman.config.load import load, validate
from dragoman.config.presets import PRESETS
from dragoman.config.root import Config
from dragoman.errors import ConfigError

positive = st.floats(min_value=1e-12, max_value=1e12)
text = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)

tables = st.fixed_dictionaries(
    {
        "data": st.fixed_dictionaries(
            {"train": st.one_of(text, st.tuples(text, text))},
            optional={"valid": text, "hold_out": st.integers(1, 10**9), "max_length": st.integers(2, 65535)},
        )
    },
    optional={
        "text": st.fixed_dictionaries(
            {},
            optional={
                "kind": st.sampled_from(["bpe", "unigram", "word", "char", "byte"]),
                "size": st.integers(8, 10**6),
                "lowercase": st.booleans(),
                "sampling": st.floats(0, 1),
            },
        ),
        "model": st.fixed_dictionaries(
            {"preset": st.sampled_from(list(PRESETS))},
            optional={
                "tied": st.sampled_from(["all", "target", "none"]),
                "encoder": st.fixed_dictionaries({}, optional={"dropout": st.floats(0, 1, exclude_max=True)}),
            },
        ),
        "training": st.fixed_dictionaries(
            {},
            optional={
                "updates": st.integers(1, 10**12),
                "lr": positive,
                "eps": positive,
                "betas": st.tuples(*[st.floats(0, 1, exclude_max=True)] * 2),
                "seed": st.integers(0, 2**63 - 1),
                "label_smoothing": st.floats(0, 1, exclude_max=True),
            },
        ),
        "search": st.fixed_dictionaries({}, optional={"length_penalty": st.floats(0, 10)}),
    },
)


@settings(deadline=None)
@given(tables)
def test_dumped_settings_load_as_the_same_settings(table: dict[str, object]) -> None:
    config = validate(table)
    assert validate(tomllib.loads(to_toml(config))) == config


@settings(deadline=None)
@given(tables)
def test_overrides_say_the_same_as_a_table(table: dict[str, dict[str, object]]) -> None:
    overrides = [
        f"{section}.{key}={literal(value)}"
        for section, fields in table.items()
        for key, value in fields.items()
        if not isinstance(value, dict)
    ]
    flat = {
        section: {key: value for key, value in fields.items() if not isinstance(value, dict)}
        for section, fields in table.items()
    }
    with_words, with_table = outcome(overrides, {}), outcome([], flat)
    assert with_words == with_table
    assert isinstance(with_table, str) or with_table == validate(flat)


def outcome(overrides: list[str], table: dict[str, dict[str, object]]) -> Config | str:
    """The settings, or why they are refused: units that are no sub-words cannot be sampled."""
    try:
        return load(None, overrides, table)
    except ConfigError as error:
        if "text.sampling has no effect" not in error.what:
            raise
        return error.what


@pytest.mark.parametrize("preset", PRESETS)
def test_dumped_file_names_every_section(tmp_path: Path, preset: str) -> None:
    config = validate({"data": {"train": "/a.tsv"}, "model": {"preset": preset}})
    file = tmp_path / "settings.toml"
    file.write_text(to_toml(config), encoding="utf-8")
    assert load(file) == config
    written = tomllib.loads(file.read_text(encoding="utf-8"))
    assert set(written) == set(Config.model_fields)
