"""`dragoman completion`: shell completion of verbs, options, files, settings and metrics, by shtab."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Iterable

import shtab

from dragoman.cli.options.overrides import SETTABLE
from dragoman.cli.terminal import give
from dragoman.config.key_lookup import all_names
from dragoman.config.presets import PRESETS
from dragoman.metrics.names import GROUPS, TITLES

HELP = """\
Print a script that lets your shell complete verbs, options, files, settings and metrics.

  eval "$(dragoman completion bash)"   in ~/.bashrc
  eval "$(dragoman completion zsh)"    in ~/.zshrc, after compinit
  dragoman completion fish > ~/.config/fish/completions/dragoman.fish"""

FILES = ("FILE", "DIR", "MODEL", "PATH", "OTHER")  # metavars of the names of files and folders
# An argument has words or files in shtab, and ours may be either. A setting ends with "="; its value follows.
EITHER = {
    "bash": '{name}() {{ compgen -W "{words}" -- "$1"; compgen -f -- "$1"; }}',
    "zsh": "{name}() {{ compadd -S '' -- {words}; _files }}",
    "fish": "function {name}\n  string split ' ' '{words}'; __fish_complete_path (commandline -ct)\nend",
}
NO_SPACE = """
_dragoman() { _shtab_dragoman; case "${COMPREPLY[0]}" in *=) compopt -o nospace +o filenames ;; esac; }
complete -o bashdefault -F _dragoman dragoman
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=shtab.SUPPORTED_SHELLS, help="your shell")


def run(args: argparse.Namespace) -> int:
    give(shtab.complete(whole_parser(), args.shell) + (NO_SPACE if args.shell == "bash" else ""))
    return 0


def whole_parser() -> argparse.ArgumentParser:
    """Return a parser of all verbs, whose arguments say how they are completed."""
    from dragoman.cli.main import MODULES, VERBS

    parser = argparse.ArgumentParser("dragoman")
    parser.add_argument("--version", action="store_true", help="show the version")
    verbs = parser.add_subparsers()
    for verb, about in VERBS.items():
        arguments = verbs.add_parser(verb, help=about, description=about)
        importlib.import_module(f"dragoman.cli.verbs.{MODULES.get(verb, verb)}").add_arguments(arguments)
        for action in arguments._actions:
            how = completed(verb, action)
            if how is not None and action.nargs != 0 and action.choices is None:
                action.complete = how  # type: ignore[attr-defined]
    return parser


def completed(verb: str, action: argparse.Action) -> shtab.CompleteType | None:
    """Return what an argument is completed with: settings, the words that it takes, or files."""
    if action.nargs in ("*", "+") and not action.option_strings and verb in SETTABLE:
        return settings_or_files(verb)
    if action.dest == "metrics":
        return words([*TITLES, *GROUPS])
    shown = action.metavar if isinstance(action.metavar, tuple) else (action.metavar,)
    return shtab.FILE if not action.option_strings or set(shown) & set(FILES) else None


def settings_or_files(verb: str) -> shtab.CompleteType:
    names = [name for name in all_names() if name.startswith(SETTABLE[verb])]
    presets = [f"model.preset={name}" for name in PRESETS] if verb == "train" else []
    name = f"_dragoman_{verb}_files"  # "_files": in bash, folders get a slash then
    either = " ".join([*(f"{name}=" for name in names), *presets])
    preamble = {shell: form.format(name=name, words=either) for shell, form in EITHER.items()}
    return {"bash": name, "zsh": name, "fish": f"({name})", "preamble": preamble}


def words(these: Iterable[str]) -> shtab.CompleteType:
    return shtab.cmd(f"printf '%s\\n' {' '.join(these)}")
