"""`dragoman run`: apply a model to text, to stdin or to a file."""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import stat
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from gzip import GzipFile
from io import BufferedReader, TextIOWrapper
from pathlib import Path
from shlex import quote
from typing import IO, TYPE_CHECKING, Any, TextIO, cast

from dragoman.allocator import keep_freed_memory
from dragoman.cli import document
from dragoman.cli.answers import write_answers
from dragoman.cli.counting import ProgressCount, decoded, total_of_files
from dragoman.cli.flagged import CutOutputs, report_flagged
from dragoman.cli.next_commands import to_run, to_score
from dragoman.cli.options import search as choosing
from dragoman.cli.options import steering
from dragoman.cli.options.overrides import add_languages, is_file, split_texts
from dragoman.cli.terminal import LiveLine, give, talk
from dragoman.errors import ConfigError, DataError, UsageError
from dragoman.spelling import missing_file_hint

if TYPE_CHECKING:
    from dragoman.cli.input_lines import InputLine
    from dragoman.config.search import SearchConfig
    from dragoman.inference.model import Model
    from dragoman.inference.result import Result
    from dragoman.inference.runtimes.runtime import RuntimeName
    from dragoman.tasks.load import TaskModel

HELP = """\
Apply a model: one line of output for each line of input. Without TEXT, it reads stdin.

  dragoman run en-de "Where is my book?"
  dragoman run en-de < test.en > test.out
  dragoman run en-de test.en -o test.out search.size=1
  dragoman run en-de app.po -o app.de.po        also .xliff, .tmx and .srt
  dragoman run en-de "Where is my book?" --nbest 5
  dragoman run en-de "Hi {name}!" --keep --glossary terms.tsv --forbid Typ
  dragoman run ocr line1.png line2.png          read pictures or sounds
  dragoman run play --continue "To be" --sample top-p=0.9  continue a text
  dragoman run en-de -- "search.size=5"         after -- everything is text"""

RUNTIMES = ("ct2", "torch", "onnx")
PAIRS = {"csv", "jsonl", "arrow"}  # forms of files with both sides, of which the sources are translated
# Files whose lines are syntax and texts together: a model would translate the syntax, too.
SYNTAX = {
    ".vtt",
    ".json",
    ".html",
    ".htm",
    ".xml",
    ".yaml",
    ".yml",
    ".properties",
    ".strings",
    ".ts",
    ".resx",
    ".docx",
}
WORDS_IN_LINES = {".conll": 1, ".conllu": 2}  # the column of the words


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("model", metavar="MODEL", help="a run folder, its model/, or a project folder")
    add(
        "text",
        nargs="*",
        metavar="TEXT",
        help="texts, or files (also .gz) to read line by line; then settings such as search.size=1",
    )
    group = parser.add_argument_group("input and output")
    add = group.add_argument
    add(
        "--continue",
        dest="continued",
        action="append",
        metavar="TEXT",
        help="let a language model continue this text; may be repeated",
    )
    add("--file", type=Path, metavar="FILE", help="read a text file (also .gz) line by line")
    add_languages(group)
    add("-o", "--output", type=Path, metavar="FILE", help="write to FILE instead of stdout")
    add("--json", action="store_true", help="one object per line: text, score, truncated, flags, confidence")
    add("--details", action="store_true", help="with --json: token probabilities and the alignment")
    parser.set_defaults(literal=())  # the arguments after "--"
    choosing.add_arguments(parser)
    steering.add_arguments(parser)
    add = parser.add_argument_group("engine").add_argument
    add("--runtime", choices=RUNTIMES, help="inference engine (default: an export if there is one)")
    add("--device", default="auto", metavar="NAME", help="auto (default), cpu, cuda or cuda:1")
    add("--batch", type=int, metavar="N", help="sentences to decode together")
    add("--workers", type=int, default=1, metavar="N", help="processes for torch to decode in, one core each")


