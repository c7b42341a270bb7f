"""Forty things that the documentation of Sockeye, fairseq, Hugging Face and CTranslate2 names: a newcomer who
searches the paths and names of this package for their words finds the file that holds each of them first.
"""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "src" / "dragoman"
QUESTIONS = {
    "placeholders": "steering/placeholders.py",
    "glossary": "steering/glossary.py",
    "banned words": "steering/banned_words.py",
    "forced prefix": "steering/forced_prefix.py",
    "lexical constraints": "search/lexical/constraints.py",
    "no repeat ngram": "search/processors/no_repeat_ngram.py",
    "min length": "search/processors/min_length.py",
    "length penalty normalised": "search/scores.py",
    "coverage penalty": "search/coverage.py",
    "beam search": "search/beam.py",
    "greedy search": "search/greedy.py",
    "sampling": "search/sample.py",
    "top k": "search/topk.py",
    "minimum bayes risk": "inference/reranking.py",
    "forced decoding": "search/forced.py",
    "ensemble": "search/ensemble.py",
    "guided alignment loss": "training/objectives/attention_losses.py",
    "scheduled sampling": "training/objectives/scheduled_sampling.py",
    "minimum risk training": "training/objectives/minimum_risk.py",
    "label smoothing cross entropy": "losses/cross_entropy.py",
    "adam": "training/optim/adam.py",
    "learning rate schedule": "training/optim/learning_rate.py",
    "checkpoint averaging": "training/state/checkpoint.py",
    "resume training": "training/state/resume.py",
    "distributed ranks": "training/distributed/ranks.py",
    "knowledge distillation": "training/distillation.py",
    "worker pool": "inference/runtimes/workers.py",
    "ctranslate2 engine": "inference/runtimes/ct2.py",
    "onnx runtime engine": "inference/runtimes/onnx.py",
    "export ct2": "export/ct2.py",
    "confidence calibration": "inference/quality/confidence.py",
    "quality flags": "inference/quality/flags.py",
    "sentencepiece tokenizer": "text/tokenizers/sentencepiece.py",
    "bpe dropout": "text/tokenizers/bpe.py",
    "vocabulary": "text/vocabulary.py",
    "bucketing batches": "data/bucketing.py",
    "lstm cell": "nn/cells/lstm.py",
    "multi head attention": "nn/attention/multi_head.py",
    "rotary position": "nn/position.py",
    "transformer decoder layer": "nn/transformer/transformer_layer.py",
    "input feeding decoder": "models/decoders/luong.py",
    "adaptive softmax": "models/heads/adaptive.py",
    "bleu": "metrics/bleu.py",
    "bootstrap": "metrics/bootstrap.py",
    "translation memory tmx reader": "data/readers/tmx.py",
}


def words(text: str) -> list[str]:
    """Words of an identifier, a path or a question, without their endings."""
    split = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", text)
    return [
        re.sub(r"(?<=\w{3})(isation|ation|ate|illation|ised|ing|ers|er|ies|es|s|e|ed|y|t)$", "", word.lower())
        for word in split
    ]


@cache
def index() -> dict[str, tuple[list[str], list[str]]]:
    """For each file the words of its path, and those of the names that it defines."""
    found = {}
    for file in sorted(PACKAGE.rglob("*.py")):
        if file.name == "__init__.py":
            continue
        tree = ast.parse(file.read_text(encoding="utf-8"))
        names = [node.name for node in tree.body if isinstance(node, ast.ClassDef | ast.FunctionDef)]
        path = file.relative_to(PACKAGE).as_posix()
        found[path] = words(path.removesuffix(".py")), [word for name in names for word in words(name)]
    return found


def first_guess(question: str) -> str:
    """The file whose path, and then whose names, have most of the question's words."""
    asked = words(question)

    def rank(path: str) -> tuple[int, int, int]:
        place, names = index()[path]
        last = words(Path(path).stem)
        known = sum(word in place or word in names for word in asked)
        return known, sum(word in last for word in asked), -len(place)

    return max(index(), key=rank)


@pytest.mark.parametrize(("question", "file"), QUESTIONS.items())
def test_a_newcomer_finds(question: str, file: str) -> None:
    assert first_guess(question) == file
