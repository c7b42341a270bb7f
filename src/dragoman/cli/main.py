"""`dragoman VERB …`: find and run the verb; turn every failure into an error message and an exit code."""

from __future__ import annotations

import argparse
import contextlib
import errno
import importlib
import io
import os
import re
import signal
import sys
import threading
import time
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import NoReturn

from dragoman.arguments import refuse_address
from dragoman.cli.help_text import Layout, laid_out, width
from dragoman.cli.options.overrides import after_dashes, setting_named
from dragoman.cli.terminal import STDERR, harmless, has_colours, shown
from dragoman.errors import DragomanError, UsageError
from dragoman.spelling import closest, did_you_mean

VERBS = {
    "check": "find the faults in your data before you train",
    "train": "train a model; the same command resumes it",
    "run": "apply a model to text, files or documents",
    "score": "measure a model on a test set, or compare two",
    "show": "look inside a model, or write a report about it",
    "new": "create an example: data, settings and a README",
    "export": "write a model for CTranslate2, LibreTranslate or ONNX Runtime",
    "info": "describe a model; list settings and presets",
    "prepare": "prepare large data on all cores, or on several machines",
    "trim": "make a model smaller: drop the sub-words that it does not need",
    "import": "convert a Marian (OPUS-MT) model",
    "completion": "complete verbs, options and settings in your shell",
}
EVERYONE = ("check", "train", "run", "score", "show")  # TOP has an example of each

MODULES = {"import": "import_model"}  # `import` is a Python keyword

NAMES_FILES = re.compile(r"(?:FILE|DIR|PATH|MODEL|OTHER|MODEL FILE|FILE\|DIR)")  # metavars

# Names of the verbs in other programs.
ELSEWHERE = {
    "translate": "run",
    "predict": "run",
    "generate": "run",
    "decode": "run",
    "evaluate": "score",
    "eval": "score",
    "test": "score",
    "explain": "show",
    "inspect": "show",
    "plot": "show",
    "convert": "export",
    "init": "new",
    "preprocess": "prepare",
    "binarize": "prepare",
    "create": "new",
}

TOP = """\
Train your own small translation model. Your text, your machine, your files.

Try it with made-up data:
  dragoman new dates                          create data, settings and a README
  dragoman train dates                        train a model on them
  dragoman run dates "le 3 mars 1987"         print 1987-03-03

With your own data, two text files whose lines match:
  dragoman check train.en train.de            find the faults in the data
  dragoman train train.en train.de -o en-de   train a model, or resume it
  dragoman run en-de "Where is my book?"      translate text or files
  dragoman score en-de test.en test.de        measure it, or compare two
  dragoman show en-de "Where is my book?"     look inside, or write a report

More:
{more}

Settings and help:
  dragoman train dates training.updates=500   change a setting
  dragoman info --settings                    list the settings
  dragoman VERB --help                        explain a verb, with examples
  dragoman --version                          print the version
  --debug, NO_COLOR=1                         show tracebacks; use no colours
"""


class Parser(argparse.ArgumentParser):
    """An ArgumentParser that raises a UsageError."""

    def error(self, message: str) -> NoReturn:
        close, message = self.meant(message), self.without_optional(message)
        raise UsageError(
            message[:1].upper() + message[1:] + "." + did_you_mean(close),
            where="the command line",
            expected="" if close else " ".join(self.format_usage().removeprefix("usage: ").split()),
            hint=f"{self.prog} --help shows every option.",
        )

    def without_optional(self, message: str) -> str:
        """Remove optional positionals, which argparse lists as required."""
        prefix, colon, names = message.partition("are required: ")
        optional = {str(a.metavar or a.dest) for a in self._actions if a.nargs in ("*", "?")}
        needed = [name for name in names.split(", ") if name not in optional]
        return f"{prefix}{colon}{', '.join(needed)}" if colon and needed else message

    def meant(self, message: str) -> str | None:
        """Return what an unknown option probably means: a setting of that name, or the closest option."""
        known, _, words = message.partition("unrecognized arguments: ")
        given = [word.partition("=")[0] for word in words.split() if word.startswith("-")]
        options = list(self._option_string_actions)
        verb = self.prog.rpartition(" ")[2]
        found = (setting_named(word, verb) or closest(word, options) for word in given)
        return None if known else next(filter(None, found), None)


def main(argv: Sequence[str] | None = None) -> int:
    arguments = list(sys.argv[1:] if argv is None else argv)
    debug = _take_debug(arguments)
    if isinstance(sys.stdout, io.TextIOWrapper):  # results are UTF-8 whatever the terminal's locale
        sys.stdout.reconfigure(encoding="utf-8", errors="surrogateescape", newline="\n")
    try:
        with ending_at_signals():
            code = dispatch(arguments)
            sys.stdout.flush()  # so that a closed pipe or a full disk is noticed here
        return code
    except SystemExit as stop:  # argparse, after --help; or a signal
        return stop.code if isinstance(stop.code, int) else 0
    except BrokenPipeError:
        with contextlib.suppress(OSError):  # so that the flush at exit raises no error
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        if debug:
            traceback.print_exc()
        complain(message_of(error))
        return error.exit_code if isinstance(error, DragomanError) else 1


