"""Translation memories and the files of translation tools: TMX, XLIFF, PO, CSV, headings, hostile XML."""

from __future__ import annotations

import csv
import gzip
import json
import time
import tracemalloc
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.cli.main import main
from dragoman.data.clean.check import check
from dragoman.data.pair import Pair
from dragoman.data.readers.bad_line import Skipped
from dragoman.data.readers.lines import LIMIT
from dragoman.data.readers.open_pairs import open_pairs
from dragoman.errors import DataError
from dragoman.text.languages import Languages

TMX = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE tmx SYSTEM "tmx14.dtd">
<tmx version="1.4">
<header srclang="en-US" creationtool="x" segtype="sentence"/>
<body>
{}
</body>
</tmx>
"""


def tu(**texts: str) -> str:
    variants = "".join(f'<tuv xml:lang="{name}"><seg>{text}</seg></tuv>' for name, text in texts.items())
    return f"<tu>{variants}</tu>"


def read(file: Path, text: str | bytes, languages: Languages | None = None) -> list[tuple[str, str]]:
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return [(pair.src, pair.tgt) for pair in open_pairs([file], languages=languages)]


def test_a_memory_gives_the_pairs_of_its_source_language(tmp_path: Path) -> None:
    text = TMX.format(tu(de="Hallo", en="Hello") + "\n" + tu(en="Two\n   lines", de="Zwei Zeilen"))
    pairs = [("Hello", "Hallo"), ("Two lines", "Zwei Zeilen")]
    assert read(tmp_path / "a.tmx", text) == pairs
    assert read(tmp_path / "b.tmx.gz", gzip.compress(text.encode())) == pairs
    utf16 = text.replace("UTF-8", "UTF-16").encode("utf-16")
    assert read(tmp_path / "c.TMX", utf16) == pairs
    turned = [(tgt, src) for src, tgt in pairs]
    assert read(tmp_path / "d.tmx", text, ("de", "en")) == turned


def test_marks_inside_a_segment_leave_its_text(tmp_path: Path) -> None:
    seg = 'A <bpt i="1">&lt;b&gt;</bpt>bold<ept i="1">&lt;/b&gt;</ept> <hi>word</hi> &amp; <ph x="2"/>more'
    assert read(tmp_path / "a.tmx", TMX.format(tu(en=seg, de="x"))) == [("A bold word & more", "x")]


def test_of_several_languages_two_are_named(tmp_path: Path) -> None:
    text = TMX.format(tu(en="cat", de="Katze", fr="chat") + tu(en="dog", fr="chien"))
    with pytest.raises(DataError, match="more than two languages") as error:
        read(tmp_path / "a.tmx", text)
    assert "--languages en de" in error.value.hint
    assert read(tmp_path / "a.tmx", text, ("fr", "en")) == [("chat", "cat"), ("chien", "dog")]
    skipped = Skipped()
    assert len(list(open_pairs([tmp_path / "a.tmx"], on_bad=skipped, languages=("en", "de")))) == 1
    assert skipped.passed == {"untranslated": 1}
    assert not skipped.count
    with pytest.raises(DataError, match="no es and en in this file: en, de, fr"):
        read(tmp_path / "a.tmx", text, ("es", "en"))


def test_a_folder_of_settings_names_the_languages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.tmx").write_text(TMX.format(tu(en="cat", de="Katze", fr="chat")), encoding="utf-8")
    corpus = '{ files = ["a.tmx"], languages = ["fr", "en"] }'
    (tmp_path / "dragoman.toml").write_text(f"[data]\ntrain = [{corpus}]\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path.parent)
    assert main(["check", tmp_path.name]) == 0
    assert "1 pair    fr → en" in capsys.readouterr().out


def test_xliff_1_2(tmp_path: Path) -> None:
    text = """<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">
    <file source-language="en" target-language="de" original="a" datatype="plaintext"><body>
    <trans-unit id="1"><source>Save <g id="1">the</g> file<x id="2"/></source><target>Datei speichern</target>
      <alt-trans><source>Wrong</source><target>Falsch</target></alt-trans></trans-unit>
    <trans-unit id="2"><source>Open</source></trans-unit>
    <trans-unit id="3"><source>Close</source><target state="needs-translation">Close</target></trans-unit>
    </body></file></xliff>"""
    file = tmp_path / "a.xlf"
    assert read(file, text) == [("Save the file", "Datei speichern")]
    assert read(file, text, ("de", "en")) == [("Datei speichern", "Save the file")]
    with pytest.raises(DataError, match="no fr and en"):
        read(file, text, ("fr", "en"))
    assert check([file]).passed == {"untranslated": 1, "unfinished": 1}


def test_xliff_2(tmp_path: Path) -> None:
    text = """<xliff xmlns="urn:oasis:names:tc:xliff:document:2.0" version="2.0" srcLang="en" trgLang="fr">
    <file id="f1"><unit id="1"><originalData><data id="d1">&lt;b&gt;</data></originalData>
    <segment state="translated"><source>A <pc id="1">big</pc> cat<ph id="2"/></source>
      <target>Un chat</target></segment>
    <segment state="initial"><source>B</source><target>B</target></segment></unit></file></xliff>"""
    assert read(tmp_path / "a.xliff", text) == [("A big cat", "Un chat")]


def test_po(tmp_path: Path) -> None:
    text = """# A comment
