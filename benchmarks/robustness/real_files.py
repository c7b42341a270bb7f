"""Real files of translation tools through `check`, `train` and `run`: what is read, filled in and kept.

    python -m benchmarks.robustness.real_files FOLDER [--train | --placeholders | --fill MODEL]

Packages of PyPI and Debian are downloaded to FOLDER (pip download, apt-get download), and their PO, XLIFF,
TMX, CSV and SRT files are checked. The TMX and CSV of packages are small: the Translate Toolkit writes large
ones, and XLIFF, of the largest PO. A model is trained on that PO. It fills in each document as it is, and
once more without its translations. What comes out must parse (msgfmt, polib, expat, srt), and must be byte
for byte what went in but for the units that were filled in. With --train, models of TMX, XLIFF and CSV are
trained, too.

With --placeholders, up to 22 strings with placeholders of each of ten packages of PyPI, Debian and npm go
through PO, XLIFF 1.2 and XLIFF 2, as often as there are ways to garble them: the model is a stand-in that
does so, and the code around it is the real one. Placeholders are found by a pattern of the package's style.

With --fill, a model from English to German fills in every second entry of the German catalogues of Django and
Sphinx, emptied, and gettext says what it makes of the entries.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))
VERBS: Any = importlib.import_module("hostile.verbs")
GARBLING: Any = importlib.import_module("support.garbling")
IN_DOCUMENTS: Any = importlib.import_module("support.placeholder_documents")
WHEELS = ("django==5.2.19", "weblate==5.4", "sphinx==9.0.4")
SOURCES = ("pysrt==1.1.2", "srt==3.5.3")
DEBIAN = ("php-symfony-validator", "php-symfony-security-core", "php-symfony-form")
TOOLS = ("polib", "translate-toolkit", "srt")
LICENCES = {
    "django": "BSD-3",
    "weblate": "GPL-3",
    "sphinx": "BSD-2",
    "pysrt": "GPL-3",
    "srt": "MIT",
    "php": "MIT",
}
PATTERNS = (
    "django/**/locale/de/**/*.po",
    "weblate/weblate/locale/de/**/*.po",
    "weblate/weblate/trans/tests/data/*.*",
    "sphinx/**/locale/de/**/*.po",
    "pysrt/**/*.srt",
    "srt/**/*.srt",
    "php-*/**/*.de.xlf",
)
KINDS = (".po", ".xlf", ".xliff", ".tmx", ".csv", ".srt")
SETTINGS = (
    "model.preset=transformer-tiny",
    "text.size=1000",
    "training.updates=30",
    "training.validate_every=30",
    "training.valid_decode=20",
    "training.threads=1",
)
NPM = ("@uppy/locales@5.2.0", "@excalidraw/excalidraw@0.15.3", "@strapi/admin@4.15.0")
MORE_DEBIAN = ("qttranslations5-l10n", "util-linux-locales", "redmine")
PYTHON = r"%\(\w+\)[a-z]|%[srd]"
ICU_MESSAGE = r"\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\}|</?\w+>"
# Where the strings of a package are, and the style of its placeholders.
STYLES = {
    "django": ("**/locale/de/**/django.po", rf"{PYTHON}|\{{\{{[^}}]*\}}\}}|</?[a-z][^<>]*>"),
    "sphinx": ("**/locale/de/**/*.po", PYTHON),
    "weblate": ("**/locale/de/**/django.po", rf"{PYTHON}|\{{\w*\}}|</?[a-z][^<>]*>"),
    "php-symfony-validator": ("**/*.de.xlf", r"\{\{ \w+ \}\}|%\w+%"),
    "qttranslations5-l10n": ("**/qtbase_de.qm", r"%L?\d|%n|</?[a-z]+>"),
    "util-linux-locales": ("**/de/**/util-linux.mo", r"%%|%[-+#0-9.*lhzjt$']*[a-zA-Z]"),
    "redmine": ("usr/**/config/locales/en.yml", r"%\{\w+\}|</?[a-z]+>"),
    "uppy-locales": ("**/lib/en_US.js", r"%\{\w+\}"),
    "excalidraw-excalidraw": ("**/excalidraw.production.min.js", r"\{\{\w+\}\}"),
    "strapi-admin": ("**/translations/en.json", ICU_MESSAGE),
}
OF_EACH = 22
QUICK = ("search.kind=greedy", "search.max_length=8")


class Filled(NamedTuple):
    units: int
    of: int
    changed: int  # bytes outside of them
    fault: str


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, help="where packages, tools and models go")
    parser.add_argument(
        "--train", action="store_true", help="train on the largest file of the other kinds, too"
    )
    parser.add_argument("--fill", type=Path, metavar="MODEL", help="fill in half of Django's and Sphinx's PO")
    parser.add_argument("--placeholders", action="store_true", help="strings of ten packages, garbled")
    args = parser.parse_args()
    folder = args.folder.resolve()
    if args.placeholders:
        return placeholders(folder)
    if args.fill:
        return catalogues(folder, args.fill.resolve())
    files = [*downloaded(folder), *converted(folder)]
    largest = largest_of_each(files)
    model = trained(largest.pop("po"), folder)
    faults = 0
    print("| File | Package | Licence | Pairs | check | Filled in | and without translations | Other bytes |")
    print("|---|---|---|---|---|---|---|---|")
    for file in files:
        verdict, pairs = checked(file)
        results = list(documents(file, model, folder)) if file.suffix != ".csv" else []
        shown = [f"{one.units} of {one.of}" if not one.fault else one.fault for one in results]
        changed = sum(one.changed for one in results)
        faults += bool(changed)
        cells = [
            *described(file, folder),
            str(pairs),
            verdict,
            *shown,
            *["–"] * (2 - len(shown)),
            str(changed),
        ]
        print(f"| {' | '.join(cells)} |", flush=True)
    for file in largest.values() if args.train else ():
        trained(file, folder)
    return int(faults > 0)


# ---- files


def downloaded(folder: Path) -> list[Path]:
    """Each package in a folder of its own, below packages/."""
    packages, archives = folder / "packages", folder / "archives"
    if not packages.is_dir():
        archives.mkdir(parents=True, exist_ok=True)
        pip = [sys.executable, "-m", "pip", "-q"]
        binary = ["--no-deps", "--ignore-requires-python", "--only-binary=:all:"]
        run([*pip, "download", *binary, *WHEELS, "-d", str(archives)])
        source = ["--no-deps", "--no-build-isolation", "--no-binary=:all:"]
        run([*pip, "download", *source, *SOURCES, "-d", str(archives)])
        run(["apt-get", "-q", "download", *DEBIAN], cwd=archives)
        run([*pip, "install", "--target", str(folder / "tools"), *TOOLS])
        for archive in sorted(archives.iterdir()):
            unpack(archive, packages / re.split(r"[-_]\d", archive.name)[0].lower())
    found = [file for pattern in PATTERNS for file in sorted(packages.glob(pattern))]
    return [file for file in found if file.suffix in KINDS]


def unpack(archive: Path, home: Path) -> None:
    home.mkdir(parents=True, exist_ok=True)
    if archive.suffix == ".whl":
        zipfile.ZipFile(archive).extractall(home)
    elif archive.suffix == ".deb":
        run(["dpkg", "-x", str(archive), str(home)])
    else:
        with tarfile.open(archive) as source:
            source.extractall(home, filter="data")


def converted(folder: Path) -> Iterator[Path]:
    """The largest PO as the Translate Toolkit writes it in other formats."""
    po = folder / "packages" / "weblate" / "weblate" / "locale" / "de" / "LC_MESSAGES" / "django.po"
    home = folder / "converted"
    home.mkdir(exist_ok=True)
    for name, tool in {"weblate.tmx": "po2tmx", "weblate.xlf": "po2xliff", "weblate.csv": "po2csv"}.items():
        file = home / name
        if not file.is_file():
            languages = ["-l", "de"] if tool == "po2tmx" else []
            tools = {"PYTHONPATH": str(folder / "tools")}
            module = f"translate.convert.{tool}"
            run([sys.executable, "-m", module, "--progress=none", *languages, str(po), str(file)], tools)
        yield file


def run(command: list[str], env: dict[str, str] | None = None, cwd: Path | None = None) -> str:
    done = subprocess.run(
        command,
        cwd=cwd,
        env={**os.environ, **(env or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stdout[-2000:]}")
    return done.stdout


def described(file: Path, folder: Path) -> list[str]:
    below = file.relative_to(folder).parts
    if below[0] == "converted":
        return [file.name, "weblate, by translate-toolkit", LICENCES["weblate"]]
    return ["/".join(below[-4:]), below[1], LICENCES[below[1].partition("-")[0]]]


# ---- check


def languages_of(file: Path) -> list[str]:
    """Of those that have several languages."""
    return {"memory.tmx": ["--languages", "de", "en"], "weblate.tmx": ["--languages", "en", "de"]}.get(
        file.name, ["--languages", "en", "sc"] if file.suffix == ".tmx" else []
    )


def checked(file: Path) -> tuple[str, int]:
    if file.suffix == ".srt":
        return "–", 0  # it has one side
    driven = VERBS.drive("check", "--json", *languages_of(file), "--", str(file))
    report = json.loads(driven.out)
    words = "; ".join(fault["what"] for fault in report["faults"]["first"])
    return words or "good", int(report["pairs"])


# ---- run


def documents(file: Path, model: Path, folder: Path) -> Iterator[Filled]:
    """As it is, and without its translations."""
    work = folder / "work"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    for name, change in {"as-it-is": lambda raw: raw, "emptied": EMPTIED[file.suffix]}.items():
        given = work / f"{name}{file.suffix}"
        given.write_bytes(change(file.read_bytes()))
        yield filled(given, languages_of(file), model, folder)


def filled(given: Path, languages: list[str], model: Path, folder: Path) -> Filled:
    out = given.with_stem(f"{given.stem}-out")
    driven = VERBS.drive("run", str(model), "--file", str(given), "-o", str(out), *languages, *QUICK)
    counts = re.search(r"Translated ([\d,]+) of ([\d,]+) unit", driven.err)
    if driven.code or not counts:
        return Filled(0, 0, 0, driven.err.partition("\n")[0].removeprefix("error  "))
    units, of = (int(count.replace(",", "")) for count in counts.groups())
    before, after = given.read_bytes(), out.read_bytes()
    plain = PLAIN[given.suffix] if units else bytes  # where nothing was filled in, all is the same
    changed = different(plain(before), plain(after)) + rewritten(before, after, given.suffix)
    return Filled(units, of, changed, "" if parsed(given, folder) else parsed(out, folder))


def different(before: bytes, after: bytes) -> int:
    """Bytes that are not the same; all of them from the first on, if one is longer."""
    if len(before) == len(after):
        return sum(a != b for a, b in zip(before, after, strict=True))
    same = next((n for n, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), 0)
    return max(len(before), len(after)) - same


def rewritten(before: bytes, after: bytes, suffix: str) -> int:
    """Bytes of translations that were there before and are others now."""
    if suffix == ".po":
        pairs = zip(FORMS.finditer(before), FORMS.finditer(after), strict=True)
        return sum(len(old[0]) for old, new in pairs if old[0].count(b'"') > 2 and old[0] != new[0])
    old, new = (TARGET.findall(raw) if suffix in (".xlf", ".xliff") else [] for raw in (before, after))
    kept = [target for target in new if b"mt-suggestion" not in target and b"dragoman:mt" not in target]
    return sum(len(target) for target in kept if target not in old)


def parsed(out: Path, folder: Path) -> str:
    """What another program has against it; nothing may be added to what it had before."""
    tools = {"PYTHONPATH": str(folder / "tools")}
    try:
        match out.suffix:
            case ".po":
                run(["msgfmt", "--check-format", "-o", "/dev/null", str(out)])
                run([sys.executable, "-c", "import polib, sys; polib.pofile(sys.argv[1])", str(out)], tools)
            case ".srt":
                code = "import srt, sys; list(srt.parse(open(sys.argv[1], encoding='utf-8-sig')))"
                run([sys.executable, "-c", code, str(out)], tools)
            case _:
                ElementTree.parse(out)
    except (SystemExit, ElementTree.ParseError) as error:
        return f"does not parse: {str(error).strip()[-150:]}".replace("\n", " ")
    return ""


MSGSTR = rb'^(msgstr(?:\[\d+\])?) "[^\n]*"\r?\n(?:"[^\n]*"\r?\n)*'
FORMS = re.compile(MSGSTR, re.MULTILINE)
MACHINE = re.compile(
    rb"^# Machine translation by Dragoman[^\n]*\n(?:#, fuzzy\r?\n)?|(?<=^#,) fuzzy,(?= )", re.MULTILINE
)
NOTE = re.compile(rb'\s*<note from="Dragoman">[^<]*</note>')
TARGET = re.compile(rb"\s*<target[^>]*?(?:/>|>.*?</target>)", re.DOTALL)
VARIANT = re.compile(rb"\s*<tuv [^>]*creationid=\"MT!Dragoman\">.*?</tuv>", re.DOTALL)
TIMES = re.compile(rb"^\d+\s*\n[\d:,.]+ --> [\d:,.]+[^\n]*\n", re.MULTILINE)


def without_forms(raw: bytes) -> bytes:
    """A PO without translations; its header is kept."""
    head, header, rest = raw.partition(b'msgstr ""\n"')
    found = FORMS.sub(rb'\1 ""' + b"\n", rest if header else head)
    return (
        head + header + rest.partition(b"\n\n")[0] + b"\n\n" + found.partition(b"\n\n")[2]
        if header
        else found
    )


def without_target_language(raw: bytes) -> bytes:
    """A TMX in which each unit has its first language only."""
    return re.sub(rb"(</tuv>)\s*<tuv\b.*?(?=\s*</tu>)", rb"\1", raw, flags=re.DOTALL)


Change = Callable[[bytes], bytes]
EMPTIED: dict[str, Change] = {
    ".po": without_forms,
    ".xlf": lambda raw: TARGET.sub(b"", raw),
    ".xliff": lambda raw: TARGET.sub(b"", raw),
    ".tmx": without_target_language,
    ".srt": lambda raw: raw.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"),  # it has one side: in DOS lines
}
# What has to be the same before and after, however much was filled in.
PLAIN: dict[str, Change] = {
    ".po": lambda raw: FORMS.sub(b"", MACHINE.sub(b"", raw)),
    ".xlf": lambda raw: NOTE.sub(b"", TARGET.sub(b"", raw)),
    ".xliff": lambda raw: NOTE.sub(b"", TARGET.sub(b"", raw)),
    ".tmx": lambda raw: VARIANT.sub(b"", raw),
    ".srt": lambda raw: b"".join(TIMES.findall(raw)),
}


# ---- catalogues

FLAGS = re.compile(rb"^#, (.*)\n", re.MULTILINE)
SAID = "# Machine translation by Dragoman"


def catalogues(folder: Path, model: Path) -> int:
    """Return 1 if gettext does not see that a filled entry is fuzzy, or finds an error in it."""
    downloaded(folder)
    work, counts = folder / "work", Counter[str]()
    work.mkdir(exist_ok=True)
    for pattern in ("django/**/locale/de/**/*.po", "sphinx/**/locale/de/**/*.po"):
        for file in sorted((folder / "packages").glob(pattern)):
            given, out = work / "half.po", work / "half-out.po"
            given.write_bytes(half_emptied(file.read_bytes()))
            greedy = ["search.kind=greedy", "-o", str(out)]
            run([sys.executable, "-m", "dragoman", "run", str(model), str(given), *greedy])
            before, after = (run(["msgcat", "--no-wrap", str(po)]).split("\n\n") for po in (given, out))
            entries = [(old, new) for old, new in zip(before, after, strict=True) if is_empty(old)]
            plain = [new for old, new in entries if not STYLE.search(COMMENT.sub("", old))]
            fuzzy = run(["msgattrib", "--only-fuzzy", "--no-wrap", str(out)])
            counts += Counter(
                {
                    "emptied": len(entries),
                    "filled in": sum(not is_empty(new) for _, new in entries),
                    "without a placeholder": len(plain),
                    "of these filled in": sum(not is_empty(new) for new in plain),
                    "marked for msgcat": sum(SAID in new and "#, fuzzy" in new for _, new in entries),
                    "listed by msgattrib": fuzzy.count(SAID),
                }
            )
            run(["msgfmt", "-c", "--use-fuzzy", "-o", "/dev/null", str(out)])  # raises SystemExit
    print(dict(counts))
    return int(len({counts[name] for name in ("filled in", "marked for msgcat", "listed by msgattrib")}) > 1)


COMMENT = re.compile(r"^#.*\n", re.MULTILINE)
STYLE = re.compile(rf'{PYTHON}|%|[{{}}<`&]|[$@:]\w|\\[nrt"]|://')  # what may be a placeholder


def is_empty(entry: str) -> bool:
    forms = re.findall(r'^msgstr(?:\[\d\])? (.*(?:\n".*)*)', entry, re.MULTILINE)
    return bool(forms) and all(form.strip() == '""' for form in forms) and "#~" not in entry


def half_emptied(raw: bytes) -> bytes:
    """Return a PO in which every second entry has no translation, and is not fuzzy."""
    head, *entries = raw.replace(b"\r\n", b"\n").strip().split(b"\n\n")
    entries = [entry for entry in entries if b"#~" not in entry]
    for n in range(0, len(entries), 2):
        entry = FORMS.sub(rb'\1 ""' + b"\n", entries[n] + b"\n").strip()
        entry = re.sub(rb"^#\| .*\n", b"", entry, flags=re.MULTILINE)
        entries[n] = FLAGS.sub(lambda found: without_fuzzy(found[1]), entry)
    return b"\n\n".join([head, *entries]) + b"\n"


def without_fuzzy(flags: bytes) -> bytes:
    others = [flag for flag in flags.split(b", ") if flag != b"fuzzy"]
    return b"#, " + b", ".join(others) + b"\n" if others else b""


# ---- placeholders


def placeholders(folder: Path) -> int:
    """Return 1 if a placeholder was lost without a flag or cut in half."""
    downloaded(folder)
    more = folder / "more"
    if not more.is_dir():
        archives = folder / "more-archives"
        archives.mkdir(exist_ok=True)
        run(["apt-get", "-q", "download", *MORE_DEBIAN], cwd=archives)
        run(["npm", "pack", "--silent", *NPM], cwd=archives)
        for archive in sorted(archives.iterdir()):
            unpack(archive, more / re.split(r"[-_]\d", archive.name)[0].lower())
    cases: list[tuple[str, str]] = []
    for package, (pattern, style) in STYLES.items():
        homes = (home / package for home in (folder / "packages", more))
        files = [file for home in homes for file in sorted(home.glob(pattern))]
        found = {text for file in files for text in strings(file) if re.search(style, text)}
        every = sorted(found)[:: max(1, len(found) // OF_EACH)][:OF_EACH]
        cases += [(text, style) for text in every]
        print(f"{package}: {len(every)} of {len(found)} strings, such as {every[0]!r}")
    verdicts = Counter[str]()
    ways = len(GARBLING.GARBLERS)
    for kind in IN_DOCUMENTS.FORMATS:
        for shift in range(ways):  # each string meets each way
            garbling = GARBLING.Garbling(shift=shift)
            for one in IN_DOCUMENTS.outcomes(cases, kind, folder, garbling):
                verdicts[one.verdict] += 1
                if one.verdict != "kept":
                    print(f"  {one.verdict} in {kind}: {one.source!r} → {one.target!r}")
    print(f"{len(cases)} strings, {ways} ways, {len(IN_DOCUMENTS.FORMATS)} formats: {dict(verdicts)}")
    return int(not set(verdicts) <= {"kept", "flagged"})


def strings(file: Path) -> list[str]:
    """Return the strings of one line that a catalogue has, in English."""
    match file.suffix:
        case ".mo":
            text = run(["msgunfmt", str(file)])
        case ".qm":
            text = run(["lconvert", "-of", "po", "-i", str(file)])
        case _:
            text = file.read_text(encoding="utf-8")
    if file.suffix == ".xlf":
        found = [
            "".join(one.itertext()) for one in ElementTree.fromstring(text).iter() if "source" in one.tag
        ]
    else:
        name = r"^msgid " if file.suffix in (".po", ".mo", ".qm") else r"[:,(] *"
        found = re.findall(rf'{name}"((?:[^"\\\n]|\\.)+)"', text, re.MULTILINE)
        found = [re.sub(r'\\(["\\])', r"\1", one) for one in found if not re.search(r"\\[nrtux]", one)]
    return [one.strip() for one in found]


# ---- train


def largest_of_each(files: list[Path]) -> dict[str, Path]:
    kinds = {".po": "po", ".xlf": "xliff", ".xliff": "xliff", ".tmx": "tmx", ".csv": "csv"}
    sizes: dict[str, Path] = {}
    for file in files:
        kind = kinds.get(file.suffix)
        if kind and (kind not in sizes or file.stat().st_size > sizes[kind].stat().st_size):
            sizes[kind] = file
    return sizes


def trained(file: Path, folder: Path) -> Path:
    """A model of it, which `run` loads soon."""
    out = folder / f"trained-{file.suffix[1:]}"
    if not out.is_dir():
        command = [sys.executable, "-m", "dragoman", "train", "--yes", "-o", str(out), *SETTINGS]
        said = run([*command, *languages_of(file), "--", str(file)])
        known = [line.strip() for line in said.splitlines() if re.match(r" *(data|dev) ", line)]
        print(f"trained on {file.name}: {' '.join(known)}\n", flush=True)
        run([sys.executable, "-m", "dragoman", "export", str(out), "--to", "ct2"])
    return out


if __name__ == "__main__":
    sys.exit(main())
