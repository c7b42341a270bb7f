"""A document comes back byte for byte, but for the translations that it had not."""

from __future__ import annotations

import gzip
import re
import shutil
import subprocess
import tracemalloc
import xml.etree.ElementTree as ET
from collections.abc import Callable, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple
from xml.sax.saxutils import escape, quoteattr

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.data.readers.open_pairs import open_pairs, refuse_mixed
from dragoman.documents.build import KINDS, read_document
from dragoman.documents.slots import Output
from dragoman.documents.srt import balanced
from dragoman.documents.xml import Segment
from dragoman.errors import DataError, UsageError
from dragoman.steering.placeholders import find_placeholders

EN_DE = ("en", "de")
# What XML can hold, line breaks among it; and what looks like markup without being it.
WORDS = st.lists(
    st.one_of(
        st.text(st.characters(exclude_categories=["Cs", "Cc", "Cn", "Co"]), min_size=1, max_size=8),
        st.sampled_from(["<x1>", "</b>", "&amp;", "&", "%d", "]]>", '"', "\\", "{name}", "<x2/>", "\\n"]),
    ),
    min_size=1,
    max_size=5,
).map(" ".join)
TEXTS = WORDS.filter(str.strip)


def shout(sources: Sequence[str]) -> list[str]:
    """A model that keeps what is to be kept."""
    return [
        re.sub(r"(<[^<>]*>|%(?:\(\w+\))?\w|\{\w+\})|(\w)", lambda m: m[1] or m[2].upper(), s) for s in sources
    ]


def forgets(sources: Sequence[str]) -> list[str]:
    """A model that loses what is to be kept."""
    return ["words & more <" for _ in sources]


def silent(sources: Sequence[str]) -> list[str]:
    return [" " for _ in sources]


class Translated(NamedTuple):
    document: bytes
    units: int
    before: int
    others: int
    empty: list[int]
    broken: list[int]
    detached: list[int]
    flagged: dict[int, tuple[str, ...]]


Model = Callable[[Sequence[str]], Sequence[str]]


def translated(
    folder: Path,
    name: str,
    document: str | bytes,
    translate: Model = shout,
    languages: tuple[str, str] | None = EN_DE,
    flags: tuple[str, ...] = (),
) -> Translated:
    file, out = folder / name, BytesIO()
    file.write_bytes(document.encode() if isinstance(document, str) else document)
    counts = read_document(file, languages).fill(
        out, lambda sources: [Output(text, flags) for text in translate(sources)]
    )
    return Translated(out.getvalue(), *counts)


# ---- PO

PO = """# head
msgid ""
msgstr ""
"Content-Type: text/plain; charset=UTF-8\\n"

# a person wrote this
#: a.c:1
#, c-format
msgid "Open %d file"
msgid_plural "Open %d files"
msgstr[0] ""
msgstr[1] ""
msgstr[2] ""

msgctxt "x"
msgid "Done"
msgstr "Fertig"

msgid ""
"Two lines\\n"
"and \\"more\\"\\n"
msgstr ""

#~ msgid "old"
#~ msgstr ""
"""

TWO = 'msgid ""\n"Two lines\\n"\n"and \\"more\\"\\n"\nmsgstr ""\n'


def test_po(tmp_path: Path) -> None:
    filled = translated(tmp_path, "a.po", PO)
    assert (filled.units, filled.before, filled.empty) == (2, 1, [])
    mark = "# Machine translation by Dragoman\n#, fuzzy\n"
    expected = (
        PO.replace("# a person", "# Machine translation by Dragoman\n# a person")
        .replace("#, c-format", "#, fuzzy, c-format")
        .replace('msgstr[0] ""', 'msgstr[0] "OPEN %d FILE"')
        .replace('msgstr[1] ""', 'msgstr[1] "OPEN %d FILES"')
        .replace('msgstr[2] ""', 'msgstr[2] "OPEN %d FILES"')
        .replace(
            TWO,
            f'{mark}{TWO}"TWO LINES\\n"\n"AND \\"MORE\\"\\n"\n',
        )
    )
    assert filled.document.decode() == expected


FLAGGED = """#: a.py:1
#, python-format
msgid "Deleted %(count)d files"
msgstr ""

#. no flags
msgid "Save"
msgstr ""

#, fuzzy, c-format
#: b.c:2
msgid "Open %s"
msgstr ""
"""


def test_an_entry_with_flags_becomes_fuzzy_in_the_same_line(tmp_path: Path) -> None:
    lines = translated(tmp_path, "a.po", FLAGGED).document.decode().splitlines()
    assert [line for line in lines if line.startswith("#,")] == [
        "#, fuzzy, python-format",
        "#, fuzzy",
        "#, fuzzy, c-format",
    ]
    assert lines.count("# Machine translation by Dragoman") == 3


@pytest.mark.skipif(not shutil.which("msgattrib"), reason="needs Debian's gettext")
def test_gettext_sees_that_every_filled_entry_is_fuzzy(tmp_path: Path) -> None:
    header = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n\n'
    file = tmp_path / "b.po"
    file.write_bytes(translated(tmp_path, "a.po", header + FLAGGED).document)
    fuzzy = subprocess.run(["msgattrib", "--only-fuzzy", file], check=True, capture_output=True, text=True)
    assert fuzzy.stdout.count('msgid "') == 4  # with the header
    done = subprocess.run(
        ["msgfmt", "--statistics", "-o", "/dev/null", file], check=True, capture_output=True, text=True
    )
    assert done.stderr == "0 translated messages, 3 fuzzy translations.\n"


@pytest.mark.parametrize(
    ("singular", "forms", "expected"),
    [
        ("One file", 1, ["%d FILES"]),  # Japanese: the same form for every number
        ("One file", 2, ["ONE FILE", "%d FILES"]),
        ("One file", 3, ["%d FILES"] * 3),  # Russian: the first form is also that of 21 and 31
        ("%d file", 3, ["%d FILE", "%d FILES", "%d FILES"]),
    ],
)
def test_plural_forms_of_languages_with_one_and_with_three(
    tmp_path: Path, singular: str, forms: int, expected: list[str]
) -> None:
    empty = "".join(f'msgstr[{n}] ""\n' for n in range(forms))
    entry = f'msgid "{singular}"\nmsgid_plural "%d files"\n{empty}'
    written = translated(tmp_path, "a.po", entry).document.decode()
    assert re.findall(r'msgstr\[\d\] "(.*)"', written) == expected


def test_the_empty_forms_of_a_half_translated_plural_are_filled_in(tmp_path: Path) -> None:
    entry = 'msgid "One file"\nmsgid_plural "%d files"\nmsgstr[0] "Eine Datei"\nmsgstr[1] "{}"\n'
    filled = translated(tmp_path, "a.po", entry.format(""))
    mark = "# Machine translation by Dragoman\n#, fuzzy\n"
    assert filled.document.decode() == mark + entry.format("%d FILES")
    assert (filled.units, filled.before) == (1, 0)


