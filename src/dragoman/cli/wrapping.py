"""Wrapping of long lines for a terminal: between words, with a hanging indent."""

from __future__ import annotations

import re
import textwrap

INDENT = 2  # of continuation lines, if the line has no label
TIED = "\0"  # replaces a space at which a line is not broken; not in any line that is shown
LABEL = re.compile(r"\A *+(?:\S++ {2,}+)?+")
# Never broken: text to copy, which is a fix that is not a sentence or a command up to the end of its line;
# and JSON, which programs read.
WHOLE = re.compile(r"\{|Next:|  fix {7}(?![A-Z])")
COMMAND = re.compile(r"(?:(?<=: )|(?<=:  )|(?<=then )|^ *)(?:dragoman|pip) .*+")


def wrapped(line: str, width: int) -> str:
    """Wrap a line that does not fit. A word longer than the terminal is wide stays whole."""
    if len(line) <= width or WHOLE.match(line):
        return line
    label = LABEL.match(line)
    hang = label.end() if label and label.end() else INDENT
    lines = textwrap.wrap(
        tied(line),
        max(width, 1),
        subsequent_indent=" " * (hang if hang <= width // 2 else INDENT),
        break_long_words=False,
        break_on_hyphens=False,
        expand_tabs=False,
        replace_whitespace=False,
    )
    return "\n".join(lines).replace(TIED, " ")


def tied(line: str) -> str:
    """Join the command in a line, and the two words before it, into one word."""
    command = COMMAND.search(line)
    if not command:
        return line
    words = line[: command.start()].rstrip().rsplit(" ", 2)
    start = command.start() if len(words) < 3 else len(words[0]) + 1
    return line[:start] + line[start:].replace(" ", TIED)
