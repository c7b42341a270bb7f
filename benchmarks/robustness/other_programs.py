"""XLIFF and TMX as other programs write them: filled in, and read again by the same program.

    python -m benchmarks.robustness.other_programs FOLDER

Catalogues of Django and Sphinx in German, every second entry without its translation, are converted by the
Translate Toolkit (XLIFF 1.1, XLIFF 2, TMX), Qt's lconvert (XLIFF 1.2; Debian's qttools5-dev-tools) and npm's
xliff (XLIFF 1.2 and 2). What fills them in writes capitals, outside of placeholders and tags. The program
that wrote a file must then read the same sources, our targets where there was none, and the others as they
were; xmllint must find it well-formed, and the bytes around targets must be the same.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import sys
from collections.abc import Callable, Sequence
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

from benchmarks.robustness.real_files import PLAIN, TARGET, different, downloaded, run
from dragoman.documents.build import read_document
from dragoman.documents.slots import Filled, Output
from dragoman.steering.placeholders import DEFAULT_KINDS, find_placeholders

STATE = re.compile(rb'<segment state="\w+"(?: subState="dragoman:mt")?')
LAST_VARIANT = re.compile(rb"(</tuv>)\s*<tuv\b.*?</tuv>(?=\s*\Z)", re.DOTALL)
CATALOGUES = {
    "django": "django/django/conf/locale/de/LC_MESSAGES/django.po",
    "admin": "django/django/contrib/admin/locale/de/LC_MESSAGES/django.po",
    "sphinx": "sphinx/sphinx/locale/de/LC_MESSAGES/sphinx.po",
}
EN_DE = ("en", "de")
HALVED = """
import polib, sys
catalogue = polib.pofile(sys.argv[1])
for entry in catalogue[::2]:
    entry.msgstr, entry.msgstr_plural = "", {n: "" for n in entry.msgstr_plural}
catalogue.save(sys.argv[2])
"""
READ_PO = """
import json, polib, sys
print(json.dumps([[e.msgid, e.msgstr, "fuzzy" if e.fuzzy else ""] for e in polib.pofile(sys.argv[1])
                  if not e.obsolete and not e.msgid_plural]))
"""
READ_BY_TOOLKIT = """
import json, sys
from translate.storage import factory, xliff2
with open(sys.argv[1], "rb") as file:
    read = xliff2.Xliff2File.parsefile if file.name.endswith(".xliff") else factory.getobject
    units = [u for u in read(file).units if not u.isheader()]
print(json.dumps([[str(u.source), str(u.target or ""), "fuzzy" if u.isfuzzy() else ""] for u in units]))
"""
TO_XLIFF_2 = """
import polib, sys
from translate.storage.xliff2 import Xliff2File
store = Xliff2File(sourcelanguage="en", targetlanguage="de")
for number, entry in enumerate(polib.pofile(sys.argv[1])):
    unit = store.addsourceunit(entry.msgid)
    unit.setid(str(number))
    if entry.msgstr:
        unit.target = entry.msgstr
with open(sys.argv[2], "wb") as file:
    store.serialize(file)