@pytest.mark.parametrize(
    ("flag", "source", "output"),
    [
        ("python-format", "Delete %(count)d", "Löschen %(model)s"),
        ("python-format", "Delete %(count)d", "%(count)d %(count)s löschen"),
        ("python-format", "Run %s", "Lauf %r %s"),
        ("c-format", "%d of %s", "%s von %d"),
        ("c-format", "Save %s", "50 % der %s"),
        ("c-format", "Done", "100%"),
        ("python-brace-format", "Hi {name}", "Hallo {Name}"),
        ("python-brace-format", "{0} and {1}", "{0}"),
        ("qt-format", "Page %1 of %2", "Seite %1"),
        ("c-format", "%1$s of %2$*3$d (50%% done)", "%1$s von %2$d (50%% fertig)"),
        ("c-format", "%d of %s", "%1$d von %s"),
        ("c-format", "%<PRIu64> bytes", "%<PRIu32> Bytes"),
        ("boost-format", "%1% of %|2$5|", "%1% von"),
        ("boost-format", "%1% of %|2$5|", "%1% von %3%"),
        ("perl-format", "Version %vd", "Version %v"),
        ("perl-format", "Version %vd", "Version %s"),
        ("java-printf-format", "%1$tY of %2$s", "%1$s von %2$tY"),
        ("java-printf-format", "Year %1$tY", "Jahr %1$t"),
        ("java-format", "the {0}", "l'{0}"),
        ("scheme-format", "~a ~s", "~a"),
        ("lisp-format", "~a ~s", "~a ~"),
        ("lisp-format", "~d ~a", "~a ~d"),
        ("elisp-format", "%s %d", "%d %s"),
        ("librep-format", "%s %d", "%s"),
        ("object-pascal-format", "%0:s %1:d", "%0:s"),
        ("php-format", "%'*10s", "%'*10d"),
        ("tcl-format", "%1$s", "%2$d %1$s"),
        ("javascript-format", "%s %d", "%s"),
        ("lua-format", "%q %d", "%d %q"),
        ("awk-format", "%s", "%d"),
        ("csharp-format", "{0,5} {1}", "{0,5} {"),
        ("perl-brace-format", "{name}", "{Name}"),
        ("sh-format", "$name is ${here}", "$name ist ${hier}"),
        ("kde-format", "%1 of %2", "%1 von"),
        ("ycp-format", "%1 of %2", "%1 von"),
        ("gcc-internal-format", "%qs is %<old%>", "%d ist %<alt%>"),
        ("gfc-internal-format", "%C at %L", "%L"),
        ("smalltalk-format", "%1 of %2", "%1 von"),
    ],
)
def test_an_output_that_breaks_the_format_string_is_not_written_but_counted(
    tmp_path: Path, flag: str, source: str, output: str
) -> None:
    document = f'#, {flag}\nmsgid "{source}"\nmsgstr ""\n'
    filled = translated(tmp_path, "a.po", document, lambda _: [output])
    assert (filled.document.decode(), filled.units, filled.broken) == (document, 0, [2])
    if shutil.which("msgfmt"):
        assert msgfmt_refuses(tmp_path / "b.po", document.replace('""', f'"{output}"'))
    without = document.replace(f"#, {flag}\n", "")
    assert translated(tmp_path, "a.po", without, lambda _: [output]).units == 1


@pytest.mark.parametrize(
    ("flag", "source", "output"),
    [
        ("c-format", "%d of %s", "%2$s: %1$d"),
        ("c-format", "%d of %s, 100%%", "%d von %s"),
        ("no-c-format", "100% done", "fertig zu 100 % da"),
        ("python-format", "%(a)s and %(b)s", "%(b)s und %(a)s"),
        ("python-brace-format", "{a} {{b}}", "{a}"),
        ("c-format", "%1$s of %2$*3$d (50%% done)", "%2$*3$d von %1$s (50%% fertig)"),
        ("boost-format", "%1% of %|2$5|", "%|2$5| von %1%"),
        ("perl-format", "Version %vd", "Fassung %vd"),
        ("java-printf-format", "%1$tY, %<tm", "Jahr %1$tY, %<tm"),
        ("java-format", "it''s {0}", "das ist {0}"),
        ("lisp-format", "~10,'0d ~{~a~^, ~}", "da ~10,'0d und ~{~a~^, ~}"),
        ("scheme-format", "~a ~s", "da ~a ~s"),
        ("php-format", "%1$'*10s", "da %1$'*10s"),
        ("gcc-internal-format", "%qs is %<old%>", "%qs ist %<alt%>"),
        ("sh-format", "$name is ${here}", "${here} ist $name"),
        ("qt-format", "100% of %1", "%1: 100%"),
        ("qt-plural-format", "%n files", "%n Dateien"),
        ("kde-kuit-format", "<b>%1</b> files", "<b>%1</b> Dateien"),
        ("object-pascal-format", "%0:s %1:d", "%1:d %0:s"),
        ("unheard-of-format", "<a> %x ~y {z}", "{z} <a> da %x ~y"),
    ],
)
def test_an_output_with_the_same_arguments_is_written(
    tmp_path: Path, flag: str, source: str, output: str
) -> None:
    document = f'#, {flag}\nmsgid "{source}"\nmsgstr ""\n'
    filled = translated(tmp_path, "a.po", document, lambda _: [output])
    assert filled.units == 1
    if shutil.which("msgfmt"):
        assert not msgfmt_refuses(tmp_path / "b.po", filled.document.decode())


def msgfmt_refuses(file: Path, entries: str) -> bool:
    header = (
        'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=UTF-8\\n"\n'
        '"Plural-Forms: nplurals=2; plural=n != 1;\\n"\n\n'
    )
    file.write_text(header + entries, encoding="utf-8")
    check = ["msgfmt", "-c", "--use-fuzzy", "-o", "/dev/null", file]
    ended = subprocess.run(check, capture_output=True, text=True, check=False)
    assert ended.returncode in (0, 1)
    return ended.returncode == 1


def test_the_mark_says_why_an_output_needs_review(tmp_path: Path) -> None:
    flags = ("low_confidence", "placeholder_mismatch")
    filled = translated(tmp_path, "a.po", 'msgid "a"\nmsgstr ""\n', flags=flags)
    assert b"# Machine translation by Dragoman: low_confidence placeholder_mismatch\n" in filled.document
    assert filled.flagged == {1: flags}
    source = "<source>a</source>"
    in_1 = translated(tmp_path, "a.xlf", XLIFF_1.format("", "", ""), flags=flags).document.decode()
    assert '\n    <note from="Dragoman">low_confidence placeholder_mismatch</note>\n' in in_1
    in_2 = translated(
        tmp_path, "a.xliff", f'<xliff><unit id="1"><segment>{source}</segment></unit></xliff>', flags=flags
    )
    assert b'subState="dragoman:mt,low_confidence,placeholder_mismatch"' in in_2.document
    unit = '<tmx><body><tu><tuv xml:lang="en"><seg>a</seg></tuv></tu></body></tmx>'
    in_tmx = translated(tmp_path, "a.tmx", unit, flags=flags).document.decode()
    assert '<prop type="x-flags">low_confidence placeholder_mismatch</prop><seg>A</seg>' in in_tmx


