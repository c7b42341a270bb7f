"""Text of one side: lines as examples, and running text in blocks, through the store and the loader."""

from __future__ import annotations

from itertools import chain, islice
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from dragoman.config.data import DataConfig
from dragoman.config.text import TextConfig
from dragoman.data.build import TrainingData, build_data
from dragoman.data.collate import collate, collate_blocks
from dragoman.data.examples import Lines, RunningText
from dragoman.data.loader import Loader
from dragoman.data.pair import Pair
from dragoman.data.prepare import BlockCutter, LineFilter
from dragoman.errors import DataError
from dragoman.text.specials import BOS, EOS, UNK
from dragoman.text.tokenizer_pair import TokenizerPair
from dragoman.text.tokenizers.byte import Byte
from support.made_up_corpus import corpus


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    names = [tmp_path / "train.txt", tmp_path / "valid.txt"]
    lines = corpus("src", 400)
    for name, part in zip(names, (lines[:350], lines[350:]), strict=True):
        name.write_text("\n".join(part) + "\n", encoding="utf-8")
    return list(map(str, names))


def built(files: list[str], folder: Path, kind: str, **more: Any) -> TrainingData:
    facts: dict[str, Any] = {"train": [files[0]], "valid": [files[1]], "shard_pairs": 60, **more}
    text = TextConfig.model_validate({"kind": kind, "size": 400})
    data = DataConfig.model_validate(facts)
    examples = RunningText(size=data.block_size) if data.block_size else Lines()
    return build_data(data, text, folder, examples=examples)


def rows_of(data: TrainingData) -> list[list[int]]:
    found = []
    for store in data.stores:
        for src, tgt in store.read(torch.arange(len(store)).numpy()):
            assert not len(src)
            found.append(tgt.tolist())
    return found


@pytest.mark.parametrize("kind", ["char", "byte", "bpe", "unigram", "word"])
def test_blocks_are_the_text_without_regard_to_lines(kind: str, files: list[str], tmp_path: Path) -> None:
    data = built(files, tmp_path / "store", kind, block_size=32)
    rows = rows_of(data)
    assert {len(row) for row in rows[:5]} == {32}
    assert UNK not in chain.from_iterable(rows)
    text = data.text.tgt.decode([*chain.from_iterable(rows)])
    lines = [line.strip(" ") if kind == "word" else line for line in text.split("\n")]
    expected = Path(files[0]).read_text(encoding="utf-8")
    if kind in ("bpe", "unigram"):  # a part of 64 lines begins with a space
        lines = [line.removeprefix(" ") for line in lines]
    assert "\n".join(lines) == expected


def test_lines_are_examples_without_a_source(files: list[str], tmp_path: Path) -> None:
    data = built(files, tmp_path / "store", "bpe", max_length=64)
    lines = Path(files[0]).read_text(encoding="utf-8").splitlines()
    assert [data.text.tgt.decode(row) for row in rows_of(data)] == lines
    assert [pair.tgt for pair in data.valid] == Path(files[1]).read_text(encoding="utf-8").splitlines()


def test_lines_are_held_out_if_there_are_no_validation_files(files: list[str], tmp_path: Path) -> None:
    data = built(files, tmp_path / "store", "bpe", valid=None, hold_out=10)
    trained = {data.text.tgt.decode(row) for row in rows_of(data)}
    assert 0 < len(data.valid) <= 10
    assert not trained & {pair.tgt for pair in data.valid}


def test_running_text_needs_validation_files() -> None:
    with pytest.raises(ValidationError, match=r"data\.valid"):
        DataConfig.model_validate({"train": ["a.txt"], "block_size": 32})


def test_a_text_is_refused_where_pairs_are_needed(files: list[str], tmp_path: Path) -> None:
    data = DataConfig.model_validate({"train": [files[0]]})
    with pytest.raises(DataError, match="do not form pairs"):
        build_data(data, TextConfig(size=300), tmp_path / "store")


def test_the_target_side_of_pairs_has_the_vocabulary_of_both(files: list[str], tmp_path: Path) -> None:
    """A language model that is fused with a translation model shares its vocabulary."""
    other = tmp_path / "other.txt"
    other.write_text("\n".join(corpus("tgt", 350)) + "\n", encoding="utf-8")
    pairs = DataConfig.model_validate({"train": [[files[0], str(other)]], "hold_out": 10})
    text = TextConfig(size=400)
    both = build_data(pairs, text, tmp_path / "both")
    one = build_data(pairs, text, tmp_path / "one", examples=Lines())
    assert both.identity.vocabulary == one.identity.vocabulary
    targets = [tgt.tolist() for _, tgt in both.stores[0].read(torch.arange(len(both.stores[0])).numpy())]
    assert rows_of(one) == targets


@settings(max_examples=50, deadline=None)
@given(st.lists(st.text("ab \n▁", max_size=9), min_size=1, max_size=20), st.integers(2, 9))
def test_no_token_of_a_running_text_is_lost(lines: list[str], size: int) -> None:
    lines = [line.replace("\n", "") for line in lines]
    text = TokenizerPair(Byte(), Byte(), joint=True)
    block = [Pair(line, line, number) for number, line in enumerate(lines)]
    rows = [row.tolist() for _, row in BlockCutter(size)(block, text).ids]
    assert text.tgt.decode([*chain.from_iterable(rows)]) == "".join(line + "\n" for line in lines)
    assert all(len(row) == size for row in rows[:-1])
    kept = LineFilter(size)(block, text)
    assert [len(src) for src, _ in kept.ids] == [0] * len(kept.ids)
    assert kept.counts["kept"] == sum(0 < len(line.encode()) <= size for line in lines)


def test_a_block_begins_with_bos_and_has_no_end() -> None:
    batch = collate_blocks([([], [7, 8, 9]), ([], [5])])
    assert batch.real(batch.tgt_in).tolist() == [BOS, 7, 8, BOS]
    assert batch.real(batch.tgt_out).tolist() == [7, 8, 9, 5]
    assert batch.tgt_index is not None
    assert batch.tgt_out.flatten()[batch.tgt_index].tolist() == [7, 8, 9, 5]
    whole = collate([([], [7, 8, 9]), ([], [5])])
    assert whole.real(whole.tgt_out).tolist() == [7, 8, 9, EOS, 5, EOS]


def test_any_batch_is_found_without_those_before(files: list[str], tmp_path: Path) -> None:
    data = built(files, tmp_path / "store", "char", block_size=32)
    loader = Loader(data.stores, data.weights, batch_tokens=256, micro_batches=2, seed=1)
    later = list(islice(loader.stream(0), 9))[8]
    again = next(loader.stream(8))
    for a, b in zip(later.micro, again.micro, strict=True):
        assert torch.equal(a.tgt_out, b.tgt_out)
