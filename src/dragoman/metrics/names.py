"""The names of the metrics, as they are asked for and as they are shown. Light: the command line reads it."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.errors import UsageError
from dragoman.spelling import closest, did_you_mean

TITLES = {
    "bleu": "BLEU",
    "chrf": "chrF",
    "exact_match": "exact match",
    "wer": "WER",
    "cer": "CER",
    "ter": "TER",
    "rouge_1": "ROUGE-1",
    "rouge_2": "ROUGE-2",
    "rouge_l": "ROUGE-L",
    "google_gleu": "Google GLEU",
    "napoles_gleu": "Napoles GLEU",
    "accuracy": "accuracy",
    "macro_f1": "macro-F1",
    "tag_accuracy": "tag accuracy",
    "span_f1": "span F1",
}
# Not of outputs and references: the figures of a language model, and the label of a tagged sentence.
OTHER_TITLES = {
    "perplexity": "perplexity",
    "nats_per_token": "nats/token",
    "nats_per_character": "nats/char",
    "bits_per_character": "bits/char",
    "word_perplexity": "word ppl",
    "intent": "intent",
}
ALL_TITLES = {**TITLES, **OTHER_TITLES}
USUAL = ("bleu", "chrf", "exact_match", "wer", "cer")
GROUPS = {"rouge": ("rouge_1", "rouge_2", "rouge_l")}
ERRORS = ("ter", "wer", "cer")  # better when lower
PERCENT = ("exact_match", "wer", "cer", "accuracy", "tag_accuracy", "intent")
SMALL = ("nats_per_token", "nats_per_character", "bits_per_character")  # shown with more digits


def known_metrics(asked: Sequence[str]) -> list[str]:
    """Return the metrics that are asked for, once each, with the members of groups; a str is one name."""
    asked = [asked] if isinstance(asked, str) else asked
    every = [*TITLES, *GROUPS]
    for name in asked:
        if name not in every:
            within = [known for known in every if name in known]
            meant = within or [close for close in [closest(name, every)] if close]
            raise UsageError(
                f'There is no metric "{name}".' + did_you_mean(*meant),
                where="the metrics",
                expected="some of " + ", ".join(every),
                hint=f"Write {(*meant, USUAL[0])[0]}.",
            )
    return list(dict.fromkeys(member for name in asked for member in GROUPS.get(name, (name,))))