def test_a_compressed_document_is_read(tmp_path: Path) -> None:
    plain = translated(tmp_path, "app.po", PO)
    assert translated(tmp_path, "app.po.gz", gzip.compress(PO.encode())).document == plain.document


def test_po_with_dos_line_ends(tmp_path: Path) -> None:
    filled = translated(tmp_path, "a.po", PO.replace("\n", "\r\n"))
    assert (
        filled.document.decode().replace("\r\n", "\n") == translated(tmp_path, "b.po", PO).document.decode()
    )
    assert b"\n" not in filled.document.replace(b"\r\n", b"")


def test_what_is_filled_in_is_fuzzy_and_is_not_translated_again(tmp_path: Path) -> None:
    once = translated(tmp_path, "a.po", PO).document
    again = translated(tmp_path, "a.po", once)
    assert (again.units, again.before) == (0, 3)
    assert again.document == once
    (tmp_path / "a.po").write_bytes(once)
    skipped: list[str] = []
    pairs = list(open_pairs([tmp_path / "a.po"], on_bad=lambda bad: skipped.append(bad.kind)))
    assert [(pair.src, pair.tgt) for pair in pairs] == [("Done", "Fertig")]
    assert set(skipped) == {"fuzzy"}


def po_string(text: str) -> str:
    return (
        '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t") + '"'
    )


@given(
    st.lists(
        st.tuples(TEXTS, st.booleans(), st.sampled_from(["", "\n", " ", "\n\n"])), min_size=1, max_size=6
    )
)
def test_any_po_comes_back_with_its_white_space(
    tmp_path_factory: pytest.TempPathFactory, entries: list[tuple[str, bool, str]]
) -> None:
    parts = []
    for n, (text, is_done, end) in enumerate(entries):
        done = po_string("done") if is_done else '""'
        parts.append(f'#: {n}\nmsgctxt "{n}"\nmsgid {po_string(text + end)}\nmsgstr {done}\n')
    document = "\n".join(parts)
    folder = tmp_path_factory.mktemp("po")
    filled = translated(folder, "a.po", document, lambda sources: [f"»{s}«" for s in sources])
    assert filled.before == sum(is_done for _, is_done, _ in entries)
    (folder / "b.po").write_bytes(filled.document.replace(b"#, fuzzy\n", b""))
    pairs = list(open_pairs([folder / "b.po"]))
    assert [pair.src for pair in pairs] == [(text + end).strip() for text, _, end in entries]
    for pair, (text, is_done, _) in zip(pairs, entries, strict=True):
        assert pair.tgt == ("done" if is_done else f"»{text.strip()}«")
    untouched = translated(folder, "a.po", document, silent)
    assert untouched.document.decode() == document
    assert len(untouched.empty) == sum(not is_done for _, is_done, _ in entries)


# ---- XLIFF

XLIFF_1 = """<?xml version="1.0"?>
<xliff version="1.2"><file source-language="en" target-language="de"><body>
  <trans-unit id="1">
    <source>Click <g id="1">hére</g> &amp; <ph id="2">&lt;br/&gt;</ph> go</source>{0}
  </trans-unit>
  <trans-unit id="2"><source>b</source><target>B</target></trans-unit>
  <trans-unit id="3"><source>c</source>{1}</trans-unit>
  <trans-unit id="4" translate="no"><source>c</source></trans-unit>
  <group translate="no"><trans-unit id="5"><source>c</source></trans-unit></group>
  <trans-unit id="6"><source>d</source>{2}<alt-trans><target>q</target></alt-trans></trans-unit>
</body></file></xliff>
"""
MARK_1 = 'state="needs-review-translation" state-qualifier="mt-suggestion"'


def test_xliff_1(tmp_path: Path) -> None:
    filled = translated(tmp_path, "a.xlf", XLIFF_1.format("", "<target/>", '<target state="new">d</target>'))
    assert (filled.units, filled.before, filled.others) == (3, 1, 2)
    clicked = 'CLICK <g id="1">HÉRE</g> &amp; <ph id="2">&lt;br/&gt;</ph> GO'
    assert filled.document.decode() == XLIFF_1.format(
        f"\n    <target {MARK_1}>{clicked}</target>",
        f"<target {MARK_1}>C</target>",
        f"<target {MARK_1}>D</target>",
    )


@pytest.mark.parametrize(
    ("source", "kept"),
    [
        ('Open <mrk mtype="protected">Firefox</mrk> now', '<mrk mtype="protected">Firefox</mrk>'),
        (
            "Open <mrk id='m1' translate='no'>Fire<ph id='1'/></mrk>",
            "<mrk id='m1' translate='no'>Fire<ph id='1'/></mrk>",
        ),
    ],
)
def test_text_that_is_marked_as_protected_is_kept(tmp_path: Path, source: str, kept: str) -> None:
    document = XLIFF_1.replace('Click <g id="1">hére</g> &amp; <ph id="2">&lt;br/&gt;</ph> go', source)
    filled = translated(tmp_path, "a.xlf", document.format("", "", "")).document.decode()
    assert f"<target {MARK_1}>OPEN {kept}" in filled


def test_tags_may_come_in_the_order_of_the_other_language() -> None:
    segment = Segment("Click <g id='1'>here</g> and <g id='2'>there</g>", frozenset())
    assert segment.sources == ("Click <x1>here</x1> and <x2>there</x2>",)
    swapped = segment.written(["Klick <x2>dort</x2> und <x1>hier</x1>"])
    assert swapped == ("Klick <g id='2'>dort</g> und <g id='1'>hier</g>", 0)


@pytest.mark.parametrize(
    ("output", "xml", "detached"),
    [
        ("Klick </x1>hier<x1> und <x2>dort</x2><x3/>", "Klick hier und <g id='2'>dort</g><x/>", 1),
        ("Klick <x1>hier <x2>und</x1> dort</x2><x3/>", "Klick <g id='1'>hier und</g> dort<x/>", 1),
        ("Klick <x1></x1> <x2></x2> hier und dort", "Klick hier und dort<x/>", 2),
        ("<x1>Hier</x1> <x1>und</x1> <x2>dort</x2>", "<g id='1'>Hier</g> und <g id='2'>dort</g><x/>", 0),
    ],
)
def test_a_pair_of_tags_is_never_emptied_but_left_out_and_counted(
    output: str, xml: str, detached: int
) -> None:
    segment = Segment("Click <g id='1'>here</g> and <g id='2'>there</g><x/>", frozenset())
    assert segment.written([output]) == (xml, detached)
    empty = Segment("a<g></g>b", frozenset())
    assert empty.written(["<x1></x1>ab"]) == ("<g></g>ab", 0)