msgid ""
msgstr ""
"Content-Type: text/plain; charset=UTF-8\\n"

#: a.c:1
msgctxt "menu"
msgid "Say \\"hi\\"\\n"
msgstr ""
"Sag "
"\\"hallo\\"\\n"

#, fuzzy, c-format
msgid "%d old"
msgstr "%d alt"
msgid "one file"
msgid_plural "%d files"
msgstr[0] "eine Datei"
msgstr[1] "%d Dateien"

msgid "not yet"
msgstr ""

#~ msgid "gone"
#~ msgstr "weg"
"""
    pairs = [('Say "hi"', 'Sag "hallo"'), ("one file", "eine Datei"), ("%d files", "%d Dateien")]
    assert read(tmp_path / "a.po", text) == pairs
    assert check([tmp_path / "a.po"]).passed == {"fuzzy": 1, "untranslated": 1}
    with pytest.raises(DataError, match="not valid in a PO file") as error:
        read(tmp_path / "a.po", text + "\nnonsense\n")
    assert error.value.where.endswith("a.po:27")


def test_csv_with_and_without_headings(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    assert read(file, '"Hello, you",Hallo\n"two\nlines",zwei\n') == [
        ("Hello, you", "Hallo"),
        ("two\nlines", "zwei"),
    ]
    assert read(file, "id;Target;Source\n1;Hallo;Hello\n") == [("Hello", "Hallo")]
    assert read(file, "en,de\nHello,Hallo\n") == [("Hello", "Hallo")]
    assert read(file, "en,de,fr\nHello,Hallo,Salut\n", ("fr", "de")) == [("Salut", "Hallo")]
    assert read(file, "note,English\nx,Hello\n", ("note", "english")) == [("x", "Hello")]
    with pytest.raises(DataError, match="This row has 1 column") as error:
        read(file, "Hello,Hallo\nalone\n")
    assert error.value.where.endswith(":2")
    skipped = Skipped()
    file.write_bytes(b"\xff,x\nHello;a,Hallo\n")
    assert list(open_pairs([file], on_bad=skipped)) == [Pair("Hello;a", "Hallo", 2)]
    assert (skipped.count, skipped.first) == (1, f"{file}:1")
    with pytest.raises(DataError, match="no xx and yy"):
        read(file, "en,de\na,b\n", ("xx", "yy"))
    with pytest.raises(DataError, match="cannot be read: field larger"):
        read(file, 'a,b\nc,"' + "x\n" * 100_000)


def test_a_heading_of_tsv_is_left_out_and_short_words_are_not(tmp_path: Path) -> None:
    file = tmp_path / "a.tsv"
    assert read(file, "source\ttarget\na\tb\n") == [("a", "b")]
    assert read(file, "de\ten\nx\ty\n", ("en", "de")) == [("y", "x")]
    assert read(file, "cat\tkat\nin\tat\n") == [("cat", "kat"), ("in", "at")]


def test_headings_are_names_of_languages_among_other_columns(tmp_path: Path) -> None:
    csv_, tsv = tmp_path / "a.csv", tmp_path / "a.tsv"
    assert read(csv_, "English,German\na,b\n") == [("a", "b")]
    assert read(csv_, "id,de,note,en\n1,a,x,b\n") == [("a", "b")]
    assert read(tsv, "English\tGerman\tnote\na\tb\tx\n", ("de", "en")) == [("b", "a")]
    for heading in ("en,de,fr,note", "en,note,remark"):
        with pytest.raises(DataError) as error:
            read(csv_, f"{heading}\na,b,c,d\n")
        assert "--languages SOURCE TARGET" in error.value.hint


def test_jsonl_with_any_two_names(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    assert read(file, '{"source": "a", "target": "b", "id": 1}\n') == [("a", "b")]
    assert read(file, '{"id": 7, "en": "a", "de": "b"}\n{"de": "d", "en": "c"}\n') == [("a", "b"), ("c", "d")]
    three = json.dumps({"translation": {"en": "a", "de": "b", "fr": "c"}})
    assert read(file, three, ("fr", "en")) == [("c", "a")]


text_ = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cs", "Cc", "Cn", "Zl", "Zp", "Zs"]), min_size=1
)


@given(st.lists(st.tuples(text_, text_), min_size=1, max_size=8))
def test_what_is_written_is_read(
    tmp_path_factory: pytest.TempPathFactory, pairs: list[tuple[str, str]]
) -> None:
    folder = tmp_path_factory.mktemp("memories")
    units = "\n".join(tu(en=escape(src), de=escape(tgt)) for src, tgt in pairs)
    assert read(folder / "a.tmx", TMX.format(units)) == pairs
    entries = (
        f"msgid {json.dumps(s, ensure_ascii=False)}\nmsgstr {json.dumps(t, ensure_ascii=False)}\n"
        for s, t in pairs
    )
    assert read(folder / "a.po", "\n".join(entries)) == pairs
    with (folder / "a.csv").open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([("source", "target"), *pairs])
    assert [pair[:2] for pair in open_pairs([folder / "a.csv"])] == pairs


BILLION = '<!DOCTYPE a [<!ENTITY l "lol">' + "".join(
    f"<!ENTITY l{n} {quoteattr(('&l' + str(n - 1) * (n > 1) + ';') * 10)}>" for n in range(1, 9)
)
HOSTILE = {
    "billion laughs": (BILLION + "]><tmx>&l8;</tmx>", "declares an entity"),
    "outside file": (
        '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><tmx>&x;</tmx>',
        "declares an entity",
    ),
    "parameter entity": (
        '<!DOCTYPE a [<!ENTITY % x SYSTEM "http://a.b/x"> %x;]><tmx/>',
        "declares an entity",
    ),
    "unknown entity": ('<!DOCTYPE tmx SYSTEM "x.dtd"><tmx>&nbsp;</tmx>', "defined only in an external file"),
    "not closed": ("<tmx><body>", "not well-formed XML"),
    "deep": ("<a>" * 100_000, "elements are nested"),
    "long tag": (f"<tmx {'a' * 20_000_000}", "longer than|not well-formed XML"),
    "long comment": (f"<tmx><!-- {'a' * 20_000_000}", "longer than|not well-formed XML"),
    "bad utf-8": (b"<tmx>\xff\xfe\x00</tmx>", "not well-formed XML"),
    "unknown encoding": ('<?xml version="1.0" encoding="klingon"?><tmx/>', "encoding|not well-formed XML"),
    "empty": ("", "empty"),
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("suffix", ["tmx", "xlf"])
def test_hostile_xml_is_refused_in_words_and_in_time(tmp_path: Path, name: str, suffix: str) -> None:
    text, words = HOSTILE[name]
    began = time.monotonic()
    with pytest.raises(DataError, match=words) as error:
        read(tmp_path / f"a.{suffix}", text)
    assert error.value.where
    assert time.monotonic() - began < 2


def test_a_unit_of_endless_text_is_passed_over_in_little_memory(tmp_path: Path) -> None:
    file = tmp_path / "a.tmx"
    file.write_text(TMX.format(tu(en="a" * (30 * LIMIT), de="b") + tu(en="c", de="d")), encoding="utf-8")
    skipped = Skipped()
    tracemalloc.start()
    try:
        assert list(open_pairs([file], on_bad=skipped)) == [Pair("c", "d", 6)]
        assert tracemalloc.get_traced_memory()[1] < 8 * LIMIT
    finally:
        tracemalloc.stop()
    assert skipped.count == 1


def test_a_text_has_a_longest_length_unless_it_is_an_embedded_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dragoman.documents.markup.LONGEST_TEXT", 1 << 18)
    references = "&#120;" * 100_000
    with pytest.raises(DataError, match="text here is longer than 262,144 bytes"):
        read(tmp_path / "a.tmx", TMX.format(tu(en=references, de="b")))
    embedded = f"<header><skl><internal-file>{references}</internal-file></skl></header>"
    unit = "<body><trans-unit id='1'><source>a</source><target>b</target></trans-unit></body>"
    file = f"<file source-language='en' target-language='de'>{embedded}{unit}</file>"
    assert read(tmp_path / "a.xlf", f"<xliff version='1.2'>{file}</xliff>") == [("a", "b")]


def test_csv_that_is_bad_for_long_before_its_first_row_is_refused_in_words(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_bytes(b"\xff\n" * 100_001 + b"a,b\n")
    with pytest.raises(DataError, match="a row does not end"):
        list(open_pairs([file], on_bad=lambda bad: None))


def test_a_row_of_csv_has_an_end(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_bytes(b"a,b\n" + b'"\n",' * 200_000)
    with pytest.raises(DataError, match="a row does not end"):
        list(open_pairs([file]))


def test_an_entry_of_po_has_an_end(tmp_path: Path) -> None:
    file = tmp_path / "a.po"
    file.write_bytes(b'msgid ""\n' + b'"words"\n' * 200_000)
    with pytest.raises(DataError, match="longer than"):
        list(open_pairs([file]))


def test_a_declared_attribute_without_a_value_is_harmless(tmp_path: Path) -> None:
    subset = "<!DOCTYPE tmx [<!ATTLIST tu changedate CDATA {}>]><tmx>"
    good = "<tmx>" + TMX.partition('<tmx version="1.4">')[2].format(tu(en="a", de="b"))
    harmless = good.replace("<tmx>", subset.format("#IMPLIED"), 1)
    assert read(tmp_path / "a.tmx", harmless) == [("a", "b")]
    with pytest.raises(DataError, match="declares a default value"):
        read(tmp_path / "b.tmx", good.replace("<tmx>", subset.format('"x"'), 1))
