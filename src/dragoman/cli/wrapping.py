"""Wrapping for a terminal: prose between words, and commands with backslashes, so that both can be copied."""

from __future__ import annotations

import re
import textwrap
from itertools import chain

INDENT = 2  # of continuation lines, if the line has no label
TIED = "\0"  # replaces a space at which a line is not broken; not in any line that is shown
LABEL = re.compile(r"\A *+(?:[!✗] |\S++ {2,}+)?+")
TOGETHER = re.compile(r"""(?<!\w)(?:'[^']*'|"[^"]*")(?!\w)|\d %""")
WORD = r"""(?:"[^"]*"|'[^']*'|[^\s"',;]|[,;](?!\s))+"""
PROGRAMS = "dragoman|pip|torchrun|sbatch|iconv|zcat|cat|cut|sed|mv|cp|chmod|aws|gcloud|hf|curl|magick|sox"
# A command goes on to the end of its line; one that is followed by words is part of a sentence.
COMMAND = re.compile(
    r"(?:: {1,2}|\bthen |\A(?: *| *fix {2,}))"
    rf"(?P<command>(?:{PROGRAMS})(?: +{WORD})+)(?<!\w\.)\Z"
)


def wrapped(line: str, width: int) -> str:
    """Wrap a line that does not fit. A word longer than the terminal is wide stays whole, and so does JSON,
    which programs read."""
    if len(line) <= width or line.startswith("{"):
        return line
    found, label = COMMAND.search(line), LABEL.match(line)
    hang = label.end() if label and 0 < label.end() <= width // 2 else INDENT
    prose = line[: found.start("command")] if found else line
    lines = filled(prose, width, " " * hang)
    if not found:
        return "\n".join(lines)
    before = (lines.pop() if lines else "") + prose[len(prose.rstrip()) :]
    if len(before) + len(found["command"]) <= width:
        return "\n".join([*lines, before + found["command"]])
    if label and prose != label[0]:
        lines, before = [*lines, before.rstrip()], " " * hang
    first, *rest = broken(found["command"], width - hang)
    return "\n".join([*lines, before + first, *(" " * hang + part for part in rest)])


def filled(text: str, width: int, indent: str = "", first: str = "") -> list[str]:
    """Wrap prose between words; what is quoted stays on one line if it fits, and so does a percentage."""

    def tied(found: re.Match[str]) -> str:
        return found[0].replace(" ", TIED) if len(found[0]) + len(indent) <= width else found[0]

    lines = textwrap.wrap(
        TOGETHER.sub(tied, text),
        max(width, 1),
        initial_indent=first,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
        expand_tabs=False,
        replace_whitespace=False,
    )
    return [line.replace(TIED, " ") for line in lines]


def broken(command: str, width: int) -> list[str]:
    """Break a command between words, where a shell goes on after a backslash."""
    if len(command) <= width:
        return [command]
    lines = [""]
    options = re.findall(rf"(?:--?[a-z][a-z-]* +)?{WORD}", command)  # an option and what it takes
    fits = width - INDENT - len(" \\")
    for word in chain.from_iterable([one] if len(one) <= fits else re.findall(WORD, one) for one in options):
        longer = f"{lines[-1]} {word}" if lines[-1].strip() else lines[-1] + word
        if lines[-1].strip() and len(longer) > width - len(" \\"):
            lines.append(" " * INDENT + word)
        else:
            lines[-1] = longer
    return [*(f"{line} \\" for line in lines[:-1]), lines[-1]]


def shortened(text: str, width: int) -> str:
    """Cut a text that does not fit between two words, or else in the first."""
    if len(text) <= width:
        return text
    words = text[: max(width - 1, 0)].rpartition(" ")[0].rstrip()
    return f"{words} …" if words else f"{text[: max(width - 1, 0)]}…"