@pytest.mark.parametrize(
    "codes",
    [
        ('<bpt id="1">x</bpt>', '<ept id="1">y</ept>'),
        ('<bpt i="1" x="4">x</bpt>', '<ept i="1"/>'),
        ('<bx id="1" rid="9"/>', '<ex id="2" rid="9"/>'),
        ('<sc id="7"/>', '<ec startRef="7"/>'),
    ],
)
def test_codes_that_begin_and_end_something_are_a_pair(codes: tuple[str, str]) -> None:
    begin, end = codes
    segment = Segment(f"Click {begin}here{end} <x/> now.", frozenset({"bpt", "ept"}))
    assert segment.sources == ("Click <x1>here</x1> <x3/> now.",)
    assert segment.written(["Jetzt <x1>hier</x1> <x3/>."]) == (f"Jetzt {begin}hier{end} <x/>.", 0)
    assert segment.written(["Jetzt <x1></x1> hier <x3/>."]) == ("Jetzt hier <x/>.", 1)


def test_codes_that_cross_tags_or_are_alone_stay_single() -> None:
    crossing = Segment('<bpt id="1"/><g id="2">a<ept id="1"/></g><ept id="3"/>', frozenset({"bpt", "ept"}))
    assert crossing.sources == ("<x1/><x2>a<x3/></x2><x4/>",)


PRESERVED = """<xliff version="1.2"><file source-language="en"><body xml:space="preserve">
<trans-unit id="1"><source>Line <g id="1">one
  Line</g> two
<x id="2"/>
</source>{0}</trans-unit>
<trans-unit id="2" xml:space="default"><source>
  Wrapped
  line &#x41;.&#xA; Another&#13;&#010;
</source>{1}</trans-unit></body></file></xliff>"""


def test_line_breaks_are_kept_where_xml_says_that_they_mean_something(tmp_path: Path) -> None:
    given: list[str] = []

    def translate(sources: Sequence[str]) -> list[str]:
        given.extend(sources)
        return shout(sources)

    filled = translated(tmp_path, "a.xlf", PRESERVED.format("", ""), translate).document.decode()
    assert given == ["Line <x1>one", "Line</x1> two", "Wrapped line A.", "Another"]
    one = f'<target {MARK_1}>LINE <g id="1">ONE\n  LINE</g> TWO\n<x id="2"/>\n</target>'
    two = f"<target {MARK_1}>\n  WRAPPED LINE A.&#xA; ANOTHER&#xD;&#xA;\n</target>"
    assert filled == PRESERVED.format(one, two)


def test_line_breaks_of_a_memory_are_kept_where_xml_says_that_they_mean_something(tmp_path: Path) -> None:
    document = (
        '<tmx><body><tu><tuv xml:lang="en"><seg xml:space="preserve">a\nb</seg></tuv>{0}</tu>'
        '<tu><tuv xml:lang="en"><seg>a\nb</seg></tuv>{1}</tu></body></tmx>'
    )
    filled = translated(tmp_path, "a.tmx", document.format("", "")).document.decode()
    tuv = '<tuv xml:lang="de" creationid="MT!Dragoman"><seg{}>{}</seg></tuv>'
    assert filled == document.format(tuv.format(' xml:space="preserve"', "A\nB"), tuv.format("", "A B"))


def test_xliff_2_says_in_the_segment_that_it_is_machine_output(tmp_path: Path) -> None:
    document = (
        '<xliff xmlns="urn:oasis:names:tc:xliff:document:2.0" version="2.0" srcLang="en" trgLang="de">'
        '<file id="f"><unit id="1"><segment state="initial" id=\'s\'>\n'
        '<source>a <pc id="1">b</pc><ph id="2"/></source>{0}</segment>'
        "<segment><source>x</source><target>y</target></segment></unit></file></xliff>"
    )
    filled = translated(tmp_path, "a.xliff", document.format(""))
    expected = document.format('\n<target>A <pc id="1">B</pc><ph id="2"/></target>').replace(
        'state="initial"', 'state="translated" subState="dragoman:mt"'
    )
    assert filled.document.decode() == expected


@pytest.mark.parametrize(
    ("target", "filled_in"),
    [
        (
            '<target xml:lang="de" state="new" phase-name="p" equiv-trans="no"/>',
            f'<target {MARK_1} xml:lang="de" phase-name="p" equiv-trans="no">C</target>',
        ),
        (
            "<target state-qualifier='x' state = 'new' a=\"/>\">c</target>",
            f'<target {MARK_1} a="/>">C</target>',
        ),
    ],
)
def test_a_target_that_is_replaced_keeps_its_other_attributes(
    tmp_path: Path, target: str, filled_in: str
) -> None:
    document = '<xliff version="1.2"><trans-unit id="1"><source>c</source>{}</trans-unit></xliff>'
    filled = translated(tmp_path, "a.xlf", document.format(target)).document.decode()
    assert filled == document.format(filled_in)
    document = '<xliff version="2.0"><unit id="1"><segment{}><source>c</source>{}</segment></unit></xliff>'
    target = '<target order="1" xml:space="preserve"{}>'
    filled = translated(tmp_path, "a.xliff", document.format("", target.format("/"))).document.decode()
    mark = ' state="translated" subState="dragoman:mt"'
    assert filled == document.format(mark, target.format("") + "C</target>")


def test_what_is_filled_in_is_not_approved(tmp_path: Path) -> None:
    unit = '<trans-unit id="1" approved="{}" xml:lang="en"><source>a</source><target>{}</target></trans-unit>'
    document = f'<xliff version="1.2">{unit}</xliff>'
    filled = translated(tmp_path, "a.xlf", document.format("yes", "")).document.decode()
    assert '<trans-unit approved="no" id="1" xml:lang="en">' in filled
    reviewed = document.format("yes", "A")
    assert translated(tmp_path, "a.xlf", reviewed).document.decode() == reviewed


STATES_1 = (
    "new",
    "needs-translation",
    "needs-adaptation",
    "needs-l10n",
    "needs-review-translation",
    "x-mine",
)


@pytest.mark.parametrize("state", STATES_1)
@pytest.mark.parametrize("is_2", [False, True])
def test_text_of_a_person_is_never_replaced_whatever_the_state_says(
    tmp_path: Path, state: str, *, is_2: bool
) -> None:
    document = '<xliff version="1.2"><trans-unit id="1"><source>Open</source>{}</trans-unit></xliff>'
    target = f'<target state="{state}">{{}}</target>'
    if is_2:
        state = "initial" if state == "new" else state
        document = f'<xliff version="2.0"><unit id="1"><segment state="{state}">' + (
            "<source>Open</source>{}</segment></unit></xliff>"
        )
        target = "<target>{}</target>"
    own = document.format(target.format("Öffnen"))
    filled = translated(tmp_path, "a.xlf", own)
    assert (filled.document.decode(), filled.units, filled.before) == (own, 0, 1)
    copied = translated(tmp_path, "a.xlf", document.format(target.format("\nOpen ")))
    assert copied.units == (state in ("new", "needs-translation", "initial"))
    for empty in ("", target.format(""), target.format("\n ")):
        filled = translated(tmp_path, "a.xlf", document.format(empty))
        assert (filled.units, b">OPEN</target>" in filled.document) == (1, True)


