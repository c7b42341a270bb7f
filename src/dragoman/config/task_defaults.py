"""Defaults that depend on the task; settings of the user override them."""

from __future__ import annotations

from typing import Any

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
}