def run(args: argparse.Namespace) -> int:
    from dragoman.tasks.load import TaskModel

    texts, overrides = split_texts(args.text)
    given = files_and_texts(texts, args)
    to_fill = document.read(given, args)
    others = {"ensemble": args.ensemble or (), "reverse": args.reverse, "lm": args.lm}
    model = open_model(args.model, args.runtime, args.device, workers=args.workers, **others)
    if isinstance(model, TaskModel):
        with opened_output(args.output) as out:
            write_answers(model, inputs(with_signals(model, given), args), args, out)
        suggest(to_score(model.config, args.model))
        return 0
    search = search_of(model, args, overrides)
    if to_fill:
        with opened_output(args.output) as out:
            return document.run(to_fill, model, search, args, out)
    return translate(model, given, search, args)


def translate(
    model: Model, given: Sequence[str | Path], search: SearchConfig, args: argparse.Namespace
) -> int:
    """Write the outputs of a model that translates, and report what is unusual about them."""
    constraints = steering.steering_options(args)
    how: dict[str, Any] = {**constraints, "details": args.details, "trace": args.trace is not None}
    report, cut = steering.SteeringReport(), CutOutputs()
    flagged: dict[int, tuple[str, ...]] = {}
    with (
        opened_output(args.output) as out,
        choosing.opened_traces(args.trace, model) as traces,
        LiveLine(hidden=out.isatty()) as live,
    ):
        count = ProgressCount(live, total_of_files(given) if live.is_seen else None)
        number = 0
        for lines in inputs(given, args):
            sources = [line.text for line in lines]
            results = decoded(model, sources, search, count, **how)
            for line, result in zip(lines, results, strict=True):
                number += 1
                report.add(number, result)
                cut.add(number, result)
                if result.flags and not result.truncated:
                    flagged[number] = result.flags
                if traces:
                    traces.add(line.text, result)
                give(written(number, line, result, args), out)
            out.flush()
    cut.report()
    report_flagged(flagged)
    for message in (*report.lines, *calibration_notes(model)):
        talk(message)
    suggest(f"dragoman score {args.model} test.src test.tgt")
    return 0


def calibration_notes(model: Model) -> list[str]:
    known = model.runtime.checker.calibration
    return [known.warning] if known and known.warning else []


def suggest(command: str) -> None:
    if sys.stdout is not None and sys.stdout.isatty():  # in a pipe it would appear at every call
        talk(f"Next: {command}")


def written(number: int, line: InputLine, result: Result, args: argparse.Namespace) -> str:
    """Return what is printed for a line."""
    if args.json:
        return as_json({"line": number, "source": line.text, **result.asdict()}) + "\n"
    if args.nbest is not None:
        return choosing.n_best_lines(number, result) + line.end
    return choosing.line(result.text) + line.end


def search_of(model: Model, args: argparse.Namespace, overrides: Sequence[str]) -> SearchConfig:
    """Return the model's search settings with the changes of the command line."""
    from dragoman.config.load import with_overrides

    own = model.runtime.search
    batch = [] if args.batch is None else [f"search.batch_sentences={args.batch}"]
    try:
        return with_overrides(own, [*choosing.overrides(args, own), *overrides, *batch])
    except ConfigError as error:
        if overrides:
            error.hint += f' If it is text: dragoman run {args.model} -- "…"'
        raise


def load_model(path: str, runtime: RuntimeName | None = None, device: str = "auto") -> Model:
    """Load a model that translates."""
    from dragoman.inference.model import Model

    model = open_model(path, runtime, device=device)
    if isinstance(model, Model):
        return model
    raise UsageError(
        "Only a model that translates text can do this.",
        where=f'{path}: task = "{model.config.task}"',
        hint=to_run(model.config, path),
    )


def open_model(
    path: str, runtime: RuntimeName | None = None, device: str = "auto", **more: Any
) -> Model | TaskModel:
    from dragoman.tasks.load import load

    keep_freed_memory()  # not in `load`, where the process belongs to the caller
    with LiveLine() as live:  # importing torch takes seconds
        live.show(f"Loading {path}")
        return load(path, runtime=runtime, device=device, same_bits=True, **more)


