"""CTC networks over encoders of every kind: padding, gradients, and letters to phonemes learned."""

import pytest
import torch

from dragoman.config.model import ModelConfig
from dragoman.config.parameters import least_parameters
from dragoman.models.build import build_model
from dragoman.models.builders.network import build_ctc
from dragoman.models.ctc import CTC, JointCTC
from dragoman.models.heads.ctc import labelling
from dragoman.nn.dropout import noise
from dragoman.protocols import Batch
from dragoman.search.ctc.best_path import best_path
from dragoman.search.ctc.prefix_beam import prefix_beam
from support.pairs import ENCODERS, V, batch_of, parts_of
from support.pairs import EOS as END

# One vector for the whole source has no order in time that frames could follow.
WITH_FRAMES = [name for name in ENCODERS if name != "kalchbrenner"]
SIZES = [(7, 6), (3, 2), (5, 4)]


def ctc_of(encoder: str, split: int = 3) -> CTC:
    config = {"encoder": ENCODERS[encoder], "head": {"kind": "ctc", "split": split}}
    return build_ctc(ModelConfig.model_validate(config), V, V, seed=3)


def joint_of(encoder: str, split: int = 3, weight: float = 0.3) -> JointCTC:
    head = {"kind": "ctc-attention", "split": split, "weight": weight}
    parts = {**parts_of((encoder, "gru additive fed"), "none"), "head": head}
    made = build_model(ModelConfig.model_validate(parts), V, V, smoothing=0.1, seed=3)
    assert isinstance(made, JointCTC)
    return made


def targets(batch: Batch) -> Batch:
    """The batch with </s> at the end of each target."""
    ends = batch.tgt_keep.sum(dim=1, keepdim=True) - 1
    return batch._replace(tgt_out=batch.tgt_out.scatter(1, ends, END))


@pytest.mark.parametrize("encoder", WITH_FRAMES)
@torch.no_grad()
def test_one_alone_equals_one_in_a_batch(encoder: str) -> None:
    model = ctc_of(encoder).eval()
    batch = targets(batch_of(SIZES))
    together, log_p = model.frames(batch.src, batch.src_keep), model.log_p(batch)
    assert float(model(batch).loss) == pytest.approx(-float(log_p.sum()))
    for row, (s, t) in enumerate(SIZES):
        alone = Batch(*(x[row : row + 1, : s if i < 2 else t] for i, x in enumerate(batch[:5])))
        log_y, keep = model.frames(alone.src, alone.src_keep)
        frames = int(keep.sum())
        assert frames == int(together.keep[row].sum())
        torch.testing.assert_close(log_y[0, :frames], together.log_y[row, :frames], rtol=0.0, atol=1e-5)
        torch.testing.assert_close(model.log_p(alone)[0], log_p[row], rtol=0.0, atol=1e-4)


@pytest.mark.parametrize("encoder", WITH_FRAMES)
@pytest.mark.parametrize("make", [ctc_of, joint_of])
def test_gradient_reaches_every_parameter(encoder: str, make: type[CTC]) -> None:
    model = make(encoder).train()
    with noise(1):
        model(targets(batch_of(SIZES))).loss.backward()
    for name, p in model.named_parameters():
        assert p.grad is not None, name
        assert bool(p.grad.isfinite().all()), name
        assert bool((p.grad != 0).any()), name


@pytest.mark.parametrize("weight", [0.0, 0.3, 1.0])
def test_joint_loss_weighs_both(weight: float) -> None:
    model = joint_of("bilstm", weight=weight).eval()
    batch = targets(batch_of(SIZES))
    ctc = CTC(model.encoder, model.ctc)(batch)
    h = model.decoder(model.encoder(batch.src, batch.src_keep), batch.tgt_in)
    attention = model.head.loss(batch.real(h), batch.real(batch.tgt_out))
    found = model(batch)
    for a, b, both in zip(ctc, attention, found, strict=True):
        torch.testing.assert_close(both, weight * a + (1 - weight) * b)


def test_end_of_text_is_no_label() -> None:
    batch = targets(batch_of(SIZES))
    l, l_keep = labelling(batch)
    assert l_keep.sum(dim=1).tolist() == [5, 1, 3]
    assert not bool((l[l_keep] == END).any())


@pytest.mark.parametrize("make", [ctc_of, joint_of])
@pytest.mark.parametrize("split", [1, 3])
def test_least_parameters_are_a_lower_bound(make: type[CTC], split: int) -> None:
    """A model folder with fewer weights is refused; a bound that is far off would not notice."""
    head = {"kind": "ctc" if make is ctc_of else "ctc-attention", "split": split}
    config = ModelConfig.model_validate({**parts_of(("gru", "gru additive fed"), "none"), "head": head})
    count = sum(p.numel() for p in make("gru", split).parameters())
    assert 0.8 * count <= least_parameters(config, V, V) <= count


def test_one_vector_has_no_frames() -> None:
    with pytest.raises(ValueError, match="has one for the whole source"):
        ctc_of("kalchbrenner")


@torch.no_grad()
def test_special_tokens_are_never_read() -> None:
    batch = batch_of(SIZES)
    p = ctc_of("gru").eval().frames(batch.src, batch.src_keep).log_y.exp()
    assert p.shape[2] == V + 1
    assert bool((p[..., [0, 2, 3]] == 0).all())
    torch.testing.assert_close(p.sum(dim=2), torch.ones(p.shape[:2]))


def words(count: int, seed: int) -> Batch:
    """Strings of 6 letters, of which c sounds as two labels and the others as one."""
    sounds = {4: [4], 5: [5], 6: [6, 7], 7: [8]}
    draw = torch.Generator().manual_seed(seed)
    src = torch.randint(4, 8, (count, 6), generator=draw)
    rows = [[y for x in row for y in sounds[x]] for row in src.tolist()]
    tgt = torch.zeros(count, 13, dtype=torch.long)
    keep = torch.zeros(count, 13, dtype=torch.bool)
    for n, row in enumerate(rows):
        tgt[n, : len(row) + 1] = torch.tensor([*row, END])
        keep[n, : len(row) + 1] = True
    return Batch(src, torch.ones_like(src, dtype=torch.bool), tgt, tgt, keep)


def test_letters_become_phonemes() -> None:
    """Targets may be longer than their source: every letter has three frames."""
    encoder = {"kind": "rnn", "layers": 1, "width": 32, "embedding": 16, "dropout": 0.0}
    config = ModelConfig.model_validate({"encoder": encoder, "head": {"kind": "ctc", "split": 3}})
    model = build_ctc(config, V, V, seed=3)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for step in range(150):
        with noise(step):
            batch = words(64, step)
            optimizer.zero_grad()
            (model(batch).loss / 64).backward()
            optimizer.step()
    model.eval()
    unseen = words(50, 1000)
    with torch.no_grad():
        log_y, keep = model.frames(unseen.src, unseen.src_keep)
    expected = [tuple(row[mask].tolist()) for row, mask in zip(*labelling(unseen), strict=True)]
    rows = [y[mask].numpy() for y, mask in zip(log_y, keep, strict=True)]
    assert sum(best_path(y).tokens == l for y, l in zip(rows, expected, strict=True)) >= 48
    assert sum(prefix_beam(y, 8)[0].tokens == l for y, l in zip(rows, expected, strict=True)) >= 48
