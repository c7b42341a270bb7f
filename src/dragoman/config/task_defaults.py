"""Defaults that depend on the task; settings of the user override them."""

from __future__ import annotations

from typing import Any

TASK_DEFAULTS: dict[str, dict[str, Any]] = {
    "translate": {},
}