def test_what_is_filled_in_is_in_the_namespace_of_the_source(tmp_path: Path) -> None:
    source = "<x:trans-unit id='1'><x:source>a</x:source>{}</x:trans-unit>"
    document = f"<x:xliff xmlns:x='urn:oasis:names:tc:xliff:document:1.2'>{source}</x:xliff>"
    filled = translated(tmp_path, "a.xlf", document.format("")).document.decode()
    assert filled == document.format(f"<x:target {MARK_1}>A</x:target>")


def test_a_document_of_the_other_direction_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="from en to de"):
        translated(tmp_path, "a.xlf", XLIFF_1.format("", "", ""), languages=("de", "en"))


SEGMENTED = """<xliff version="1.2"><file source-language="en" target-language="de"><body><trans-unit id="1">
  <source>One. <g id="1">Two</g></source>
  <seg-source>
    <mrk mtype="seg" mid="1">One.</mrk> <mrk mtype="seg" mid="2"><g id="1">Two</g></mrk>
  </seg-source>
  {}
</trans-unit></body></file></xliff>"""
TWO_BOLD = '<g id="1">TWO</g>'
FIRST, SECOND = '<mrk mtype="seg" mid="1">{}</mrk>', '<mrk mid="2" mtype="seg">{}</mrk>'


@pytest.mark.parametrize(
    ("target", "filled_in"),
    [
        ("", '<mrk mtype="seg" mid="1">ONE.</mrk> <mrk mtype="seg" mid="2"><g id="1">TWO</g></mrk>'),
        (
            "<target/>",
            '<mrk mtype="seg" mid="1">ONE.</mrk> <mrk mtype="seg" mid="2"><g id="1">TWO</g></mrk>',
        ),
        (
            f"<target>{FIRST.format('')}-{SECOND.format('')}</target>",
            f"{FIRST.format('ONE.')}-{SECOND.format(TWO_BOLD)}",
        ),
        (
            '<target><mrk mtype="seg" mid="1"/> <mrk mid="2" mtype="seg">Zwei</mrk></target>',
            f"{FIRST.format('ONE.')} {SECOND.format('Zwei')}",
        ),
        (
            f'<target state="new">{FIRST.format("One.")} {SECOND.format("Zwei")}</target>',
            f"{FIRST.format('ONE.')} {SECOND.format('Zwei')}",
        ),
        (f"<target>{FIRST.format('Eins')} {SECOND.format('Zwei')}</target>", None),
        (f"<target>{FIRST.format('Eins und zwei')}</target>", None),
    ],
)
def test_segments_of_xliff_are_filled_in_one_by_one(
    tmp_path: Path, target: str, filled_in: str | None
) -> None:
    document = SEGMENTED.format(target)
    filled = translated(tmp_path, "a.xlf", document)
    assert (filled.units, filled.before) == ((1, 0) if filled_in else (0, 1))
    written = filled.document.decode()
    if filled_in is None:
        assert written == document
    else:
        new = re.search(r"<target[^>]*>.*</target>", written, re.DOTALL)
        assert new
        assert "".join(new[0].split("\n")).replace("  ", "") == f"<target {MARK_1}>{filled_in}</target>"


@pytest.mark.parametrize("mid", ["", ' mid="1"'])
def test_segments_that_cannot_be_told_apart_are_filled_in_together_or_not_at_all(
    tmp_path: Path, mid: str
) -> None:
    document = re.sub(' mid="[12]"', mid, SEGMENTED)
    whole = translated(tmp_path, "a.xlf", document.format("")).document.decode()
    assert f'<target {MARK_1}>ONE. <g id="1">TWO</g></target>' in whole
    half = document.format(f'<target><mrk mtype="seg"{mid}>Eins.</mrk> <mrk mtype="seg"{mid}/></target>')
    assert translated(tmp_path, "a.xlf", half).document.decode() == half


@pytest.mark.parametrize(
    ("name", "document", "other"),
    [
        ("a.po", 'msgid ""\nmsgstr ""\n"Language: {}\\n"\n\nmsgid "a"\nmsgstr ""\n', "fr"),
        ("a.xlf", XLIFF_1.format("", "", "").replace('"de"', '"{}"'), "pt-BR"),
    ],
)
def test_a_document_of_another_language_than_the_model_is_refused(
    tmp_path: Path, name: str, document: str, other: str
) -> None:
    file = tmp_path / name
    file.write_text(document.format(other), encoding="utf-8")
    with pytest.raises(DataError, match=f"to be translated from en to {other}") as caught:
        read_document(file).refuse_other_languages(EN_DE)
    with pytest.raises(DataError, match=f"to be translated from (en|eng) to {other}"):
        read_document(file).refuse_other_languages(("eng", "deu"))
    assert f"--languages en {other}" in caught.value.hint
    assert read_document(file, ("en", other)).texts
    for fits in (("en", other), ("eng", other), ("en", "raw"), ("", "")):
        read_document(file).refuse_other_languages(fits)
    for own in ("de_AT", "de@formal", "deu", "x"):
        file.write_text(document.format(own), encoding="utf-8")
        read_document(file).refuse_other_languages(EN_DE)
        read_document(file).refuse_other_languages(("eng", "ger"))


@pytest.mark.parametrize(
    ("name", "document"),
    [
        ("a.po", 'msgid ""\nmsgstr ""\n"Language: de\\n"\n\nmsgid "a"\nmsgstr ""\n'),
        ("a.xlf", XLIFF_1.format("", "", "").replace(' target-language="de"', "")),
    ],
)
def test_a_document_that_names_one_language_is_refused_with_both(
    tmp_path: Path, name: str, document: str
) -> None:
    file = tmp_path / name
    file.write_text(document, encoding="utf-8")
    read_document(file).refuse_other_languages(EN_DE)
    with pytest.raises(DataError, match="from en to de") as caught:
        read_document(file).refuse_other_languages(("de", "en"))
    assert caught.value.hint.endswith("--languages en de")


def test_every_part_of_xliff_is_in_the_languages_of_the_model(tmp_path: Path) -> None:
    file = tmp_path / "a.xlf"
    part = '<file source-language="en" target-language="{}"><body/></file>'
    file.write_text(f"<xliff version='1.2'>{part.format('de')}{part.format('fr')}</xliff>", encoding="utf-8")
    with pytest.raises(DataError, match="from en to fr"):
        read_document(file).refuse_other_languages(EN_DE)


