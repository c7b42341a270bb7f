"""card.md: what a model is, from what it was made and how well it did. Written by training, never by hand."""

from __future__ import annotations

import os
from importlib.metadata import version
from typing import Any

from dragoman.config.data import Corpus
from dragoman.config.root import Config
from dragoman.metrics.report import signatures

LIMITS = """\
- It knows what its data knows. Expect weak results on other subjects and other spellings, and read what it
  writes before you rely on it: an output can be fluent and wrong.
- Whatever is unfair or false in the data can come out again."""


def model_card(config: Config, facts: dict[str, Any]) -> str:
    """`facts`: those of the run's end, those of its data, and the number of its parameters."""
    parts = {
        "Data": data(config, facts),
        "Scores": scores(config, facts),
        "An example": example(facts["sample"]),
        "Limits": "\n".join([LIMITS, *own_limits(config)]),
        "Licence": licences(config),
        "How to cite": citation(),
    }
    sections = "\n\n".join(f"## {title}\n\n{body}" for title, body in parts.items() if body)
    return f"# A Dragoman model\n\n{summary(config, facts)}\n\n{sections}\n"


def summary(config: Config, facts: dict[str, Any]) -> str:
    model, text = config.model, config.text
    units = text.kind if text.is_joint else f"{text.src_units.kind} → {text.tgt_units.kind}"
    minutes = facts["seconds"] / 60
    lines = [
        f"{model.encoder.name} encoder, {model.decoder.name} decoder (preset {model.preset}), {units} units,",
        f"{facts['parameters']:,} parameters. {facts['step']:,} updates in {minutes:.1f} minutes with "
        f"Dragoman {version('dragoman')};",
        f"the weights are the {facts['chosen']} of its checkpoints. All settings are in settings.toml.",
    ]
    return "\n".join(lines)


def data(config: Config, facts: dict[str, Any]) -> str:
    watched = of(config.data.valid) if config.data.valid else "held out of the training pairs"
    lines = [
        f"{facts['pairs']:,} pairs, {facts['tgt_tokens']:,} target tokens, from",
        "",
        *(f"- {of(corpus)} (weight {corpus.weight:g})" for corpus in config.data.train),
        "",
        f"Validated on {facts['watched']:,} pairs: {watched}.",
    ]
    return "\n".join(lines)


def of(corpus: Corpus) -> str:
    return " + ".join(os.path.basename(file) for file in corpus.files)


def scores(config: Config, facts: dict[str, Any]) -> str:
    """Those of training, on the first of the pairs it was validated on."""
    signed = signatures()
    rows = [f"| {name} | {value:.4f} | {signed.get(name, '')} |" for name, value in facts["valid"].items()]
    decoded = min(config.training.valid_decode, facts["watched"])
    cased = ", both sides lower-cased" if config.text.lowercase else ""
    return "\n".join(
        [
            f"Decoded as `run` does, {decoded:,} validation pairs{cased}; the loss is per token, of all.",
            "",
            "| metric | value | signature |",
            "|---|---|---|",
            *rows,
        ]
    )


def example(sample: dict[str, str]) -> str:
    named = {"src": "source", "out": "output", "ref": "reference"}
    return "\n".join(f"- {name}: {quoted(sample[key])}" for key, name in named.items() if key in sample)


def quoted(text: str) -> str:
    """A line of a corpus may hold anything: it stays a line, and code to Markdown."""
    shown = "".join(c if c.isprintable() else " " for c in text).replace("`", "'")
    return f"`{shown}`"


def own_limits(config: Config) -> list[str]:
    limits = [
        f"- It was trained on sides of at most {config.longest_side} tokens; longer ones are guesswork."
    ]
    if config.text.lowercase:
        limits.append("- It reads and writes lower case.")
    return limits


def licences(config: Config) -> str:
    """The licence of a model follows from those of its data, which only its maker knows."""
    lines = [f"- {of(corpus)}: {corpus.licence or 'not stated'}" for corpus in config.data.train]
    return "\n".join(
        ["It was made from", "", *lines, "", "Whoever passes the model on has to keep to these."]
    )


def citation() -> str:
    return f"""\
    @software{{dragoman,
      author  = {{The Dragoman developers}},
      title   = {{Dragoman: the trainer for sequence-to-sequence models you own}},
      version = {{{version("dragoman")}}}
    }}

Please cite the corpora as their authors ask."""
