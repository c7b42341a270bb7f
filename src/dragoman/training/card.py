"""The model card, card.md: architecture, training data, scores and licences. It is written by training."""

from __future__ import annotations

import os
from importlib.metadata import version
from typing import Any

from dragoman.config.data import Corpus
from dragoman.config.presets import preset_of
from dragoman.config.root import Config
from dragoman.metrics.report import signatures
from dragoman.tasks.search_choice import SearchChoice

LIMITS = """\
- The model reflects its training data. Expect weaker results on other domains and spellings, and check its
  output before you rely on it: an output can be fluent and wrong.
- Bias and errors in the data can reappear in the output."""


def model_card(config: Config, facts: dict[str, Any]) -> str:
    """Return the card. `facts` are the results of the run, the facts of its data and its parameter count."""
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
    preset = f" (preset {name})" if (name := preset_of(model)) else ""
    minutes = facts["seconds"] / 60
    lines = [
        f"{model.brief}{preset}, {units} units,",
        f"{facts['parameters']:,} parameters. {facts['step']:,} updates in {minutes:.1f} minutes with "
        f"Dragoman {version('dragoman')};",
        f"the weights are the {facts['chosen']} of its checkpoints. All settings are in settings.toml.",
    ]
    if init_from := config.training.init_from:
        lines.append(f"It was fine-tuned: it started from the weights and the vocabulary of {init_from}.")
    return "\n".join(lines)


def data(config: Config, facts: dict[str, Any]) -> str:
    validation = file_names(config.data.valid) if config.data.valid else "held out from the training pairs"
    lines = [
        f"{facts['pairs']:,} pairs, {facts['tgt_tokens']:,} target tokens, from",
        "",
        *(f"- {file_names(corpus)} (weight {corpus.weight:g})" for corpus in config.data.train),
        "",
        f"Validated on {facts['watched']:,} pairs: {validation}.",
    ]
    return "\n".join(lines)


def file_names(corpus: Corpus) -> str:
    return " + ".join(os.path.basename(file) for file in corpus.files)


def scores(config: Config, facts: dict[str, Any]) -> str:
    """Return a table of the validation scores of the selected weights."""
    signed = signatures([facts.get("sample", {}).get("ref", "")])
    rows = [f"| {name} | {value:.4f} | {signed.get(name, '')} |" for name, value in facts["valid"].items()]
    cased = ", both sides lower-cased" if config.text.lowercase else ""
    decoded = f"{facts['decoded']:,}"
    return "\n".join(
        [
            f"Metrics of the first {decoded} validation pairs, decoded as by `dragoman run`{cased}. "
            "The loss is per token, over all pairs.",
            *searched(facts["search"]),
            "",
            "| metric | value | signature |",
            "|---|---|---|",
            *rows,
        ]
    )


def searched(choice: dict[str, Any] | None) -> list[str]:
    return [f"Of the searches, {SearchChoice(**choice).sentence}."] if choice else []


def example(sample: dict[str, str]) -> str:
    named = {"src": "source", "out": "output", "ref": "reference"}
    return "\n".join(f"- {name}: {quoted(sample[key])}" for key, name in named.items() if key in sample)


def quoted(text: str) -> str:
    """Return a line of a corpus, which may contain anything, as inline code that cannot break the page."""
    shown = "".join(c if c.isprintable() else " " for c in text).replace("`", "'")
    return f"`{shown}`"


def own_limits(config: Config) -> list[str]:
    limits = [
        f"- It was trained on at most {config.longest_side} tokens per side; longer texts are unreliable."
    ]
    if config.text.lowercase:
        limits.append("- It reads and writes lower case.")
    return limits


def licences(config: Config) -> str:
    """List the licences of the data. That of the model follows from them, and only its author knows it."""
    lines = [f"- {file_names(corpus)}: {corpus.licence or 'not stated'}" for corpus in config.data.train]
    return "\n".join(
        ["It was trained on", "", *lines, "", "To redistribute the model, comply with these licences."]
    )


def citation() -> str:
    return f"""\
    @software{{dragoman,
      author  = {{The Dragoman developers}},
      title   = {{Dragoman: the trainer for sequence-to-sequence models you own}},
      version = {{{version("dragoman")}}}
    }}

Please cite the corpora as their authors ask."""
