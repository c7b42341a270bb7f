"""Every objective with every head and task: it is refused where it does not fit, and trains where it does."""

from __future__ import annotations

from itertools import product
from typing import Any, get_args

import pytest

from dragoman.config.load import validate
from dragoman.config.model import HeadPart
from dragoman.config.root import TASK_HEADS, TASK_OBJECTIVES, TaskName
from dragoman.data.loader import GlobalBatch
from dragoman.errors import ConfigError
from dragoman.models.builders.network import new_model
from dragoman.tasks.collate import build_collate
from dragoman.text.tokenizer_pair import TokenizerPair
from dragoman.text.tokenizers.char import Char
from dragoman.text.tokenizers.label import Label
from dragoman.text.tokenizers.spelled import Spelled
from dragoman.text.tokenizers.word import Word
from dragoman.training.build import build_objective, build_optimizer
from dragoman.training.step import AFTER_ALL_WARMUPS, Updater

RNN = {"kind": "rnn", "width": 8, "embedding": 8, "dropout": 0.0}
LETTERS = [("abcdefghij", "abcdefgh"), ("hgfedcba", "hhgfa"), ("bad", "dab")]
LINES = [("the first line", "O B-x I-x"), ("one more", "B-x O")]
LABELLED = [("the first line", "@a O B-x I-x"), ("one more", "@b B-x O")]
HEADS: dict[str, dict[str, Any]] = {
    kind.model_fields["kind"].default: {"kind": kind.model_fields["kind"].default}
    for kind in get_args(get_args(HeadPart)[0])
}
HEADS["sampled"] |= {"size": 5}
HEADS["adaptive"] |= {"cutoffs": [5, 8], "shrink": 2}
LABELS = {f"{kind} and label": {"kind": kind, "label": True} for kind in ("tags", "crf")}
OBJECTIVES = sorted({name for names in TASK_OBJECTIVES.values() for name in names})
ALL = list(product(get_args(TaskName), HEADS | LABELS, OBJECTIVES))


def fits(task: TaskName, head: str, objective: str) -> bool:
    kind = head.partition(" ")[0]
    others = {one for name, kinds in TASK_HEADS.items() for one in kinds if name != task}
    return objective in TASK_OBJECTIVES[task] and kind in TASK_HEADS.get(task, {*HEADS} - others)


def tables(task: TaskName, head: str, objective: str) -> dict[str, Any]:
    model = {"encoder": {"kind": "none"} if task == "lm" else RNN, "decoder": RNN, "tied": "none"}
    text = {} if task in ("tag", "classify") else {"text": {"kind": "char"}}
    return {
        "task": task,
        "data": {"train": "train.tsv"},
        "model": {**model, "head": (HEADS | LABELS)[head]},
        "training": {"objective": {"kind": objective}, "lr": 1e-2},
        **text,
    }


@pytest.mark.parametrize(("task", "head", "objective"), [one for one in ALL if not fits(*one)])
def test_what_does_not_fit_is_refused(task: TaskName, head: str, objective: str) -> None:
    with pytest.raises(ConfigError, match="does not fit task"):
        validate(tables(task, head, objective))


def text_and_pairs(task: TaskName, head: str) -> tuple[TokenizerPair, list[tuple[str, str]]]:
    match task:
        case "tag":
            pairs = LABELLED if head in LABELS else LINES
            tgt: Any = Word.learn([line for _, line in pairs], 99)
        case "classify":
            pairs = [(line, name) for (line, _), name in zip(LINES, "ab", strict=True)]
            tgt = Label.learn(["a", "b"], 99)
        case _:
            pairs, tgt = LETTERS, Char.learn([tgt for _, tgt in LETTERS], 99)
    src = Char if pairs is LETTERS else Spelled
    return TokenizerPair(src.learn([src for src, _ in pairs], 999), tgt, joint=False), pairs


@pytest.mark.parametrize(("task", "head", "objective"), [one for one in ALL if fits(*one)])
def test_what_fits_trains_every_weight(task: TaskName, head: str, objective: str) -> None:
    config = validate(tables(task, head, objective))
    text, pairs = text_and_pairs(task, head)
    rows = [([] if task == "lm" else text.src.encode(src), text.tgt.encode(tgt)) for src, tgt in pairs]
    batch = GlobalBatch(0, 0, [build_collate(config)(rows)], 1.0)
    model = new_model(config, text)
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    training = config.training
    updater = Updater(
        model,
        build_optimizer(training, model),
        seed=1,
        clip=1.0,
        objective=build_objective(training.objective, text.tgt, 9),
    )
    done = [updater.update(batch, AFTER_ALL_WARMUPS + n, lr=training.lr).get() for n in range(2)]
    assert all(one.applied for one in done)
    assert [name for name, p in model.named_parameters() if p.equal(before[name])] == []
