"""Imports go down only, and the light parts start without torch."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
LIGHT = [
    "dragoman.cli.main",
    "dragoman.cli.verbs.new",
    "dragoman.config.load",
    "dragoman.config.dump",
    "dragoman.data.recipes.build",
    "dragoman.errors",
]


def modules_of(package: str) -> list[str]:
    files = sorted((ROOT / "src" / "dragoman" / package).rglob("*.py"))
    names = [".".join(file.relative_to(ROOT / "src").with_suffix("").parts) for file in files]
    return [name.removesuffix(".__init__") for name in names]


def test_imports_go_down_only() -> None:
    program = "from importlinter.cli import lint_imports as lint; raise SystemExit(lint(no_cache=True))"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("package", ["metrics", "text", "data/readers", "data/clean"])
def test_light_package_does_not_import_torch(package: str) -> None:
    assert_light(modules_of(package))


def test_start_does_not_import_torch() -> None:
    assert_light(LIGHT)


def assert_light(modules: list[str]) -> None:
    program = (
        f"import importlib, sys\n"
        f"for name in {modules!r}:\n"
        f"    importlib.import_module(name)\n"
        f"    assert 'torch' not in sys.modules, name + ' imports torch'\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
