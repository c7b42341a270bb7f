"""One battery that every tagger and classifier passes: alone as in a batch, saved and loaded, resumed."""

from functools import cache
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
import torch
from pydantic import TypeAdapter

from dragoman.config import model as settings_of_model
from dragoman.config.load import validate
from dragoman.config.parts.head import StateHeadPart
from dragoman.config.parts.pooling import PoolingPart
from dragoman.config.root import Config
from dragoman.data.build import TrainingData
from dragoman.models.builders.network import new_model
from dragoman.models.bundle import Bundle, load_bundle, save_bundle
from dragoman.nn.dropout import noise
from dragoman.tasks.answerers import build_answerer
from dragoman.tasks.collate import build_collate
from dragoman.training.events import Events
from dragoman.training.parallel import Ranks
from dragoman.training.run import Run
from dragoman.training.state import checkpoint
from dragoman.training.state.checkpoint import TrainingState
from dragoman.training.state.resume import facts, find, resume
from models.test_battery_disk import STOP, TRAINING, UPDATES, go_on, same_tensors
from support.pairs import ENCODERS
from support.runs import ROUNDING, losses, train

ALONE = ["", "eins zwei", "drei", "  vier   fünf sechs acht neun zehn elf zwölf dreizehn  ", "Eins zwei eins"]
CRF, JOINT = {"kind": "crf"}, {"kind": "crf", "label": True, "constraints": False}
WORDS = {"text": {"src": {"kind": "word"}}, "model": {"src_embedding": {"kind": "table"}}}
DENSE = {"kind": "dense", "embedding": 16, "width": 8}
KERNELS = {"kind": "multi-kernel", "embedding": 16, "kernels": [1, 3], "filters": 5}
LAST = {"kind": "last"}
POOLINGS = [
    {"kind": "query"},
    {"kind": "query", "score": "scaled-dot"},
    {"kind": "mean"},
    {"kind": "max"},
    LAST,
]


def tagger(encoder: str, head: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "task": "tag",
        **more,
        "model": {"encoder": ENCODERS[encoder], "head": head, **more.get("model", {})},
    }


def classifier(encoder: dict[str, Any], pooling: dict[str, Any]) -> dict[str, Any]:
    return {"task": "classify", "model": {"encoder": encoder, "pooling": pooling}}