@pytest.mark.parametrize(
    ("name", "document"),
    [
        ("a.xlf", XLIFF_1.format("", "", "")),
        (
            "b.xlf",
            '<xliff version="2.0" srcLang="en" trgLang="de"><unit id="1">'
            "<segment><source>a</source></segment><segment><source>b</source><target>B</target></segment></unit></xliff>",
        ),
        (
            "a.tmx",
            '<tmx><body><tu><tuv xml:lang="en"><seg>a</seg></tuv></tu>'
            '<tu><tuv xml:lang="en"><seg>b</seg></tuv>'
            '<tuv xml:lang="de"><seg>B</seg></tuv></tu></body></tmx>',
        ),
        ("a.po", 'msgid "a"\nmsgstr ""\n\nmsgid "b"\nmsgstr "B"\n'),
    ],
)
def test_a_model_does_not_learn_from_what_it_has_filled_in(tmp_path: Path, name: str, document: str) -> None:
    assert translated(tmp_path, name, document).units
    (tmp_path / name).write_bytes(translated(tmp_path, name, document).document)
    left_out: list[str] = []
    pairs = list(open_pairs([tmp_path / name], languages=EN_DE, on_bad=lambda bad: left_out.append(bad.kind)))
    assert [(pair.src, pair.tgt) for pair in pairs] == [("b", "B")]
    assert set(left_out) <= {"unfinished", "fuzzy", "untranslated"}
    assert {"unfinished", "fuzzy"} & set(left_out)


def test_a_catalogue_of_another_language_is_not_read(tmp_path: Path) -> None:
    file = tmp_path / "fr.po"
    file.write_text('msgid ""\nmsgstr ""\n"Language: fr\\n"\n\nmsgid "a"\nmsgstr "b"\n', encoding="utf-8")
    with pytest.raises(DataError, match="This catalogue is in fr, not in de"):
        list(open_pairs([file], languages=EN_DE))
    for fits in (("en", "fr"), ("eng", "fra"), None):
        assert len(list(open_pairs([file], languages=fits))) == 1


def test_documents_of_two_languages_are_not_mixed(tmp_path: Path) -> None:
    files = []
    for language in ("de", "de_CH", "fr"):
        files.append(str(tmp_path / f"{language}.po"))
        Path(files[-1]).write_text(f'msgid ""\nmsgstr ""\n"Language: {language}\\n"\n', encoding="utf-8")
    xliff = tmp_path / "a.xlf"
    xliff.write_text(XLIFF_1.format("", "", ""), encoding="utf-8")
    refuse_mixed([*files[:2], str(xliff), "plain.txt"])
    for mixed in (files, [files[2], str(xliff)]):
        with pytest.raises(DataError, match=r"different languages: (de and fr|fr and de)"):
            refuse_mixed(mixed)


def test_of_the_tags_that_a_model_loses_those_without_text_go_behind_it(tmp_path: Path) -> None:
    filled = translated(tmp_path, "a.xlf", XLIFF_1.format("", "", ""), forgets)
    ET.fromstring(filled.document)
    assert 'words &amp; more &lt;<ph id="2">&lt;br/&gt;</ph></target>' in filled.document.decode()
    assert filled.detached == [3]


INLINE = st.recursive(
    st.one_of(
        WORDS.map(escape),
        st.sampled_from(['<x id="1"/>', "<!-- a > b -->", '<ph id="2">code &lt; <sub>q</sub></ph>']),
        st.text("ab<&]", max_size=5).filter(lambda t: "]]>" not in t).map(lambda t: f"<![CDATA[{t}]]>"),
    ),
    lambda inner: st.tuples(WORDS, st.lists(inner, max_size=3)).map(
        lambda found: f"<g id={quoteattr(found[0])}>{''.join(found[1])}</g>"
    ),
    max_leaves=8,
)
OPAQUE = frozenset({"ph"})


@given(st.lists(INLINE, max_size=4).map("".join))
def test_any_segment_is_written_as_it_was_read(content: str) -> None:
    segment = Segment(content, OPAQUE)
    as_text = "".join(ET.fromstring(f"<s>{content}</s>").itertext())
    written, detached = segment.written(segment.sources)
    assert not detached
    ET.fromstring(f"<s>{written}</s>")
    same = "".join(ET.fromstring(f"<s>{written}</s>").itertext())
    assert same.split() == as_text.split()
    if not segment.has_text:
        return
    source = " ".join(segment.sources)
    tags = re.findall(r"</?[xyz]\d+/?>", source)
    known = {kept.literal for kept in find_placeholders(source, ("tags",))}
    assert all(any(tag in literal for literal in known) for tag in tags[:10])


@given(st.lists(INLINE, max_size=4).map("".join), WORDS)
def test_any_output_makes_whole_xml(content: str, output: str) -> None:
    segment = Segment(content, OPAQUE)
    ET.fromstring(f"<s>{segment.written([output] * len(segment.sources)).xml}</s>")


SPACE = st.sampled_from(["", "\n  ", "\r\n\t", "<!-- </unit> -->", " <?x y?> "])
UNITS = st.lists(
    st.tuples(st.lists(INLINE, max_size=3).map("".join), st.booleans(), SPACE, SPACE), min_size=1, max_size=5
)
FILLED_TARGET = re.compile(
    r'(?:\r?\n[ \t]*)?<target [^>]*state-qualifier="mt-suggestion">.*?</target>', re.DOTALL
)
FILLED_TUV = re.compile(r'(?:\r?\n[ \t]*)?<tuv [^>]*creationid="MT!Dragoman">.*?</tuv>', re.DOTALL)


@given(UNITS, st.sampled_from([shout, forgets]))
def test_any_xliff_and_tmx_are_kept_byte_for_byte_around_what_is_filled_in(
    tmp_path_factory: pytest.TempPathFactory, units: list[tuple[str, bool, str, str]], model: Any
) -> None:
    folder = tmp_path_factory.mktemp("xml")
    xliff, tmx = "", ""
    for n, (content, is_done, a, b) in enumerate(units):
        done = f"<target>{content} &#233;</target>" if is_done else ""
        xliff += f"{a}<trans-unit id='{n}' ><source>{content}</source>{b}{done}<note>&lt;</note></trans-unit>"
        done = f'<tuv xml:lang="de"><seg>{content} &#233;</seg></tuv>' if is_done else ""
        tmx += f"{a}<tu tuid='{n}'>{b}<tuv xml:lang=\"en\"><seg>{content}</seg></tuv>{a}{done}{b}</tu>"
    head = '<xliff version="1.2"><file source-language="en" target-language="de"><body>'
    for name, document, of_model in (
        ("a.xlf", f"{head}{xliff}</body></file></xliff>\n", FILLED_TARGET),
        ("a.tmx", f'<tmx version="1.4"><header srclang="en"/><body>{tmx}</body></tmx>', FILLED_TUV),
    ):
        filled = translated(folder, name, document, model)
        written = filled.document.decode()
        assert len(of_model.findall(written)) == filled.units <= sum(not unit[1] for unit in units)
        assert of_model.sub("", written) == document
        assert translated(folder, name, document, silent).document.decode() == document


# ---- TMX


