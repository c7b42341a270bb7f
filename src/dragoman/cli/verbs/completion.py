"""`dragoman completion`: shell completion of verbs, options, files and settings."""

from __future__ import annotations

import argparse
import importlib

from dragoman.cli.terminal import give
from dragoman.config.key_lookup import all_names

HELP = """\
Print a shell script that completes verbs, options, files and settings.

  eval "$(dragoman completion bash)"                                    in ~/.bashrc
  eval "$(dragoman completion zsh)"                                     in ~/.zshrc, after compinit
  dragoman completion fish > ~/.config/fish/completions/dragoman.fish"""

SHELLS = ("bash", "zsh", "fish")
WITH_SETTINGS = ("prepare", "train", "run", "score")

BASH = """\
_dragoman() {{
  local verb="${{COMP_WORDS[1]}}" word="${{COMP_WORDS[COMP_CWORD]}}" words=""
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "{verbs}" -- "$word")); return
  fi
  case "$verb" in
{cases}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$word") $(compgen -f -- "$word"))
  case "${{COMPREPLY[0]}}" in *=) compopt -o nospace ;; esac
}}
complete -o filenames -F _dragoman dragoman
"""

ZSH = """\
#compdef dragoman
_dragoman() {{
  local words_of
  if (( CURRENT == 2 )); then
    compadd {verbs}; return
  fi
  case "${{words[2]}}" in
{cases}
  esac
  compadd -- ${{=words_of}}
  _files
}}
compdef _dragoman dragoman
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=SHELLS, help="the shell to print a script for")


def run(args: argparse.Namespace) -> int:
    from dragoman.cli.main import VERBS

    known = {verb: words_of(verb) for verb in VERBS}
    give({"bash": bash, "zsh": zsh, "fish": fish}[args.shell](known, VERBS))
    return 0


def words_of(verb: str) -> list[str]:
    """Return the options of a verb and the settings that it takes."""
    parser = argparse.ArgumentParser(add_help=False)
    from dragoman.cli.main import MODULES

    importlib.import_module(f"dragoman.cli.verbs.{MODULES.get(verb, verb)}").add_arguments(parser)
    options = [name for action in parser._actions for name in action.option_strings]
    names = all_names() if verb in WITH_SETTINGS else []
    wanted = [name for name in names if verb == "train" or name.startswith("search.")]
    return ["--help", *options, *(f"{name}=" for name in wanted)]


def bash(known: dict[str, list[str]], _: dict[str, str]) -> str:
    cases = "\n".join(f'    {verb}) words="{" ".join(words)}" ;;' for verb, words in known.items())
    return BASH.format(verbs=" ".join(known), cases=cases)


def zsh(known: dict[str, list[str]], _: dict[str, str]) -> str:
    cases = "\n".join(f'    {verb}) words_of="{" ".join(words)}" ;;' for verb, words in known.items())
    return ZSH.format(verbs=" ".join(known), cases=cases)


def fish(known: dict[str, list[str]], about: dict[str, str]) -> str:
    lines = [f"complete -c dragoman -n __fish_use_subcommand -a {verb} -d '{about[verb]}'" for verb in known]
    for verb, words in known.items():
        seen = f"'__fish_seen_subcommand_from {verb}'"
        long = [word[2:] for word in words if word.startswith("--")]
        lines += [f"complete -c dragoman -n {seen} -l {word}" for word in long]
        settings = [word for word in words if word.endswith("=")]
        lines += [f"complete -c dragoman -n {seen} -a '{' '.join(settings)}'"] if settings else []
    return "\n".join(lines) + "\n"