@contextlib.contextmanager
def ending_at_signals() -> Iterator[None]:
    """Make SIGTERM and SIGHUP end a command as Ctrl-C does, so that it removes partial output."""

    def end(number: int, frame: FrameType | None) -> NoReturn:
        raise SystemExit(128 + number)

    if threading.current_thread() is not threading.main_thread():  # only there can handlers be set
        yield
        return
    numbers = [signal.SIGTERM] if sys.platform == "win32" else [signal.SIGTERM, signal.SIGHUP]
    before = {n: signal.signal(n, end) for n in numbers if signal.getsignal(n) == signal.SIG_DFL}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def dispatch(arguments: list[str]) -> int:
    started = time.perf_counter()  # a budget starts here, as importing torch takes seconds
    if len(arguments) == 2 and arguments[0] == "help":
        arguments = [arguments[1], "--help"]
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        more = "\n".join(f"  {verb}  {about}" for verb, about in VERBS.items() if verb not in EVERYONE)
        sys.stdout.write(laid_out(TOP.format(more=more), width()) + "\n")
        return 0
    verb, *rest = arguments
    if verb in ("-V", "--version"):
        sys.stdout.write(f"dragoman {version()}\n")
        return 0
    if verb not in VERBS:
        raise unknown(verb)
    module = importlib.import_module(f"dragoman.cli.verbs.{MODULES.get(verb, verb)}")
    parser = Parser(
        prog=f"dragoman {verb}",
        description=module.HELP,
        formatter_class=Layout,
        allow_abbrev=False,
    )
    parser._positionals.title = "arguments"
    module.add_arguments(parser)
    takes_text = parser.get_default("literal") is not None
    rest, literal = after_dashes(rest) if takes_text else (rest, [])
    args = parser.parse_intermixed_args(rest)
    refuse_addresses(parser, args)
    args.literal, args.started = literal, started
    code: int = module.run(args)
    return code


def refuse_addresses(parser: Parser, args: argparse.Namespace) -> None:
    """Refuse s3:// and the like wherever a file or folder is named; a text may begin so."""
    for action in parser._actions:
        if isinstance(action.metavar, str) and NAMES_FILES.fullmatch(action.metavar):
            given = getattr(args, action.dest, None)
            name = action.option_strings[-1] if action.option_strings else action.metavar
            for value in given if isinstance(given, list) else [given]:
                if isinstance(value, str | Path):
                    refuse_address(value, name, is_written=action.dest in ("out", "output", "save", "trace"))


def version() -> str:
    from importlib import metadata  # slow, and not needed by --help

    return metadata.version("dragoman")


def unknown(verb: str) -> UsageError:
    meant = ELSEWHERE.get(verb)
    close = meant or closest(verb, VERBS, cutoff=0.5)
    return UsageError(
        f'There is no verb "{verb}".' + did_you_mean(close),
        where="the command line",
        expected="one of " + ", ".join(VERBS),
        hint=f"dragoman {close} --help" if close else "dragoman --help",
    )


def message_of(error: Exception) -> str:
    match error:
        case DragomanError():
            return str(error)
        case OSError():
            return str(_system_error(error))
    if _is_out_of_memory(error):
        return str(
            DragomanError(
                "Out of memory.",
                hint="Close other programs, or halve training.batch_tokens or search.batch_sentences.",
            )
        )
    return str(
        DragomanError(
            f"This is a bug in Dragoman: {type(error).__name__}: {_first_line(error)}",
            hint="Run it again with --debug and report what it shows.",
        )
    )


def _system_error(error: OSError) -> DragomanError:
    hints = {
        errno.ENOSPC: "Free some space, or choose another folder with -o; a run resumes where it stopped.",
        errno.EDQUOT: "Your quota is used up: free some space, or choose another folder with -o.",
        errno.EACCES: "Change its permissions, or choose another folder.",
        errno.EPERM: "Change its permissions, or choose another folder.",
        errno.EROFS: "That disk is read-only: choose another folder with -o.",
        errno.ENOENT: "Check the spelling of the path.",
        errno.ENOTDIR: "A part of that path is a file: check its spelling.",
        errno.EISDIR: "That is a folder: name a file in it.",
        errno.EMFILE: "Too many files are open: raise the limit with  ulimit -n 4096.",
        errno.ENAMETOOLONG: "Choose a shorter path.",
    }
    files = " → ".join(str(name) for name in (error.filename, error.filename2) if name is not None)
    return DragomanError(
        f"System error: {error.strerror or _first_line(error) or type(error).__name__}.",
        where=files,
        hint=hints.get(error.errno or 0, "Run it again with --debug to see where this happened."),
    )


def _is_out_of_memory(error: Exception) -> bool:
    """Recognise torch's own errors by their names and texts, as torch is not imported here."""
    return (
        isinstance(error, MemoryError)
        or type(error).__name__ == "OutOfMemoryError"
        or "can't allocate memory" in str(error)
    )


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]


def complain(text: str) -> None:
    """Write an error to stderr, without control characters that a terminal would interpret."""
    red, plain = ("\033[1;31m", "\033[0m") if has_colours(sys.stderr) else ("", "")
    lines = f"error  {harmless(text)}".split("\n")
    rest = "\n".join(shown(line, sys.stderr, STDERR) for line in lines).removeprefix("error")
    sys.stderr.write(f"{red}error{plain}{rest}\n")


def _take_debug(arguments: list[str]) -> bool:
    """Remove `--debug`, which may appear anywhere before `--`."""
    head = arguments[: arguments.index("--")] if "--" in arguments else arguments
    if "--debug" not in head:
        return False
    arguments.remove("--debug")
    return True