def test_tmx(tmp_path: Path) -> None:
    document = """<tmx version="1.4"><header srclang="en"/><body>
 <tu>
  <tuv xml:lang="en-GB"><seg>a <bpt i="1">&lt;b&gt;</bpt>c<ept i="1">&lt;/b&gt;</ept></seg></tuv>{0}
 </tu>
 <tu><tuv xml:lang="en"><seg>q</seg></tuv><tuv xml:lang="de"><seg>q</seg></tuv></tu>
 <tu><tuv lang="fr"><seg>q</seg></tuv></tu>
</body></tmx>"""
    filled = translated(tmp_path, "a.tmx", document.format(""))
    assert (filled.units, filled.before, filled.others) == (1, 1, 1)
    new = 'A <bpt i="1">&lt;b&gt;</bpt>C<ept i="1">&lt;/b&gt;</ept>'
    expected = document.format(f'\n  <tuv xml:lang="de" creationid="MT!Dragoman"><seg>{new}</seg></tuv>')
    assert filled.document.decode() == expected
    (tmp_path / "b.tmx").write_bytes(filled.document.replace(b' creationid="MT!Dragoman"', b""))  # reviewed
    pairs = list(open_pairs([tmp_path / "b.tmx"], languages=EN_DE, on_bad=lambda _: None))
    assert [(pair.src, pair.tgt) for pair in pairs] == [("a c", "A C"), ("q", "q")]


@pytest.mark.parametrize("seg", ["<seg></seg>", "<seg/>", "<seg> </seg>"])
def test_a_memory_with_an_empty_segment_in_the_target_language_is_filled_in(tmp_path: Path, seg: str) -> None:
    document = (
        '<tmx><body><tu><tuv xml:lang="en"><seg>a</seg></tuv><tuv xml:lang="de" {}usagecount="1">'
        "<note>n</note>{}</tuv></tu></body></tmx>"
    )
    filled = translated(tmp_path, "a.tmx", document.format('creationid="me" ', seg))
    assert (filled.units, filled.before) == (1, 0)
    tuv = '<tuv creationid="MT!Dragoman" xml:lang="de"'
    expected = document.format("", "<seg>A</seg>").replace('<tuv xml:lang="de"', tuv)
    assert filled.document.decode() == expected


def test_units_without_the_source_language_are_counted_apart(tmp_path: Path) -> None:
    unit = '<tu><tuv xml:lang="{}"><seg>{}</seg></tuv></tu>'
    units = unit.format("en", "a") + unit.format("fr", "b") + unit.format("en", " ")
    filled = translated(tmp_path, "a.tmx", f"<tmx><body>{units}</body></tmx>")
    assert (filled.units, filled.before, filled.others) == (1, 0, 2)


def test_a_tmx_needs_to_know_the_languages(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="several languages, and no source and target are given") as caught:
        translated(tmp_path, "a.tmx", "<tmx/>", languages=None)
    assert "--languages en de" in caught.value.hint


# ---- SRT


def test_srt_keeps_its_times_its_lines_and_its_speakers(tmp_path: Path) -> None:
    document = (
        "\ufeff1\r\n00:00:01,000 --> 00:00:02,000 X1:7\r\n{0}\r\n{1}\r\n\r\n"
        "2\r\n00:00:03,000 --> 00:00:04,000\r\n- Hi.\r\n- <i>{2}</i>\r\n\r\n"
        "3\r\n00:00:05,000 --> 00:00:06,000\r\n\r\n"
    )
    filled = translated(tmp_path, "a.srt", document.format("Hello there you", "my friend.", "Ho."))
    assert filled.units == 2
    expected = document.format("HELLO THERE YOU", "MY FRIEND.", "HO.").replace("- Hi.", "- HI.")
    assert filled.document.decode() == expected


def test_srt_without_blank_lines_and_with_blank_lines_in_a_cue(tmp_path: Path) -> None:
    document = (
        "1\n00:00:01,000 --> 00:00:02,000\n{0}\n2\n00:00:02,000 --> 00:00:03,000\n{1}\n\n{2}\n\n"
        "3\n00:00:04,000 --> 00:00:05,000\n42\n"
    )
    filled = translated(tmp_path, "a.srt", document.format("Hello", "One", "two more"))
    assert filled.document.decode() == document.format("HELLO", "ONE", "TWO MORE")
    assert filled.units == 4


def test_the_dash_of_a_speaker_is_kept_whatever_the_model(tmp_path: Path) -> None:
    document = "1\n00:00:01,000 --> 00:00:02,000\n- {0}\n- {1}\n\n2\n00:00:03,000 --> 00:00:04,000\n– {2}\n"
    given: list[str] = []

    def translate(sources: Sequence[str]) -> list[str]:
        given.extend(sources)
        return [f"<{source}>" for source in sources]

    filled = translated(
        tmp_path, "a.srt", document.format("I don't know.", "Neither do I.", "Go!"), translate
    )
    assert given == ["I don't know.", "Neither do I.", "Go!"]
    assert filled.document.decode() == document.format("<I don't know.>", "<Neither do I.>", "<Go!>")


@pytest.mark.parametrize(
    ("lines", "sources"),
    [
        (["- 3 o'clock?", "- No, 5."], ["3 o'clock?", "No, 5."]),
        (["--What?", "—Nothing."], ["What?", "Nothing."]),
        (["It is", "-5 degrees."], ["It is -5 degrees."]),
        (["-5 degrees."], ["-5 degrees."]),
        (["- Hi.", "you"], ["- Hi. you"]),
    ],
)
def test_a_dash_is_a_speakers_unless_it_is_a_sign(
    tmp_path: Path, lines: list[str], sources: list[str]
) -> None:
    given: list[str] = []

    def translate(texts: Sequence[str]) -> list[str]:
        given.extend(texts)
        return list(texts)

    document = "1\n00:00:01,000 --> 00:00:02,000\n" + "\n".join(lines) + "\n"
    translated(tmp_path, "a.srt", document, translate)
    assert given == sources


def test_srt_with_a_shorter_translation_has_fewer_lines(tmp_path: Path) -> None:
    document = "1\n00:00:01,000 --> 00:00:02,000\nHello\nmy friend."
    filled = translated(tmp_path, "a.srt", document, lambda sources: ["Hi" for _ in sources])
    assert filled.document.decode() == "1\n00:00:01,000 --> 00:00:02,000\nHi"


@given(WORDS, st.integers(1, 4))
def test_lines_of_a_cue_hold_all_words(text: str, most: int) -> None:
    rows = balanced(text, most)
    assert " ".join(rows).split() == text.split()
    assert len(rows) <= most


@given(st.lists(st.tuples(WORDS, st.integers(0, 2)), max_size=4))
def test_any_srt_without_translations_comes_back(
    tmp_path_factory: pytest.TempPathFactory, cues: list[tuple[str, int]]
) -> None:
    document = "\n".join(
        f"{n}\n00:00:0{n},000 --> 00:00:0{n},500\n" + f"{text}\n" * lines
        for n, (text, lines) in enumerate(cues)
    )
    assert translated(tmp_path_factory.mktemp("srt"), "a.srt", document, silent).document.decode() == document


