"""docs/equations.md says where each formula stands: every entry leads to code, none is left out."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

HOUSE = Path(__file__).resolve().parents[2]
PAGE = HOUSE / "docs" / "equations.md"
ENTRY = re.compile(r"\[`(?P<symbol>[\w.]+)`\]\(\.\./(?P<file>src/dragoman/[\w/]+\.py)\)")
ENTRIES = [(found["file"], found["symbol"]) for found in ENTRY.finditer(PAGE.read_text(encoding="utf-8"))]


def symbols(file: Path) -> set[str]:
    """Functions and classes of a module, and Class.method."""
    found = set()
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        if isinstance(node, ast.ClassDef):
            found |= {f"{node.name}.{part.name}" for part in node.body if isinstance(part, ast.FunctionDef)}
    return found


@pytest.mark.parametrize(("file", "symbol"), ENTRIES, ids=lambda value: value)
def test_every_entry_leads_to_code(file: str, symbol: str) -> None:
    assert (HOUSE / file).is_file(), f"{PAGE.name} names {file}, which is not there"
    assert symbol in symbols(HOUSE / file), f"{PAGE.name} names {symbol}, which {file} does not have"


def test_no_module_with_equations_is_left_out() -> None:
    named = {file for file, _ in ENTRIES}
    there = {
        str(file.relative_to(HOUSE))
        for room in ("nn", "losses")
        for file in (HOUSE / "src" / "dragoman" / room).rglob("*.py")
        if file.name != "__init__.py" and "fast" not in file.parts
    }
    assert there <= named, f"not in {PAGE.name}: {sorted(there - named)}"