SETTINGS = {
    **{f"tags {name}": tagger(name, {"kind": "tags"}) for name in ENCODERS if name != "kalchbrenner"},
    "crf": tagger("bilstm", CRF),
    "crf of words": tagger("bilstm", CRF, **WORDS),
    "crf and label": tagger("bilstm", JOINT),
    "tags and label": tagger("transformer", {"kind": "tags", "label": True}),
    **{f"label {n}": classifier(ENCODERS["bilstm"], pooling) for n, pooling in enumerate(POOLINGS)},
    "label transformer": classifier(ENCODERS["transformer"], POOLINGS[0]),
    "label conv": classifier(ENCODERS["conv"], POOLINGS[2]),
    "label kalchbrenner": classifier({**ENCODERS["kalchbrenner"], "max_positions": 99}, LAST),
    "label dense": classifier(DENSE, LAST),
    "label multi-kernel": classifier(KERNELS, LAST),
}
NUMBERS = ["eins", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn", "elf", "zwölf"]


@cache
def home() -> Path:
    """Forty lines of one to nine words; a tag says whether a word has four letters."""
    import tempfile

    folder = Path(tempfile.mkdtemp())
    lines = [[NUMBERS[(n * k + k) % 12] for k in range(1 + n % 9)] for n in range(40)]
    tags = [["B-x" if len(word) == 4 else "O" for word in line] for line in lines]
    sides = {"words": lines, "tags": tags, "labels": [[line[0]] for line in lines]}
    for name, side in sides.items():
        text = "".join(" ".join(line) + "\n" for line in side)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def settings(name: str) -> Config:
    return validate(tables(name))


def tables(name: str) -> dict[str, Any]:
    table = SETTINGS[name]
    is_joint = table["model"].get("head", {}).get("label", False)
    sides = ["words", *(["tags"] if table["task"] == "tag" else []), *(["labels"] if is_joint else [])]
    files = [str(home() / side) for side in (sides if len(sides) > 1 else ["words", "labels"])]
    limit = {} if "kalchbrenner" in name or "conv" in name else {"max_length": 4096}
    return {**table, "data": {"train": [files], "valid": files, **limit}, "training": TRAINING}


@cache
def data(name: str) -> TrainingData:
    run = Run(settings(name), home() / name, [], lambda _: True)
    return run.data(Ranks(), Events(None, []))


def model(name: str) -> Bundle:
    """With weights that the seed alone would not give."""
    made = new_model(settings(name), data(name).text).eval()
    torch.manual_seed(1)
    for p in made.parameters():
        p.data.add_(0.3 * torch.randn_like(p))
    return Bundle(settings(name), data(name).text, made)


def test_every_kind_of_part_is_in_the_battery() -> None:
    built = [settings(name).model for name in SETTINGS]
    poolings = {TypeAdapter(kind).validate_python({}).kind for kind in get_args(get_args(PoolingPart)[0])}
    assert poolings == {config.pooling.kind for config in built}
    assert set(settings_of_model.ENCODERS.ours) - {"none"} == {config.encoder.kind for config in built}
    heads = {
        kind for config in built if isinstance(config.head, StateHeadPart) for kind in [config.head.kind]
    }
    assert heads == {"tags", "crf", "label"}


@pytest.mark.parametrize("name", SETTINGS)
def test_one_line_alone_equals_in_a_batch(name: str) -> None:
    bundle = model(name)
    answerer = build_answerer(bundle)
    together = answerer(ALONE)
    assert [answerer([line])[0] for line in ALONE] == list(together)
    assert together[0].text == ""
    if bundle.config.task == "tag":
        label = bundle.config.model.head_reads_pooling
        assert [len(answer.text.split()) for answer in together[1:]] == [
            2 + label,
            1 + label,
            9 + label,
            3 + label,
        ]
        assert all(tag in ("O", "B-x") for answer in together for tag in answer.text.split()[label:])


@pytest.mark.parametrize("name", SETTINGS)
def test_a_saved_model_answers_the_same(name: str, tmp_path: Path) -> None:
    bundle = model(name)
    weights = {name: p.detach() for name, p in bundle.model.named_parameters()}
    save_bundle(tmp_path / "model", bundle.config, bundle.text, weights, "")
    again = load_bundle(tmp_path / "model")
    assert again.config.model == bundle.config.model
    answers = [build_answerer(one)(ALONE) for one in (bundle, again)]
    assert answers[0] == answers[1]
    assert [answer.asdict() for answer in answers[0]] == [answer.asdict() for answer in answers[1]]


@pytest.mark.parametrize("name", SETTINGS)
def test_padding_changes_no_loss(name: str) -> None:
    bundle = model(name)
    collate, made = build_collate(bundle.config), bundle.model.double()
    rows = data(name).stores[0].read(np.arange(6))
    whole = made(collate(rows))
    alone = [made(collate([row])) for row in rows]
    for sums, parts in zip(whole, zip(*alone, strict=True), strict=True):
        assert torch.allclose(sums, torch.stack(parts).sum(), rtol=1e-5)  # the loss is in fp32


@pytest.mark.parametrize("name", SETTINGS)
def test_every_weight_is_trained(name: str) -> None:
    bundle = model(name)
    made = bundle.model.train()
    with noise(1):
        made(build_collate(bundle.config)(data(name).stores[0].read(np.arange(40)))).loss.backward()
    unused = [n for n, p in made.named_parameters() if p.grad is None or not p.grad.any()]
    assert not [n for n in unused if "places" not in n and "shrink" not in n and "positions" not in n]


@pytest.mark.parametrize("name", SETTINGS)
def test_stopped_and_resumed_equals_uninterrupted(name: str, tmp_path: Path) -> None:
    run = Run(settings(name), tmp_path, [], lambda _: True)
    known = facts(run.config, Ranks(), UPDATES, data(name).identity)
    whole, progress = run.stepper(data(name), Ranks()), TrainingState(run=known)
    go_on(run, data(name), whole, progress, STOP)
    checkpoint.save(tmp_path, progress, whole.weights(), whole.optimizer_state())
    go_on(run, data(name), whole, progress, UPDATES)
    resumed = run.stepper(data(name), Ranks())
    saved = find(tmp_path, Ranks())
    assert saved is not None
    go_on(run, data(name), resumed, resume(saved, run.config, resumed, data(name).identity)[0], UPDATES)
    same_tensors(resumed.weights(), whole.weights())
    same_tensors(resumed.optimizer_state(), whole.optimizer_state())


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tags transformer", "crf and label", "label 0", "label multi-kernel"])
def test_two_ranks_have_the_losses_of_one(name: str, tmp_path: Path) -> None:
    table = tables(name)
    for ranks in (1, 2):
        table["training"] = {**TRAINING, "micro_batches": 2 // ranks}
        train(table, tmp_path / str(ranks), ranks)
    assert losses(tmp_path / "2") == pytest.approx(losses(tmp_path / "1"), rel=ROUNDING)