# ---- all of them


@pytest.mark.parametrize("suffix", sorted(KINDS))
def test_what_is_not_utf_8_is_refused_in_words(tmp_path: Path, suffix: str) -> None:
    with pytest.raises(DataError, match="not UTF-8"):
        translated(tmp_path, f"a{suffix}", b"\xff\xfe\x00\xd8\xff")


def test_a_bomb_is_refused(tmp_path: Path) -> None:
    bomb = '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><xliff>&b;</xliff>'
    with pytest.raises(DataError, match="entity"):
        translated(tmp_path, "a.xlf", bomb)


@pytest.mark.parametrize(
    ("name", "document"),
    [
        ("a.po", 'msgid "a"\nmsgstr ""\n'),
        ("a.xlf", XLIFF_1.format("", "", "")),
        ("a.tmx", '<tmx><body><tu><tuv xml:lang="en"><seg>a</seg></tuv></tu></body></tmx>'),
        ("a.srt", "1\n00:00:01,000 --> 00:00:02,000\n- a\n- b\n"),
    ],
)
def test_no_control_that_a_model_writes_gets_into_a_document(
    tmp_path: Path, name: str, document: str
) -> None:
    """A model of bytes wrote the EOT that gettext refuses; a line break would end a cue."""
    written = "one\x04two\n\nthree\x00\x1b\u2028\x85 four"
    filled = translated(tmp_path, name, document, lambda sources: [written] * len(sources))
    assert "one two three four" in filled.document.decode().replace("  ", " ")
    assert filled.document.count(b"\n\n") == document.count("\n\n")
    assert not {0, 4, 27} & set(filled.document)


@pytest.mark.parametrize(
    ("name", "content", "encoding"),
    [
        ("a.srt", "1\n00:00:01,000 --> 00:00:02,000\nHello".encode("utf-16"), "UTF-16"),
        ("a.srt", "1\n00:00:01,000 --> 00:00:02,000\nHello".encode("utf-16-le"), "UTF-16LE"),
    ],
)
def test_a_document_in_another_encoding_is_refused(
    tmp_path: Path, name: str, content: bytes, encoding: str
) -> None:
    with pytest.raises(DataError, match=f"looks like {encoding}, not UTF-8") as caught:
        translated(tmp_path, name, content)
    assert f"iconv -f {encoding} -t UTF-8" in caught.value.hint


@pytest.mark.skipif(not shutil.which("xmllint"), reason="needs Debian's libxml2-utils")
def test_xml_in_utf_16_is_refused_with_the_command_that_converts_it(tmp_path: Path) -> None:
    """Also what it declares, so that the result is read."""
    content = '<?xml version="1.0" encoding="UTF-16"?><tmx><body/></tmx>'.encode("utf-16")
    with pytest.raises(DataError, match="looks like UTF-16") as caught:
        translated(tmp_path, "a.tmx", content)
    subprocess.run(caught.value.hint, shell=True, check=True, cwd=tmp_path)
    assert not read_document(tmp_path / "utf8-a.tmx", ("en", "de")).texts


@pytest.mark.parametrize(
    ("name", "content", "encoding"),
    [
        ("a.po", 'msgid ""\nmsgstr "Content-Type: text/plain; charset={}\\n"\n# Grüße\n', "ISO-8859-1"),
        ("a.xlf", "<?xml version='1.0' encoding='{}'?><xliff>Grüße</xliff>", "windows-1252"),
        ("a.tmx", '<?xml version="1.0" encoding="{}"?><tmx/>', "US-ASCII"),
    ],
)
def test_a_document_that_declares_another_encoding_is_refused_with_what_converts_both(
    tmp_path: Path, name: str, content: str, encoding: str
) -> None:
    """What is filled in would be UTF-8 among bytes that are read as something else."""
    for written in {encoding, "UTF-8"} if name == "a.po" else {encoding}:
        with pytest.raises(DataError, match=f"declares the encoding {encoding}") as caught:
            translated(tmp_path, name, content.format(encoding).encode(written))
    command = {
        "po": "msgconv --to-code=UTF-8",
        "xlf": "xmllint --encode UTF-8",
        "tmx": "xmllint --encode UTF-8",
    }
    assert caught.value.hint == f"{command[name[2:]]} {tmp_path / name} > utf8-{name}"


def test_a_po_with_a_mark_of_utf_8_keeps_it_in_front(tmp_path: Path) -> None:
    filled = translated(tmp_path, "a.po", b'\xef\xbb\xbfmsgid "a"\nmsgstr ""\n')
    mark = "# Machine translation by Dragoman\n#, fuzzy\n"
    assert filled.document.decode() == f'\ufeff{mark}msgid "a"\nmsgstr "A"\n'


def test_what_is_no_po_or_srt_is_refused_in_words(tmp_path: Path) -> None:
    for name, content in {"a.po": "Hello.\n", "b.po": 'msgid "a\nmsgstr ""\n', "a.srt": "Hello.\n"}.items():
        with pytest.raises(DataError, match=r"not valid in a PO file|no subtitles") as caught:
            translated(tmp_path, name, content)
        assert f"{name}:1" in caught.value.where


def test_a_segment_inside_a_segment_is_markup(tmp_path: Path) -> None:
    document = '<tmx><body><tu><tuv xml:lang="en"><seg>a<seg>b</seg>c</seg></tuv></tu></body></tmx>'
    filled = translated(tmp_path, "a.tmx", document)
    assert b"<seg>A<seg>B</seg>C</seg>" in filled.document


UNITS_OF = {
    "a.po": ('msgid ""\nmsgstr ""\n', '\nmsgid "A text, number {}"\nmsgstr ""\n', ""),
    "a.xlf": ("<xliff>", "<trans-unit id='{}'><source>A text</source></trans-unit>\n", "</xliff>"),
    "a.tmx": ("<tmx>", '<tu tuid="{}"><tuv xml:lang="en"><seg>A text</seg></tuv></tu>\n', "</tmx>"),
    "a.srt": ("", "{0}\n00:00:01,000 --> 00:00:02,000\nA text, number {0}\n\n", ""),
}


@pytest.mark.parametrize("name", UNITS_OF)
def test_memory_does_not_grow_with_the_units(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr("dragoman.documents.slots.BATCH", 20)
    monkeypatch.setattr("dragoman.documents.build.LARGEST", 100_000)
    monkeypatch.setattr("dragoman.documents.markup.CHUNK", 4096)
    head, unit, end = UNITS_OF[name]
    (tmp_path / name).write_text(head + "".join(map(unit.format, range(600))) + end, encoding="utf-8")
    tracemalloc.start()
    try:
        document = read_document(tmp_path / name, EN_DE)
        with (tmp_path / "out").open("wb") as out:
            filled = document.fill(out, lambda sources: list(map(Output, sources)))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert filled.units == 600
    assert peak < len(document.content) + 400_000
