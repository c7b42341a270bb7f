"""What a benchmark found, kept where the documentation shows it: facts, picture and table.

A benchmark with a picture has three functions: facts are measured, then `picture` and `table` are made of
them and of nothing else. `keep` writes docs/pictures/NAME.json, NAME.svg and NAME-dark.svg, and puts picture
and table between the marks `<!-- bench:NAME -->` and `<!-- /bench:NAME -->` of docs/architectures.md (or of
another page).
"""

from __future__ import annotations

import datetime
import json
import os
import platform
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from dragoman.inspection.pictures.theme import LIGHT, THEMES, Theme

Facts = dict[str, Any]
Drawn = Callable[[Any, Theme], str]

DOCS = Path(__file__).resolve().parent.parent / "docs"
PICTURES = DOCS / "pictures"
PAGE = DOCS / "architectures.md"


def stamp(command: str) -> Facts:
    """When, on what and how this was measured; the load is that of the machine as it begins."""
    return {
        "command": command,
        "commit": commit(),
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "processor": processor(),
        "cores": os.cpu_count(),
        "torch": torch.__version__,
        "load": round(os.getloadavg()[0], 1),
    }


def commit() -> str:
    """The revision of this tree, with a + if code was changed since; a figure that was written is none."""
    git = ["git", "-C", str(DOCS.parent)]
    revision = subprocess.run(
        [*git, "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True
    )
    status = subprocess.run(
        [*git, "status", "--porcelain", "--", "src", "benchmarks/*.py", "benchmarks/*.toml"],
        capture_output=True,
        text=True,
        check=True,
    )
    return revision.stdout.strip() + "+" * bool(status.stdout)


def processor() -> str:
    info = Path("/proc/cpuinfo")
    named = re.search(r"model name\s*:\s*(.+)", info.read_text(encoding="utf-8")) if info.exists() else None
    return named[1] if named else platform.processor()


def caption(facts: Facts) -> str:
    how = facts["measured"]
    machine = f"{how['processor']} with {how['cores']} cores and a load of {how['load']}"
    return f"`{how['command']}`, {how['date']}, {machine}, torch {how['torch']}."


def kept(name: str) -> Facts:
    facts: Facts = json.loads((PICTURES / f"{name}.json").read_text(encoding="utf-8"))
    return facts


def keep(name: str, facts: Facts, picture: Drawn, table: str, page: Path = PAGE) -> None:
    keep_picture(name, facts, picture)
    text = page.read_text(encoding="utf-8")
    page.write_text(with_section(text, name, section(name, facts, table)), encoding="utf-8")


def keep_picture(name: str, facts: Any, picture: Drawn) -> None:
    PICTURES.mkdir(parents=True, exist_ok=True)
    text = json.dumps(facts, indent=1, ensure_ascii=False)
    (PICTURES / f"{name}.json").write_text(text + "\n", encoding="utf-8")
    for theme in THEMES.values():
        (PICTURES / file_name(name, theme)).write_text(picture(facts, theme), encoding="utf-8")


def file_name(name: str, theme: Theme, suffix: str = "svg") -> str:
    return f"{name}.{suffix}" if theme == LIGHT else f"{name}-{theme.name}.{suffix}"


def section(name: str, facts: Facts, table: str) -> str:
    return f"{pictures(name, name.replace('_', ' '))}\n\n{table}\n\n{caption(facts)}"


def pictures(name: str, said: str) -> str:
    """Return the picture of each theme, of which a reader sees one."""
    return "\n".join(
        f"![{said}](pictures/{file_name(name, theme)}){{.only-{theme.name}}}" for theme in THEMES.values()
    )


def with_section(page: str, name: str, text: str) -> str:
    first, last = marks(name)
    before, _, rest = page.partition(first)
    _, found, after = rest.partition(last)
    if not found:
        raise SystemExit(f"The page has no place for it: {first} … {last}")
    return f"{before}{first}\n\n{text}\n\n{last}{after}"


def marks(name: str) -> tuple[str, str]:
    return f"<!-- bench:{name} -->", f"<!-- /bench:{name} -->"


def rows(head: list[str], body: list[list[str]]) -> str:
    """A table of Markdown."""
    lines = [head, ["---"] * len(head), *body]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