def files_and_texts(arguments: Sequence[str], args: argparse.Namespace) -> list[str | Path]:
    """Return what to translate, in order. Names of existing files are files; all after "--" is text."""
    if args.file and (arguments or args.literal):
        raise UsageError(
            "Give either TEXT or --file, not both.",
            where="the command line",
            hint=f"dragoman run {args.model} --file {args.file}",
        )
    if args.file:
        refuse_syntax(args.file, args.model)
        return [args.file]
    if args.continued is not None:
        if arguments or args.literal:
            raise UsageError(
                "--continue takes the text itself, so there is none besides it.",
                where=f"{[*arguments, *args.literal][0]!r} beside --continue",
                hint='--continue "one" --continue "two"',
            )
        return [*args.continued]
    from dragoman.documents.build import is_document

    found = [Path(one) if is_file(one) else one for one in arguments]
    for one in found:
        if isinstance(one, str) and looks_like_a_file(one):
            if is_document(Path(one)):
                raise UsageError(
                    "There is no such document.",
                    where=one,
                    expected="a file that exists",
                    hint=missing_file_hint(Path(one)),
                )
            talk(f"There is no file {one}, so its name is the text.")
        if isinstance(one, Path):
            refuse_syntax(one, args.model)
        if isinstance(one, Path) and not is_signal(one):
            talk(f"{one} is a {what_is_translated(one)}.")
            if not args.output:  # somebody who names an output means the file
                talk(f"To translate its name: dragoman run {args.model} -- {one}")
    return [*found, *args.literal]


def refuse_syntax(file: Path, model: str) -> None:
    from dragoman.data.readers.open_pairs import text_suffix

    suffix = text_suffix(file).lower()
    if suffix in WORDS_IN_LINES:
        words = f"grep -v '^#' {quote(str(file))} | cut -f{WORDS_IN_LINES[suffix]}"
        raise UsageError(
            f"A {suffix} file has a word per line, and a model reads a sentence per line.",
            where=str(file),
            expected="lines of text",
            hint=f"{words} | awk -v RS= '{{$1=$1; print}}' | dragoman run {model}",
        )
    if suffix in SYNTAX:
        read = "zcat" if file.suffix == ".gz" else "cat"
        raise UsageError(
            f"A {suffix} file is more than lines of text: its syntax would be translated as well.",
            where=str(file),
            expected="lines of text; .csv or .jsonl, whose sources are read; or .po, .xliff, .tmx, .srt",
            hint="Convert it to one of these. If its lines are plain text: "
            f"{read} {quote(str(file))} | dragoman run {model}",
        )


def looks_like_a_file(text: str) -> bool:
    """Return whether a text is one word with an ending such as ".en" or ".txt"."""
    before, _, ending = text.rpartition(".")
    return len(text.split()) == 1 and bool(before) and 2 <= len(ending) <= 5 and ending.isalpha()


def is_signal(one: str | Path) -> bool:
    from dragoman.config.parts.source import SUFFIXES

    return isinstance(one, Path) and one.suffix.lower() in SUFFIXES


def with_signals(model: TaskModel, given: Sequence[str | Path]) -> list[str | Path]:
    """Return the inputs of a model: pictures and sounds by their names, if it reads them."""
    is_text = model.config.data.source.kind == "text"
    return [one if is_text or not is_signal(one) else str(one) for one in given]


def what_is_translated(file: Path) -> str:
    from dragoman.data.readers.open_pairs import form
    from dragoman.documents.build import is_document

    if form(file) == "tsv":
        return "file: the first column of its lines is translated"
    if form(file) in PAIRS:
        return "file of pairs: their sources are translated"
    if is_document(file):
        return "document: its missing translations are added"
    return "file: its lines are translated"


