"""Format strings of programs: whether a translation would be refused by `msgfmt --check-format`.

A translation must have each directive as often as its source. This is stricter than gettext, so that one
grammar serves a family of languages.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator

# Those with directives such as %d. True: a translation may number them (%1$d) to put them in another order.
PRINTF = {
    **dict.fromkeys(("c", "objc", "php", "perl", "tcl", "java-printf", "boost", "javascript"), True),
    **dict.fromkeys(("python", "awk", "lua", "object-pascal", "pascal", "elisp", "librep", "ruby"), False),
    **dict.fromkeys(("sh-printf", "gcc-internal", "gfc-internal"), False),
}
BRACES = ("python-brace", "perl-brace", "java", "csharp", "c++", "rust")
TILDES = ("lisp", "scheme")
NUMBERS = ("qt", "qt-plural", "kde", "kde-kuit", "ycp", "smalltalk")


def printf(flags: str = "[-+ #0']*+", reference: str = "") -> re.Pattern[str]:
    """Return the grammar of %1$-5.2ld, of %(name)s and %<name>s, and of Boost's %1% and %|1$5|."""
    argument = rf"\((?P<name>[^()]*+)\)|<(?P<key>(?!PRI)\w++)>|(?P<number>\d++)[$:]{reference}"
    number = r"\*(?:\d++\$)?|\d*+"
    size = r"(?:v\d*+)?(?:hh|ll|I64|I32|wf?\d++|[hlqjztLwI])?"
    return re.compile(
        rf"%(?:%|(?P<index>\d++)%|\|(?:(?P<bar>\d++)\$)?(?P<spec>[^|%]*+)\||(?P<brace>\{{[^{{}}%]*+\}})"
        rf"|(?:{argument})?(?P<flags>{flags})(?P<width>{number})(?:\.(?P<precision>{number}))?"
        rf"(?P<kind>{size}[A-Za-z@]|<PRI\w++>))?"
    )


DIRECTIVE = printf()
OTHERS = {
    "php": printf(r"[-+ #0]*+(?:'.[-+ #0]*+)?"),
    "java-printf": printf("[-+ #0,(]*+", "|(?P<last><)"),
}
BRACE = re.compile(r"\{\{|\}\}|\{[^{}]*+\}|[{}]")
QUOTED = re.compile(r"''|'[^']*+'?")  # in Java, where a brace in quotes is text
TILDE = re.compile(r"~(?:'.|[-+\d,#vV@:])*+.?", re.DOTALL)
NUMBER = re.compile(r"%L?(?:\d++|n)|<[^<>]*+>")
COARSE = re.compile(r"%%|<[^<>]*+>|\$?\{[^{}]*+\}|\$\w++|[%~][^\s\w]*+\w*+|[<>{}$]")


def breaks_formats(flags: Iterable[str], source: str, output: str) -> bool:
    """Return whether the output has other directives than its source, for an entry with these flags."""
    kinds = [
        flag.removesuffix("-format").removeprefix("possible-") for flag in flags if flag.endswith("-format")
    ]
    return any(
        Counter(directives(kind, source)) != Counter(directives(kind, output))
        for kind in kinds
        if not kind.startswith(("no-", "impossible-"))
    )


def directives(kind: str, text: str) -> Iterator[str]:
    """Yield what a program would fill in; "%" or a brace alone stand for what it cannot read."""
    if kind in PRINTF:
        yield from printf_arguments(kind, text)
    elif kind in BRACES:
        text = QUOTED.sub("", text) if kind == "java" else text
        found = [brace for brace in BRACE.findall(text) if brace not in ("{{", "}}")]
        # {} and {:x} are numbered by their place.
        yield from (f"{n}{brace}" if brace[:2] in ("{}", "{:") else brace for n, brace in enumerate(found))
    elif kind in TILDES:
        yield from (f"{n}{directive}" for n, directive in enumerate(TILDE.findall(text)))
    else:
        yield from (NUMBER if kind in NUMBERS else COARSE).findall(text)


def printf_arguments(kind: str, text: str) -> Iterator[str]:
    """Yield each directive with the name or number of its argument."""
    count, ways = 0, set()
    for found in OTHERS.get(kind, DIRECTIVE).finditer(text):
        part = found.groupdict(default="")
        if found[0] == "%%":
            continue
        if part["brace"] or part.get("last") or not (part["kind"] or part["index"] or found[0].endswith("|")):
            yield found[0]
            continue
        for star in (part["width"], part["precision"]):
            if star == "*":
                count += 1
                yield f"{count}*"
        argument = part["name"] or part["key"]
        number = part["number"] or part["bar"] or part["index"]
        if not argument:
            ways.add("numbered" if number else "in order")
            count += not number
        rest = "".join(part[name] for name in ("spec", "flags", "width", "precision", "kind"))
        yield f"{argument or number or count}{rest}"
    if len(ways) == 2 or not PRINTF[kind]:
        yield from ways
