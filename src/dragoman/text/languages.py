"""Selection of the source and the target among the languages or columns of a file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from dragoman.errors import DataError

Languages = tuple[str, str]  # source, target, as "en" or "pt-BR"

# Codes that count as column headings by themselves; short words of other data are seldom all in this list.
CODES = (
    "ar bg bn ca cs da de el en eo es et eu fa fi fr ga gl he hi hr hu hy id it ja ka kk ko lt lv mk mr ms "
    "nb nl nn pl pt ro ru sk sl sq sr sv sw ta te th tr uk ur uz vi zh"
)
KNOWN = frozenset(CODES.split())
NAMES = (  # of CODES
    "Arabic Bulgarian Bengali Catalan Czech Danish German Greek English Esperanto Spanish Estonian Basque "
    "Persian Finnish French Irish Galician Hebrew Hindi Croatian Hungarian Armenian Indonesian Italian "
    "Japanese Georgian Kazakh Korean Lithuanian Latvian Macedonian Marathi Malay Bokmål Dutch Nynorsk Polish "
    "Portuguese Romanian Russian Slovak Slovenian Albanian Serbian Swedish Swahili Tamil Telugu Thai Turkish "
    "Ukrainian Urdu Uzbek Vietnamese Chinese"
)
CODE_OF = dict(zip(NAMES.lower().split(), CODES.split(), strict=True))
ISO_639_1 = (
    "aa ab ae af ak am an ar as av ay az ba be bg bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv "
    "dz ee el en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie "
    "ig ii ik io is it iu ja jv ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv "
    "mg mh mi mk ml mn mr ms mt my na nb nd ne ng nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm "
    "rn ro ru rw sa sc sd se sg si sk sl sm sn so sq sr ss st su sv sw ta te tg th ti tk tl tn to tr ts "
    "tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu "
)
ISO_639_3 = (  # of ISO_639_1
    "aar abk ave afr aka amh arg ara asm ava aym aze bak bel bul bis bam ben bod bre bos cat che cha cos "
    "cre ces chu chv cym dan deu div dzo ewe ell eng epo spa est eus fas ful fin fij fao fra fry gle gla "
    "glg grn guj glv hau heb hin hmo hrv hat hun hye her ina ind ile ibo iii ipk ido isl ita iku jpn jav "
    "kat kon kik kua kaz kal khm kan kor kau kas kur kom cor kir lat ltz lug lim lin lao lit lub lav mlg "
    "mah mri mkd mal mon mar msa mlt mya nau nob nde nep ndo nld nno nor nbl nav nya oci oji orm ori oss "
    "pan pli pol pus por que roh run ron rus kin san srd snd sme sag sin slk slv smo sna som sqi srp ssw "
    "sot sun swe swa tam tel tgk tha tir tuk tgl tsn ton tur tso tat twi tah uig ukr urd uzb ven vie vol "
    "wln wol xho yid yor zha zho zul "
)
LANGUAGES = frozenset(ISO_639_1.split())
# Words of data are among these codes, as "fin" and "per", so they count as languages only where one is named.
SHORT_OF = dict(zip(ISO_639_3.split(), ISO_639_1.split(), strict=True)) | {
    "ger": "de", "fre": "fr", "dut": "nl", "cze": "cs", "gre": "el", "chi": "zh", "rum": "ro", "slo": "sk",
    "wel": "cy", "baq": "eu", "per": "fa", "arm": "hy", "ice": "is", "geo": "ka", "mac": "mk", "may": "ms",
    "bur": "my", "alb": "sq", "tib": "bo", "mao": "mi",
}  # fmt: skip
REGION = re.compile(r"[a-z]{2,3}-[a-z0-9]{2,8}")  # "pt-br"
SOURCES = frozenset({"source", "src", "source text", "original"})
TARGETS = frozenset({"target", "tgt", "trg", "target text", "translation"})


def code(name: str) -> str:
    """Normalise a language for comparison: "en_US" becomes "en-us", and "English" "en"."""
    name = name.strip().lower().replace("_", "-")
    return CODE_OF.get(name, name)


def matches_language(name: str, wanted: str) -> bool:
    """Return whether `name` is the wanted language; "en" matches any variety of English."""
    mine, theirs = code(name), code(wanted)
    return mine == theirs or mine.startswith(theirs + "-")


def base_language(name: str) -> str:
    """Return the code of a language without its variety: "de" for "de_AT", "deu" and "de@formal"."""
    base = code(name).replace("@", "-").partition("-")[0]
    return SHORT_OF.get(base, base)


def are_different(name: str, other: str) -> bool:
    """Return whether these are two languages for sure; "" and names that are not in the list may be any."""
    two = {base_language(name), base_language(other)}
    return len(two) == 2 and two <= LANGUAGES


@lru_cache(1024)  # a translation memory repeats its languages in each of a million units
def index_of(names: tuple[str, ...], wanted: str) -> int | None:
    """Return the index of the first exact match, or else of a variety, or else of the parent language."""
    exact = [code(name) == code(wanted) for name in names]
    kind = [matches_language(name, wanted) for name in names]
    parent = [bool(name) and matches_language(wanted, name) for name in names]
    return next((fits.index(True) for fits in (exact, kind, parent) if True in fits), None)


def is_heading(cells: Sequence[str], wanted: Languages | None) -> bool:
    """Return whether a row is a heading: of the wanted names, of source and target, or of languages.

    Among more than two columns, others may be beside two languages.
    """
    if wanted:
        return all(index_of(tuple(cells), name) is not None for name in wanted)
    names = [code(cell) for cell in cells]
    if SOURCES.intersection(names) and TARGETS.intersection(names):
        return True
    languages = languages_at(cells)
    return len(set(names)) == len(names) >= 2 and len(languages) in (2, len(names))


def languages_at(cells: Sequence[str]) -> list[int]:
    """Return the indices of the cells that are languages. A first column "id" beside others is none."""
    names = [code(cell) for cell in cells]
    found = [n for n, name in enumerate(names) if name in KNOWN or REGION.fullmatch(name)]
    return found[1:] if len(names) > 2 and names[0] == "id" else found


def columns_of(file: Path, names: Sequence[str], wanted: Languages | None) -> tuple[int, int]:
    """Return the indices of the source and the target column under this heading."""
    if wanted:
        places = [index_of(tuple(names), name) for name in wanted]
    elif len(names) == 2:
        places = [0, 1] if code(names[0]) not in TARGETS else [1, 0]
    elif len(languages := languages_at(names)) == 2:
        places = [*languages]
    else:
        known = [code(name) for name in names]
        places = [
            next((n for n, name in enumerate(known) if name in kind), None) for kind in (SOURCES, TARGETS)
        ]
    src, tgt = places
    if src is None or tgt is None or src == tgt:
        raise language_error(file, names, wanted)
    return src, tgt


def language_error(file: Path, names: Sequence[str], wanted: Languages | None) -> DataError:
    shown = ", ".join(name[:20] for name in names[:12])
    missing = (
        f"There is no {' and '.join(wanted)} in this file"
        if wanted
        else f"This file has {'more' if len(names) > 2 else 'fewer'} than two languages"
    )
    two = " ".join([name for name in names if name][:2]) or "en de"
    return DataError(
        f"{missing}: {shown}.",
        where=str(file),
        expected="the names of two of them",
        hint=f"Name the source and the target: --languages {two}",
    )
