"""A package of ours in a real LibreTranslate without a network, beside the model itself; a line of JSON.

    python -m benchmarks.peers.libretranslate MODEL test.src [--languages en de] [--lines N] [--venv FOLDER]

An environment gets LibreTranslate from PyPI. In a network that is a loopback and nothing else (`unshare`, of
Linux), Argos Translate installs the .argosmodel of MODEL, a server of LibreTranslate starts and is asked each
line by HTTP. Each answer must be that of `dragoman.load(MODEL)`, told to search as Argos does:

- It cuts a line into sentences (by the rule of our package), and joins their outputs again.
- A beam of 4, length penalty 0.2, at least 1 token and at most 256, and no guard against loops.
- Weights stay float32. LibreTranslate leaves them as they are in a package, unless --compute-type says what
  ARGOS_COMPUTE_TYPE is to be: with int8 some answers should differ, which shows that differences are found.
- It writes a space for each underscore. LibreTranslate copies the line's last punctuation and its case onto
  an output; its own function does so to ours. `same_untouched` counts the answers that are ours without it.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import venv
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks.results import add_record, record
from dragoman.export.argos import Language, export_argos
from dragoman.inference.model import Model, load

ASK = Path(__file__).resolve().parent / "drivers" / "ask_libretranslate.py"
TORCH = "torch==2.13.0"  # which Argos asks for and we do not: any version, the smaller the better
SEARCH = {
    "kind": "beam",
    "size": 4,
    "n_best": 1,
    "length_penalty": 0.2,
    "length_norm": "power",
    "coverage_penalty": 0.0,
    "stop": "n_best",
    "min_length": 1,
    "max_length": 256,
    "no_repeat_ngram": 0,
    "guard": False,
}
END = re.compile(r"""(?<=[.!?…])[ ]|(?<=[.!?…]["'”’»)\]])[ ]|(?<=[。！？])""")
SHOWN = 5


def main() -> int:
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=form)
    parser.add_argument("model")
    parser.add_argument("source", type=Path, help="a text in the first language, one line each")
    parser.add_argument("--languages", nargs=2, default=["en", "de"], metavar=("FROM", "TO"))
    parser.add_argument("--lines", type=int, help="only so many (default: all)")
    parser.add_argument("--compute-type", default="auto", help="such as int8 (default: that of the package)")
    parser.add_argument("--venv", type=Path, metavar="FOLDER", help="use this environment, and leave it")
    add_record(parser)
    args = parser.parse_args()
    lines = read(args.source, args.lines)
    asked = {
        "languages": args.languages,
        "lines": lines,
        "ours": ours(load(args.model, runtime="torch"), lines),
    }
    with tempfile.TemporaryDirectory() as temporary:
        python = environment(args.venv or Path(temporary) / "venv")
        src, tgt = (Language(code, code) for code in args.languages)
        package = export_argos(args.model, Path(temporary), src, tgt, "1.0", "float32").path
        found = served(python, package, asked, args.compute_type)
    differences = compared(lines, found)
    theirs = found.pop("answers")
    found |= {"same": len(lines) - len(differences), "same_untouched": alike(theirs, asked["ours"])}
    del found["ours"]
    facts = {"benchmark": "libretranslate", "model": args.model, "compute_type": args.compute_type}
    print(json.dumps({**facts, "lines": len(lines), **found}))
    if args.record:
        record("libretranslate", len(lines) - len(differences), f"of {len(lines)}")
    for line, *texts in differences[:SHOWN]:
        print(f"\n{line}\nLibreTranslate  {texts[0]}\nDragoman        {texts[1]}")
    is_blocked = found["network"]["interfaces"] == ["lo"] and found["network"]["outside"] is not None
    return 0 if lines and is_blocked and not differences else 1


def read(file: Path, most: int | None) -> list[str]:
    """Lines with words in them: LibreTranslate takes no others."""
    with file.open(encoding="utf-8") as text:
        lines = (line.rstrip("\n") for line in text)
        return list(islice((line for line in lines if line.strip()), most))


def ours(model: Model, lines: list[str]) -> list[str]:
    """What Argos should write: the pieces of all sentences of a line make one text."""
    cut = [sentences(line) for line in lines]
    results = iter(model([sentence for row in cut for sentence in row], SEARCH))
    rows = [[id for _ in row for id in next(results).tokens] for row in cut]
    return [model.runtime.text.tgt.decode(row).replace("_", " ") for row in rows]


def sentences(line: str) -> list[str]:
    """What the splitter of our packages finds."""
    return [part.strip() for part in END.split(line) if part.strip()]


def environment(home: Path) -> Path:
    python = home.absolute() / "bin" / "python"
    if not python.exists():
        venv.create(home, with_pip=True)
        for name in (TORCH, "libretranslate"):
            subprocess.run([python, "-m", "pip", "install", "--quiet", name], check=True, stdout=sys.stderr)
    return python


def served(python: Path, package: Path, asked: dict[str, Any], compute_type: str) -> dict[str, Any]:
    """What the server says, and how it was asked."""
    folder = package.parent / "home"
    folder.mkdir()
    (folder / "index.json").write_text("[]")
    chosen = {
        "HOME": str(folder),
        "XDG_DATA_HOME": str(folder / "data"),
        "XDG_CONFIG_HOME": str(folder / "config"),
        "XDG_CACHE_HOME": str(folder / "cache"),
        "ARGOS_PACKAGES_DIR": str(folder / "packages"),
        "ARGOS_PACKAGE_INDEX": f"{folder.as_uri()}/",
        "ARGOS_COMPUTE_TYPE": compute_type,
    }
    alone = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "ARGOS"))}
    alone = {name: value for name, value in alone.items() if not name.lower().endswith("_proxy")}
    done = subprocess.run(
        ["unshare", "--net", "--map-root-user", python, ASK, package, folder],
        input=json.dumps(asked),
        stdout=subprocess.PIPE,
        env={**alone, **chosen},
        text=True,
    )
    if done.returncode:
        log = folder / "server.log"
        sys.stderr.write(log.read_text() if log.is_file() else "")
        raise SystemExit(done.returncode)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def compared(lines: list[str], found: dict[str, Any]) -> list[tuple[str, str, str]]:
    rows = zip(lines, found["answers"], found["ours"], strict=True)
    return [row for row in rows if row[1] != row[2]]


def alike(theirs: list[str], ours: list[str]) -> int:
    return sum(his == mine for his, mine in zip(theirs, ours, strict=True))


if __name__ == "__main__":
    sys.exit(main())
