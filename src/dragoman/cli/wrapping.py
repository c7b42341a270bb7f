"""Long lines for a terminal: broken between words, the rest below the text of the first line."""

from __future__ import annotations

import re
import textwrap

INDENT = 2  # of what goes on, where the line has no label
TIED = "\0"  # stands for a space at which nothing is broken; no line that is shown has one
LABEL = re.compile(r"\A *+(?:\S++ {2,}+)?+")
# What is typed again must not be broken: a fix that is no sentence, and a command up to the end of its line;
# nor what a program reads, JSON.
WHOLE = re.compile(r"\{|Next:|  fix {7}(?![A-Z])")
COMMAND = re.compile(r"(?:(?<=: )|(?<=:  )|(?<=then )|^ *)(?:dragoman|pip) .*+")


def wrapped(line: str, width: int) -> str:
    """The same where it fits. A word that is longer than the terminal is wide stays whole."""
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
    """The command in a line as one word, with the two words that say what it is for."""
    command = COMMAND.search(line)
    if not command:
        return line
    words = line[: command.start()].rstrip().rsplit(" ", 2)
    start = command.start() if len(words) < 3 else len(words[0]) + 1
    return line[:start] + line[start:].replace(" ", TIED)
