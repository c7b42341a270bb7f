"""What a page asks of models: decode a text, with decisions changed, and show the inside.

Plain data comes in and goes out; how it travels is another matter. An output is exactly the one that
`model.explain` gives with the same constraints.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from threading import Lock
from typing import Any, NamedTuple

import torch

from dragoman.config.load import with_changes
from dragoman.config.search import SearchConfig
from dragoman.errors import UsageError
from dragoman.inference.explain import Heard, listen, network_of
from dragoman.inference.model import Model
from dragoman.inference.result import Result
from dragoman.inspection.attention import attention_layers
from dragoman.inspection.beam_tree import beam_tree
from dragoman.inspection.data import AttentionLayer, Equation
from dragoman.inspection.equations import step_equations
from dragoman.inspection.forced_attention import forced_attention
from dragoman.inspection.pictures.labels import is_right_to_left, label, safe
from dragoman.search.topk import mask_never_written, topk
from dragoman.search.trace import Trace
from dragoman.serving.requests import DecodeAsked, PictureAsked, StepAsked, checked
from dragoman.steering.step_tokens import StepTokens
from dragoman.steering.token_bytes import SPACE, TokenBytes
from dragoman.text.specials import EOS
from dragoman.text.tokenizers.sentencepiece import MARK

ALTERNATIVES = 10
DIGITS = 5  # of the numbers that are only drawn
MOST_WEIGHTS = 300_000  # of all heads together; of more, only the means of the heads are sent

Json = dict[str, Any]


class NamedModel(NamedTuple):
    name: str
    model: Model
    search: SearchConfig


class Workbench:
    """The models of a page. One request runs at a time: forced attention changes a network while it steps.

    `actions` are what may be asked for, by name.
    """

    def __init__(self, models: Sequence[NamedModel], text: str = "") -> None:
        self._models = models
        self._text = text
        self._lock = Lock()
        self.actions = {
            "models": self._alone(self.models),
            "decode": self._alone(self.decode),
            "equations": self._alone(self.equations),
            "picture": self._alone(self.picture),
        }

    def _alone(self, action: Callable[[Any], Json]) -> Callable[[Any], Json]:
        def run(data: Any) -> Json:
            with self._lock:
                return action(data)

        return run

    def models(self, data: Any = None) -> Json:
        """Return the models and their settings of search, and the text to begin with."""
        return {"text": self._text, "models": [described(one) for one in self._models]}

    def decode(self, data: Any) -> Json:
        asked = checked(DecodeAsked, data)
        model, heard = self._listen(asked)
        if isinstance(heard, Result):
            return {"output": safe(heard.text), "source": [], "steps": [], "attention": [], "beam": None}
        return answered(model, heard)

    def equations(self, data: Any) -> Json:
        """Return the numbers of one step of the output, those of the vocabulary for the likeliest tokens."""
        asked = checked(StepAsked, data)
        model, heard = self._listen(asked)
        if isinstance(heard, Result) or asked.step >= len(heard.written):
            raise no_step(asked.step)
        network = heard.network
        source = tuple(token["shown"] for token in source_tokens(model, heard))
        heads = max((len(layer.heads) for layer in cross(heard)), default=1)
        head = min(asked.head, heads - 1)
        with forced_attention(network, asked.attend):
            found = step_equations(network, heard.batch, asked.step, source, head)
        surface, step = model.translator.surfaces.tgt, heard.log_p[asked.step]
        best = topk(mask_never_written(step.unsqueeze(0)), min(ALTERNATIVES, len(step)))[1][0].tolist()
        return {
            "step": asked.step,
            "heads": heads,
            "head": head,
            "equations": [shown(one, best, surface, len(step)) for one in found],
        }

    def picture(self, data: Any) -> Json:
        """Return the attention and the beam tree as a file: an SVG, or the data."""
        asked = checked(PictureAsked, data)
        model, search = self._model(asked)
        found = model.explain(
            asked.text,
            search,
            saliency=False,
            attend=asked.attend,
            steps=steps_of(asked),
            forbid=asked.forbid,
        )
        if asked.format == "json":
            return {"content": found.asdict()}
        return {"content": found.svg(theme=asked.theme)}

    def _listen(self, asked: DecodeAsked) -> tuple[Model, Heard | Result]:
        model, search = self._model(asked)
        heard = listen(
            model.translator, asked.text, search, asked.attend, steps=steps_of(asked), forbid=asked.forbid
        )
        return model, heard

    def _model(self, asked: DecodeAsked) -> tuple[Model, SearchConfig]:
        """Return a model, and its settings of search with the changes of the page."""
        if asked.model >= len(self._models):
            raise UsageError(
                f"There is no model {asked.model}.", where="model", expected=f"less than {len(self._models)}"
            )
        _, model, search = self._models[asked.model]
        return model, with_changes(search, asked.search.model_dump(exclude_none=True))


def steps_of(asked: DecodeAsked) -> StepTokens | None:
    return StepTokens(asked.write, asked.avoid) if asked.write or asked.avoid else None


def described(one: NamedModel) -> Json:
    network = network_of(one.model.translator)
    return {
        "name": safe(one.name),
        "parameters": sum(parameter.numel() for parameter in network.parameters()),
        "search": one.search.model_dump(
            include={"kind", "size", "length_penalty", "length_norm", "temperature", "seed"}
        ),
    }


def answered(model: Model, heard: Heard) -> Json:
    """Return what the page shows of one output."""
    result, source = heard.result, source_tokens(model, heard)
    layers = [layer for layer in cross(heard) if len(layer.keys) == len(source)]  # states of the tokens
    surface = model.translator.surfaces.tgt
    steps = output_steps(heard, surface)
    has_heads = sum(len(x.heads) * len(x.queries) * len(x.keys) for x in layers) <= MOST_WEIGHTS
    return {
        "output": safe(result.text),
        "truncated": result.truncated,
        "source": source,
        "sourceIsRightToLeft": is_right_to_left([token["shown"] for token in source]),
        "steps": steps,
        "outputIsRightToLeft": is_right_to_left([step["shown"] for step in steps]),
        "attention": [weights(layer, has_heads=has_heads) for layer in layers],
        "beam": None if result.trace is None else tree(result.trace, surface),
    }


def cross(heard: Heard) -> list[AttentionLayer]:
    """Return the attention to the source."""
    return [layer for layer in attention_layers(heard.seen, ()) if layer.kind == "cross"]


def weights(layer: AttentionLayer, *, has_heads: bool) -> Json:
    heads = [rounded(head) for head in layer.heads] if has_heads and len(layer.heads) > 1 else []
    return {"layer": layer.layer, "mean": rounded(layer.mean), "heads": heads}


def rounded(rows: Sequence[Sequence[float]]) -> list[list[float]]:
    return [[round(x, DIGITS) for x in row] for row in rows]


def source_tokens(model: Model, heard: Heard) -> list[Json]:
    ids = [*heard.source, EOS] if isinstance(heard.source, list) else []
    return [token(id, model.translator.surfaces.src) for id in ids]


def output_steps(heard: Heard, surface: TokenBytes) -> list[Json]:
    """Return each step with its token, the probability of it and of its alternatives, and the entropy."""
    values, ids = topk(mask_never_written(heard.log_p), min(ALTERNATIVES, heard.log_p.shape[1]))
    rows = zip(heard.written, heard.log_p, values.exp().tolist(), ids.tolist(), strict=True)
    return [
        {
            **token(id, surface),
            "p": float(log_p[id].exp()),
            "entropy": float(torch.special.entr(log_p.exp()).sum()),
            "alternatives": [{**token(other, surface), "p": p} for other, p in zip(others, ps, strict=True)],
        }
        for id, log_p, ps, others in rows
    ]


def tree(trace: Trace, surface: TokenBytes) -> Json:
    """Return the candidates of a search, each with the token that it writes."""
    found = asdict(beam_tree(trace, lambda id: token(id, surface)["shown"]))
    for node, candidate in zip(found["nodes"], trace.candidates, strict=True):
        node["id"], node["space"] = candidate.token, token(candidate.token, surface)["space"]
    return found


def token(id: int, surface: TokenBytes) -> Json:
    """Return how an entry of a vocabulary is shown, and whether a space precedes it."""
    piece = surface.tokenizer.piece(id)
    has_space = surface.opens and surface.pieces[id].startswith(SPACE)
    bare = piece.removeprefix(MARK) if has_space else piece
    return {"id": id, "shown": label(bare or " "), "space": has_space}


def shown(one: Equation, best: Sequence[int], surface: TokenBytes, size: int) -> Json:
    """Return an equation with short numbers; of one over the vocabulary, those of the best tokens."""
    labels, values = list(one.labels), list(one.values)
    if one.name in ("logits", "probabilities") and len(values) == size:
        labels, values = [token(id, surface)["shown"] for id in best], [values[id] for id in best]
    return {
        "name": one.name,
        "formula": one.formula,
        "labels": labels,
        "values": [float(f"{value:.6g}") for value in values],
        "norm": math.hypot(*one.values),
    }


def no_step(step: int) -> UsageError:
    return UsageError(
        f"The output has no step {step}.", where="step", expected="a step of the output", hint="Decode again."
    )


def error_data(error: Exception) -> Mapping[str, str]:
    """Return an error as data for a page."""
    names = ("what", "where", "expected", "hint")
    return {name: safe(str(getattr(error, name, ""))) for name in names}