def inputs(given: Sequence[str | Path], args: argparse.Namespace) -> Iterator[list[InputLine]]:
    from dragoman.cli.input_lines import InputLine, read_batches

    texts: list[InputLine] = []
    for index, one in enumerate(given, start=1):
        if isinstance(one, str):
            texts.append(InputLine(typed(one), "\n"))
            continue
        if texts:
            yield texts
            texts = []
        for lines in lines_of(one, args):  # the last line of a file may have no end
            yield lines if index == len(given) else [line._replace(end="\n") for line in lines]
    if texts:
        yield texts
    if not given and sys.stdin is not None:  # None if the parent process closed it
        if sys.stdin.isatty():
            talk(f"{args.model} is ready: type a line, or Ctrl-D to end.")
        yield from read_batches(cast("BufferedReader[Any]", sys.stdin.buffer), "stdin")


def lines_of(file: Path, args: argparse.Namespace) -> Iterator[list[InputLine]]:
    from dragoman.cli.input_lines import InputLine, read_batches
    from dragoman.data.pair import blocks
    from dragoman.data.readers.lines import refuse_other_formats
    from dragoman.data.readers.open_file import open_bytes
    from dragoman.data.readers.open_pairs import form, open_pairs
    from dragoman.inference.find_model import find_model
    from dragoman.tasks.load import direction_of

    if form(file) in PAIRS:
        languages = args.languages or direction_of(find_model(args.model), [file])
        for block in blocks(open_pairs([file], languages=languages)):
            yield [InputLine(pair.src, "\n") for pair in block]
        return
    with open_bytes(file) as source:
        refuse_other_formats(file, source)
        for lines in read_batches(source, str(file)):
            yield [first_column(line) for line in lines] if form(file) == "tsv" else lines


def first_column(line: InputLine) -> InputLine:
    return line._replace(text=line.text.partition("\t")[0])


def typed(text: str) -> str:
    """Return the text; raise an error if it contains bytes that are not UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise DataError(
            "The text on the command line is not UTF-8.",
            where=ascii(text),
            expected="UTF-8",
            hint="Check the encoding of your terminal: locale",
        ) from None
    return text


def as_json(fields: dict[str, Any]) -> str:
    return json.dumps(finite(fields), ensure_ascii=False, allow_nan=False)


def finite(value: Any) -> Any:
    """Replace infinity, such as the log of probability 0, by None: JSON cannot represent it."""
    match value:
        case float():
            return value if math.isfinite(value) else None
        case dict():
            return {key: finite(inner) for key, inner in value.items()}
        case list() | tuple():
            return [finite(inner) for inner in value]
    return value


def mode_of(file: Path) -> int | None:
    """Return the permissions of a file; None if there is none."""
    return stat.S_IMODE(file.stat().st_mode) if file.exists() else None


def private(path: str, flags: int, *, mode: int | None) -> int:
    """Open a new file that nobody may read who may not read the one it replaces."""
    handle = os.open(path, flags, 0o666 if mode is None else 0o600)
    if mode is not None:
        os.chmod(path, mode)
    return handle


def compressed(raw: IO[bytes], file: Path) -> IO[bytes]:
    """Return what writes to `raw` as the name of the file says, with the same bytes at any time."""
    return cast("IO[bytes]", GzipFile("", "wb", fileobj=raw, mtime=0)) if file.suffix == ".gz" else raw


@contextlib.contextmanager
def opened_output(file: Path | None) -> Iterator[TextIO]:
    """Yield stdout, or a file that is created only when it is complete; a .gz is compressed."""
    if file is None or str(file) == "-":
        yield sys.stdout
        return
    if file.exists() and not file.is_file():  # a folder raises here; a pipe or device is written to
        with file.open("w", encoding="utf-8", newline="\n") as out:
            yield out
        return
    there = file.resolve()  # what a link names is replaced, not the link
    part = there.with_name(f"{there.name}.{os.getpid()}.part")
    try:
        with (
            open(part, "wb", opener=partial(private, mode=mode_of(there))) as raw,
            compressed(raw, file) as data,
            TextIOWrapper(data, encoding="utf-8", newline="\n") as out,
        ):
            yield out
        part.replace(there)
    except OSError as error:
        if error.filename == str(part):  # the user does not know the temporary name
            error.filename, error.filename2 = str(file), None
        raise
    finally:
        part.unlink(missing_ok=True)
