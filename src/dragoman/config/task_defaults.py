"""Defaults that depend on the task; settings of the user override them."""

from __future__ import annotations

from typing import Any

WORDS: dict[str, Any] = {
    "data": {"max_length": 4096},  # whole documents
    "model": {
        "encoder": {"kind": "rnn", "layers": 1, "width": 128, "embedding": 128, "dropout": 0.4},
        "src_embedding": {"kind": "spelled", "widths": [1, 2, 3, 4], "filters": 10, "highways": 1},
    },
}
TASK_DEFAULTS: dict[str, dict[str, Any]] = {
    "translate": {},
    "transcribe": {
        "text": {"kind": "char"},
        "model": {"preset": "rnn-small", "head": {"kind": "ctc"}},
        "training": {"valid_metric": "cer"},
    },
    "lm": {
        "model": {"encoder": {"kind": "none"}, "tied": "target"},
        "training": {"label_smoothing": 0.0, "valid_metric": "loss", "valid_decode": 0},
        "search": {"kind": "sample"},
    },
    "tag": {
        "data": WORDS["data"],
        "text": {"src": {"kind": "spelled"}, "tgt": {"kind": "word"}},
        "model": {**WORDS["model"], "head": {"kind": "tags"}},
        "training": {"valid_metric": "accuracy", "valid_decode": 10_000},
    },
    "classify": {
        "data": WORDS["data"],
        "text": {"src": {"kind": "spelled"}, "tgt": {"kind": "label"}},
        "model": {**WORDS["model"], "head": {"kind": "label"}},
        "training": {"valid_metric": "accuracy", "valid_decode": 10_000},
    },
}
