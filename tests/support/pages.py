"""What a page of Markdown holds for the tests: fenced blocks, the directive above them, code in backticks."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent.parent
DOCS = sorted((ROOT / "docs").rglob("*.md"))
PAGES = [*sorted(ROOT.glob("*.md")), *(page for page in DOCS if "_build" not in page.parts)]

_FENCE = re.compile(
    r"(?:^<!-- test: (?P<directive>[^\n]*) -->\n)?^```(?P<language>[\w{}-]*)[^`\n]*\n(?P<body>.*?)^```$",
    re.M | re.S,
)
_COMMAND = re.compile(r"^(?P<typed>\$ (?:[^\n]*\\\n)*[^\n]*\n)(?P<output>(?:(?!\$ )[^\n]*\n)*)", re.M)
_SETTING = re.compile(r"[a-z_]+(\.[a-z_]+)+=\S+")


class Command(NamedTuple):
    typed: str  # as it stands in the block, over one line or several
    output: str  # what is shown below it

    @property
    def text(self) -> str:
        return joined(self.typed).removeprefix("$ ").removesuffix("\n")


class Block(NamedTuple):
    language: str
    body: str
    directive: str

    @property
    def commands(self) -> list[Command]:
        return [Command(m["typed"], m["output"]) for m in _COMMAND.finditer(self.body)]

    @property
    def settings(self) -> str:
        """Of a test that has less time than a reader."""
        return " ".join(word for word in self.directive.split() if _SETTING.fullmatch(word))

    @property
    def varies(self) -> str:
        """What in its outputs may differ from what is shown."""
        kind = re.search(r"\bvaries=(\w+)", self.directive)
        return kind[1] if kind else ""

    @property
    def exit_code(self) -> int:
        """Of the last command."""
        code = re.search(r"\bexit=(\d+)", self.directive)
        return int(code[1]) if code else 0


def joined(text: str) -> str:
    """The text with each command on one line, as the shell reads it."""
    return re.sub(r" *\\\n *", " ", text)


def blocks(page: Path, *languages: str) -> list[Block]:
    found = [
        Block(m["language"], m["body"], m["directive"] or "")
        for m in _FENCE.finditer(page.read_text(encoding="utf-8"))
    ]
    return [block for block in found if block.language in languages]


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))
