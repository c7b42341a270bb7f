"""Documents of 200,000 units: memory and time to fill them in, without a model.

    python -m benchmarks.scale.documents [FOLDER] [--units 200000]

Each document is written below FOLDER, read, filled in with its own sources and flagged, in a process of its
own; seconds are those of the processor. Passes where each takes at most 150 MB more than an empty process.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

FILLER = """
import sys, time
from pathlib import Path
from dragoman.documents.build import read_document
from dragoman.documents.slots import Output

def peak():
    return int(open("/proc/self/status").read().partition("VmHWM:")[2].split()[0]) / 1024

before, start = peak(), time.process_time()
document = read_document(Path(sys.argv[1]), ("en", "de"))
with open(sys.argv[2], "wb") as out:
    filled = document.fill(out, lambda texts: [Output(text, ("low_confidence",)) for text in texts])
print(filled.units, time.process_time() - start, peak() - before)
"""
TEXT = "Open the file number {0} and read it"
DOCUMENTS = {  # head, unit, end
    "po": ('msgid ""\nmsgstr ""\n\n', f'#: src/a.c:{{0}}\nmsgid "{TEXT}"\nmsgstr ""\n\n', ""),
    "xlf": (
        '<xliff version="1.2"><file source-language="en" target-language="de"><body>\n',
        f'<trans-unit id="{{0}}">\n  <source>{TEXT} <g id="1">now</g></source>\n</trans-unit>\n',
        "</body></file></xliff>\n",
    ),
    "tmx": (
        '<tmx version="1.4"><header srclang="en"/><body>\n',
        f'<tu tuid="{{0}}">\n  <tuv xml:lang="en"><seg>{TEXT}</seg></tuv>\n</tu>\n',
        "</body></tmx>\n",
    ),
    "srt": ("", f"{{0}}\n00:00:01,000 --> 00:00:02,000\n{TEXT}\n\n", ""),
}
MOST = 150  # MB


class Row(NamedTuple):
    format: str
    mb: float
    seconds: float
    above: float


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "folder", nargs="?", type=Path, help="for the files (default: the system's temporary)"
    )
    parser.add_argument("--units", type=int, default=200_000)
    args = parser.parse_args()
    rows = [measured(args.folder, kind, args.units) for kind in DOCUMENTS]
    print(f"{'':8}{'MB':>6}{'seconds':>9}{'MB above':>10}")
    for row in rows:
        print(f"{row.format:8}{row.mb:>6.0f}{row.seconds:>9.1f}{row.above:>10.0f}")
    print(
        json.dumps({"benchmark": "documents", "units": args.units, "rows": [row._asdict() for row in rows]})
    )
    return int(max(row.above for row in rows) > MOST)


def measured(folder: Path | None, kind: str, units: int) -> Row:
    head, unit, end = DOCUMENTS[kind]
    with tempfile.TemporaryDirectory(dir=folder) as home:
        file, out = Path(home) / f"given.{kind}", Path(home) / f"out.{kind}"
        file.write_text(head + "".join(unit.format(n) for n in range(1, units + 1)) + end, encoding="utf-8")
        command = [sys.executable, "-c", FILLER, str(file), str(out)]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        size = file.stat().st_size / 1e6
    filled, seconds, above = map(float, done.stdout.split())
    assert filled == units, f"{filled} of {units} units were filled in"
    return Row(kind, round(size, 1), round(seconds, 1), round(above))


if __name__ == "__main__":
    sys.exit(main())
