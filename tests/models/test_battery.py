"""One battery that every encoder × decoder pair passes; what it does on a disk is in test_battery_disk.py."""

from collections.abc import Iterator
from typing import Any, get_args

import pytest
import torch
from torch.nn import functional as F

from dragoman.config import model as settings
from dragoman.config.parts.sentence import SentencePart
from dragoman.config.section import Section
from dragoman.nn.dropout import noise
from dragoman.protocols import Batch, take
from dragoman.registry import Registry
from support.pairs import DECODERS, ENCODERS, PAIRS, batch_of, features, model_of


def choices(hint: Any) -> Iterator[Any]:
    """The values that a setting is chosen from, where they can be told."""
    if hint is bool:
        yield from (True, False)
    for inner in get_args(hint):
        if isinstance(inner, str):
            yield inner
        else:
            yield from choices(inner)


@pytest.mark.parametrize(
    ("side", "rows"),
    [
        # Networks without a source have a battery of their own, in test_language_model.py.
        (settings.ENCODERS, [{"kind": "none"}, *(ENCODERS[name] for name, _ in PAIRS)]),
        (settings.DECODERS, [DECODERS[name] for _, name in PAIRS]),
    ],
    ids=["encoders", "decoders"],
)
def test_every_choice_of_the_settings_is_in_the_battery(
    side: Registry[Any], rows: list[dict[str, Any]]
) -> None:
    parts: list[Section] = [side[row["kind"]].model_validate(row) for row in rows]
    missing = [
        f"no row has {name} = {value!r} in a {kind.__name__}"
        for kind in side.values()
        if not issubclass(kind, SentencePart)  # of classifiers, in tasks/test_words_battery.py
        for name, field in kind.model_fields.items()
        for value in choices(field.annotation)
        if not any(type(part) is kind and getattr(part, name) == value for part in parts)
    ]
    assert not missing, "\n".join(missing)


@pytest.mark.parametrize("pair", PAIRS, ids=" → ".join)
def test_step_by_step_equals_the_whole_sequence(pair: tuple[str, str]) -> None:
    model = model_of(pair).double().eval()
    batch = batch_of([(7, 5), (3, 5), (1, 5)])
    whole = features(model, batch)
    state = model.start(batch.src, batch.src_keep, 1)
    for t in range(5):
        h, state, attention = model.decoder.step(batch.tgt_in[:, t], state)
        assert torch.allclose(h, whole[:, t], rtol=0.0, atol=1e-12)
        if attention is not None:
            assert torch.allclose(attention.sum(dim=1), torch.ones(3, dtype=torch.float64))


@pytest.mark.parametrize("pair", PAIRS, ids=" → ".join)
def test_one_alone_equals_one_in_a_batch(pair: tuple[str, str]) -> None:
    model = model_of(pair).double().eval()
    batch = batch_of([(7, 6), (3, 2), (5, 4)])
    whole = features(model, batch)
    for row, (s, t) in enumerate([(7, 6), (3, 2), (5, 4)]):
        alone = Batch(*(x[row : row + 1, : s if i < 2 else t] for i, x in enumerate(batch[:5])))
        assert torch.allclose(features(model, alone)[0], whole[row, :t], rtol=0.0, atol=1e-12)


def wider(batch: Batch) -> Batch:
    """Two more columns, and some token wherever there is none."""
    src, src_keep, tgt_in, tgt_out, tgt_keep = (F.pad(x, (0, 2)) for x in batch[:5])
    src, tgt_in, tgt_out = (
        x.masked_fill(~keep, 5) for x, keep in ((src, src_keep), (tgt_in, tgt_keep), (tgt_out, tgt_keep))
    )
    return Batch(src, src_keep, tgt_in, tgt_out, tgt_keep)


@pytest.mark.parametrize("pair", PAIRS, ids=" → ".join)
def test_padding_changes_nothing(pair: tuple[str, str]) -> None:
    model = model_of(pair).double().eval()
    batch = batch_of([(7, 6), (3, 2), (5, 4)])
    expected, found = features(model, batch), features(model, wider(batch))[:, :-2]
    assert torch.allclose(found[batch.tgt_keep], expected[batch.tgt_keep], rtol=0.0, atol=1e-12)


@pytest.mark.parametrize("pair", PAIRS, ids=" → ".join)
def test_hypotheses_side_by_side_and_reordered_step_like_single_ones(pair: tuple[str, str]) -> None:
    model = model_of(pair).double().eval()
    batch = batch_of([(4, 3), (6, 3)])
    state = model.start(batch.src, batch.src_keep, 2)
    _, state, _ = model.decoder.step(torch.tensor([5, 6, 7, 8]), state)
    state = state.select(torch.tensor([1, 0, 2, 2]))
    h, _, _ = model.decoder.step(torch.tensor([9, 10, 11, 12]), state)
    for row, (sentence, first, second) in enumerate([(0, 6, 9), (0, 5, 10), (1, 7, 11), (1, 7, 12)]):
        s = 4 if sentence == 0 else 6
        alone = model.start(
            batch.src[sentence : sentence + 1, :s], batch.src_keep[sentence : sentence + 1, :s], 1
        )
        _, alone, _ = model.decoder.step(torch.tensor([first]), alone)
        expected, _, _ = model.decoder.step(torch.tensor([second]), alone)
        assert torch.allclose(h[row], expected[0], rtol=0.0, atol=1e-12)


@pytest.mark.parametrize("pair", PAIRS, ids=" → ".join)
def test_dropping_finished_sentences_leaves_the_others_alone(pair: tuple[str, str]) -> None:
    model = model_of(pair).double().eval()
    batch = batch_of([(4, 3), (6, 3), (2, 3)])
    state = model.start(batch.src, batch.src_keep, 1)
    y = torch.tensor([5, 6, 7])
    _, state, _ = model.decoder.step(y, state)
    expected, _, _ = model.decoder.step(y, state)
    rows = torch.tensor([2, 0])
    h, _, _ = model.decoder.step(y[rows], state.keep_sentences(rows, rows))
    assert torch.allclose(h, take(expected, rows), rtol=0.0, atol=1e-12)


@pytest.mark.parametrize("pair", PAIRS, ids=" → ".join)
@pytest.mark.parametrize("tied", ["all", "none"])
def test_gradient_reaches_every_parameter(pair: tuple[str, str], tied: str) -> None:
    model = model_of(pair, tied).train()
    with noise(1):
        model(batch_of([(7, 6), (3, 2), (5, 4)])).loss.backward()
    # Keys have a bias that softmax cannot see, and encoders without recurrence leave their summary unused.
    for name, p in model.named_parameters():
        assert p.grad is not None, name
        assert bool(p.grad.isfinite().all()), name
        assert bool((p.grad != 0).any()), name


@pytest.mark.parametrize("pair", PAIRS, ids=" → ".join)
def test_same_seed_same_weights(pair: tuple[str, str]) -> None:
    a, b = model_of(pair), model_of(pair)
    assert all(torch.equal(p, q) for p, q in zip(a.parameters(), b.parameters(), strict=True))