"""
# Programs of Node: units with a target as objects, and back.
TO_NPM = """
const xliff = require("xliff"), fs = require("fs");
const units = JSON.parse(fs.readFileSync(process.argv[1]));
const unit = ([source, target], n) => ["u" + n, target ? {source, target} : {source}];
const one = Object.fromEntries(units.map(unit));
const all = {resources: {a: one}, sourceLanguage: "en", targetLanguage: "de"};
const written = VERSION === 1 ? xliff.jsToXliff12(all) : xliff.js2xliff(all);
written.then((text) => fs.writeFileSync(process.argv[2], text));
"""
READ_BY_NPM = """
const xliff = require("xliff"), fs = require("fs");
const text = fs.readFileSync(process.argv[1], "utf8");
(VERSION === 1 ? xliff.xliff12ToJs(text) : xliff.xliff2js(text)).then(({resources}) => {
  const units = Object.values(resources).flatMap((one) => Object.values(one));
  console.log(JSON.stringify(units.map(({source, target}) => [source, target || "", ""])));
});
"""

Unit = tuple[str, str, str]  # source, target, "fuzzy" where the program can tell


class Program(NamedTuple):
    name: str
    suffix: str
    write: Callable[[Path, Path], object]  # from a PO
    read: Callable[[Path], list[Unit]]
    says_fuzzy: bool
    keeps_breaks: bool = True  # it says that line breaks are no white space


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, help="where packages, tools and documents go")
    folder = parser.parse_args().folder.resolve()
    downloaded(folder)
    work = folder / "other_programs"
    work.mkdir(exist_ok=True)
    print("| Program | Catalogue | Units | Filled in | Read as meant | Other bytes | Well-formed |")
    print("|---|---|---|---|---|---|---|")
    faults = 0
    for program in programs(folder):
        for name, path in CATALOGUES.items():
            po, given = work / f"{name}.po", work / f"{name}-{program.name}.{program.suffix}"
            tool(folder, HALVED, folder / "packages" / path, po)
            program.write(po, given)
            faults += tried(program, name, given)
    return int(faults > 0)


def programs(folder: Path) -> list[Program]:
    def convert(module: str, *options: str) -> None:
        command = [sys.executable, "-m", f"translate.convert.{module}", "--progress=none", *options]
        run(command, {"PYTHONPATH": str(folder / "tools")})

    def toolkit(po: Path, out: Path) -> None:
        convert("po2xliff", str(po), str(out))

    def memory(po: Path, out: Path) -> None:
        """It has no units without a translation: every second one loses its own."""
        convert("po2tmx", "-l", "de", str(po), str(out))
        parts = out.read_bytes().split(b"</tu>")
        parts[::2] = (LAST_VARIANT.sub(rb"\1", part) for part in parts[::2])
        out.write_bytes(b"</tu>".join(parts))

    def by_toolkit(file: Path) -> list[Unit]:
        return units(tool(folder, READ_BY_TOOLKIT, file))

    def lconvert(po: Path, out: Path) -> None:
        run(["lconvert", "-i", str(po), "-o", str(out), "-source-language", "en"])

    def by_lconvert(file: Path) -> list[Unit]:
        back = file.with_suffix(".back.po")
        run(["lconvert", "-i", str(file), "-o", str(back)])
        return units(tool(folder, READ_PO, back))

    def npm(version: int) -> Program:
        def write(po: Path, out: Path) -> None:
            listed = out.with_suffix(".json")
            listed.write_text(tool(folder, READ_PO, po), encoding="utf-8")
            node(folder, TO_NPM, version, listed, out)

        def read(file: Path) -> list[Unit]:
            return units(node(folder, READ_BY_NPM, version, file))

        return Program(f"npm-{version}", "xlf", write, read, False, keeps_breaks=False)

    found = [
        Program("toolkit", "xlf", toolkit, by_toolkit, True),
        Program("toolkit-2", "xliff", lambda po, out: tool(folder, TO_XLIFF_2, po, out), by_toolkit, False),
        Program("toolkit", "tmx", memory, by_toolkit, False),
    ]
    if shutil.which("lconvert"):
        found.append(Program("lconvert", "xlf", lconvert, by_lconvert, True))
    if shutil.which("npm"):
        found += [npm(1), npm(2)]
    return found


def tool(folder: Path, program: str, *files: Path) -> str:
    """Run a program with the packages of the folder's tools."""
    return run([sys.executable, "-c", program, *map(str, files)], {"PYTHONPATH": str(folder / "tools")})


def node(folder: Path, program: str, version: int, *files: Path) -> str:
    if not (folder / "node_modules" / "xliff").is_dir():
        run(["npm", "install", "--no-save", "--prefix", str(folder), "xliff"])
    return run(["node", "-e", f"const VERSION = {version};{program}", *map(str, files)], cwd=folder)


def units(text: str) -> list[Unit]:
    return [(source, target, state) for source, target, state in json.loads(text)]


def tried(program: Program, name: str, given: Path) -> bool:
    """Print what became of a document; return whether anything is not as it should be."""
    out = given.with_stem(f"{given.stem}-out")
    filled = in_capitals(given, out)
    before, after = program.read(given), program.read(out)
    wrong = wrong_units(program, before, after)
    old, new = given.read_bytes(), out.read_bytes()
    plain = PLAIN[given.suffix] if given.suffix == ".tmx" else without_targets
    kept = set(TARGET.findall(new))
    lost = [target for target in TARGET.findall(old) if target not in kept and b"><" not in target]
    changed = different(plain(old), plain(new)) + sum(map(len, lost))
    run(["xmllint", "--noout", "--nonet", str(out)])
    is_good = not wrong and not changed and filled.units > 0
    of = len(after)
    cells = (f"{program.name} (.{program.suffix})", name, of, filled.units, of - len(wrong), changed, "yes")
    print(f"| {' | '.join(map(str, cells))} |", flush=True)
    for unit in wrong[:3]:
        print("   ", unit)
    return not is_good


def without_targets(raw: bytes) -> bytes:
    return STATE.sub(b"<segment", TARGET.sub(b"", raw))


def wrong_units(program: Program, before: Sequence[Unit], after: Sequence[Unit]) -> list[object]:
    if [unit[0] for unit in before] != [unit[0] for unit in after]:
        return [("other sources", len(before), len(after))]
    wrong: list[object] = []
    for (source, target, state), now in zip(before, after, strict=True):
        wanted = (source, target, state)
        if source.strip() and not target.strip():
            text = capitals(source) if program.keeps_breaks else " ".join(capitals(source).split())
            wanted = (source, text, "fuzzy" if program.says_fuzzy else state)
            now = now if program.keeps_breaks else (now[0], " ".join(now[1].split()), now[2])
        if now != wanted:
            wrong.append((now, wanted))
    return wrong


def in_capitals(given: Path, out: Path) -> Filled:
    sink = BytesIO()
    filled = read_document(given, EN_DE).fill(sink, lambda texts: [Output(capitals(text)) for text in texts])
    out.write_bytes(sink.getvalue())
    return filled


def capitals(text: str) -> str:
    kept = find_placeholders(text, DEFAULT_KINDS)
    parts, end = list[str](), 0
    for one in kept:
        parts += [text[end : one.begin].upper(), one.literal]
        end = one.end
    return "".join([*parts, text[end:].upper()])


if __name__ == "__main__":
    sys.exit(main())
