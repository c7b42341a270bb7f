"""The battery on a disk: settings, weights and training of every pair come back as they went."""

from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import torch

from dragoman.config.dump import to_toml
from dragoman.config.load import load, validate
from dragoman.config.root import Config
from dragoman.data.build import TrainingData
from dragoman.models.builders.network import new_model
from dragoman.models.bundle import load_bundle, save_bundle
from dragoman.training.build import build_schedule
from dragoman.training.events import Events
from dragoman.training.parallel import Ranks
from dragoman.training.run import Run
from dragoman.training.state import checkpoint
from dragoman.training.state.checkpoint import TrainingState
from dragoman.training.state.resume import facts, find, resume
from dragoman.training.step import Updater
from support.pairs import PAIRS, parts_of

UPDATES, STOP = 2, 1
WORDS = ["eins", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn", "elf", "zwölf"]
TRAINING: dict[str, Any] = {
    "updates": UPDATES,
    "batch_tokens": 24,
    "micro_batches": 1,
    "threads": 1,
    "warmup": 0,
    "schedule": "constant",
    "precision": "fp32",
}


def settings(pair: tuple[str, str], train: Path) -> Config:
    """With sentences that are short enough for every part, so that all pairs share one store."""
    return validate(
        {
            "data": {"train": str(train), "valid": str(train), "max_length": 8},
            "text": {"kind": "word", "size": 100},
            "model": parts_of(pair),
            "training": TRAINING,
        }
    )


@pytest.fixture(scope="module")
def train(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Forty sentences of one to four words, and the same words from the other end."""
    file = tmp_path_factory.mktemp("words") / "train.tsv"
    sentences = [[WORDS[(n * k + k) % 12] for k in range(1 + n % 4)] for n in range(40)]
    file.write_text("".join(f"{' '.join(s)}\t{' '.join(s[::-1])}\n" for s in sentences), encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def data(train: Path) -> TrainingData:
    run = Run(settings(PAIRS[0], train), train.parent, [], lambda _: True)
    return run.data(Ranks(), Events(None, []))


@pytest.mark.parametrize("pair", PAIRS, ids=" → ".join)
def test_settings_come_back(pair: tuple[str, str], tmp_path: Path) -> None:
    config = settings(pair, tmp_path / "train.tsv")
    file = tmp_path / "settings.toml"
    file.write_text(to_toml(config), encoding="utf-8")
    assert load(file) == config


@pytest.mark.parametrize("pair", PAIRS, ids=" → ".join)
def test_a_saved_model_is_the_same_model(
    pair: tuple[str, str], train: Path, data: TrainingData, tmp_path: Path
) -> None:
    config = settings(pair, train)
    model = new_model(config, data.text).eval()
    for p in model.parameters():
        p.data.add_(0.1 * torch.randn_like(p))  # what the seed alone would not give
    weights = {name: p.detach() for name, p in model.named_parameters()}
    save_bundle(tmp_path / "model", config, data.text, weights, "")
    bundle = load_bundle(tmp_path / "model")
    assert bundle.config.model == config.model
    assert sum(p.numel() for p in bundle.model.parameters()) == sum(p.numel() for p in model.parameters())
    y, (src, keep) = torch.tensor([2, 2, 2]), sources()
    with torch.no_grad():
        before, after = (m.step(y, m.start(src, keep, 1)) for m in (model, bundle.model))
    assert torch.equal(after.log_p, before.log_p)


def sources() -> tuple[torch.Tensor, torch.Tensor]:
    keep = torch.arange(5) < torch.tensor([[5], [3], [1]])
    return torch.randint(4, 12, (3, 5)).masked_fill(~keep, 0), keep


@pytest.mark.parametrize("pair", PAIRS, ids=" → ".join)
def test_stopped_and_resumed_equals_uninterrupted(
    pair: tuple[str, str], train: Path, data: TrainingData, tmp_path: Path
) -> None:
    """By the parts that a run is made of: stepper, loader, schedule and checkpoints."""
    run = Run(settings(pair, train), tmp_path, [], lambda _: True)
    known = facts(run.config, Ranks(), UPDATES, data.identity)
    whole, progress = run.stepper(data, Ranks()), TrainingState(run=known)
    go_on(run, data, whole, progress, STOP)
    checkpoint.save(tmp_path, progress, whole.weights(), whole.optimizer_state())
    begun = {name: weight.clone() for name, weight in whole.weights().items()}
    go_on(run, data, whole, progress, UPDATES)
    resumed = run.stepper(data, Ranks())
    saved = find(tmp_path, Ranks())
    assert saved is not None
    go_on(run, data, resumed, resume(saved, run.config, resumed, data.identity)[0], UPDATES)
    assert any(not torch.equal(weight, begun[name]) for name, weight in whole.weights().items())
    same_tensors(resumed.weights(), whole.weights())
    same_tensors(resumed.optimizer_state(), whole.optimizer_state())


def same_tensors(some: dict[str, torch.Tensor], others: dict[str, torch.Tensor]) -> None:
    assert some.keys() == others.keys()
    assert [name for name, tensor in some.items() if not torch.equal(tensor, others[name])] == []


def go_on(run: Run, data: TrainingData, stepper: Updater, progress: TrainingState, until: int) -> None:
    schedule = build_schedule(run.config.training, UPDATES)
    batches = run.loader(data, Ranks()).batches(progress.step)
    for batch in islice(batches, until - progress.step):
        progress.step += 1
        stepper.update(batch, progress.step, schedule(float(progress.step)))
    batches.close()
