"""Importer for Marian Transformers (Junczys-Dowmunt et al. 2018), including those of OPUS-MT.

Marian differs from ours in three ways. The first decoder input is a zero vector, so the embedding of <s> is
set to 0. Sinusoids have rates 10000^{−i/(d/2 − 1)}, so they are stored as a table. With
`transformer-preprocess: n` only queries are normalized, not keys and values, which is not supported.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import torch
import yaml
from torch import Tensor

from dragoman.importing.files import LARGEST_SETTINGS, LARGEST_VOCABULARY, read_pieces, read_text, refusal
from dragoman.importing.foreign_model import (
    LONGEST,
    NEVER,
    Entries,
    ForeignModel,
    Weights,
    is_size,
    text_of,
    units,
)
from dragoman.importing.npz import Arrays, read_npz
from dragoman.text.specials import EOS, PAD, UNK
from dragoman.text.tokenizers.external_sentencepiece import ExternalSentencePiece

Settings = dict[str, Any]  # scalars and lists of scalars

SETTINGS = "special:model.yml"
SPECIALS = {PAD: "<pad>", UNK: "<unk>", EOS: "</s>"}
EPSILON = 1e-6
EXACT_GELU = "v1.12.42"  # what earlier versions compute is not known
DEEPEST = 4  # lists within lists in settings
SIZES = ("dim-emb", "enc-depth", "dec-depth", "transformer-heads", "transformer-dim-ffn")

# Supported values of settings that may be absent. Those without effect on type "transformer" are not here.
DEMANDED: dict[str, tuple[Any, ...]] = {
    "type": ("transformer",),
    "transformer-decoder-autoreg": ("self-attention",),
    "transformer-preprocess": ("", None),
    "transformer-postprocess": ("dan", "an"),
    "transformer-postprocess-emb": ("", "d", None),
    "transformer-postprocess-top": ("", None),
    "transformer-ffn-activation": ("relu", "swish", "gelu"),
    "transformer-ffn-depth": (2,),
    "transformer-decoder-ffn-depth": (0, 2),
    "transformer-decoder-dim-ffn": (0,),
    "transformer-train-positions": (False,),
    "transformer-disable-position-embeddings": (False,),
    "transformer-no-projection": (False,),
    "transformer-pool": (False,),
    "transformer-tied-layers": ([], None),
    "right-left": (False,),
    "lemma-dim-emb": (0,),
    "ulr": (False,),
}


# How the name of a vocabulary may say which side it is of.
SIDES = {"source": r"(?<![a-z])(?:src|source)(?![a-z])", "target": r"(?<![a-z])(?:trg|tgt|target)(?![a-z])"}


class Files(NamedTuple):
    weights: Path
    vocabularies: tuple[Path, Path]
    pieces: tuple[Path, Path]
    decoder: Settings  # of decoder.yml, or of what the trainer wrote beside the weights


def read_marian(path: Path) -> ForeignModel:
    files = find(path)
    arrays = read_npz(files.weights)
    settings = settings_of(arrays, files.weights)
    refuse(settings, files.weights)
    src, tgt = (Entries(vocabulary(file), SPECIALS, str(file)) for file in files.vocabularies)
    weights = Weights({name: a for name, a in arrays.items() if name != SETTINGS}, str(files.weights))
    ours = dict(convert(weights, settings, src, tgt))
    weights.refuse_rest()
    model = model_settings(settings, tied="none" if "head.W" in ours else "target")
    table = {"model": model, "text": units(files.pieces), "search": search_settings(files.decoder)}
    notes = search_notes(files.decoder)
    return ForeignModel("Marian", table, text_of(files.pieces, src, tgt), ours, notes)


def find(path: Path) -> Files:
    """Find the files of a folder as published by OPUS-MT or as Marian's trainer leaves it."""
    folder = path if path.is_dir() else path.parent
    weights = weights_of(path)
    named = named_settings(weights)
    vocabularies = [folder / name for name in names(named.get("vocabs"))]
    vocabularies = vocabularies or guessed_vocabularies(folder)
    pieces = [folder / name for name in ("source.spm", "target.spm") if (folder / name).exists()]
    pieces = pieces or [file for file in vocabularies if file.suffix == ".spm"]
    for kind, files in (("vocabulary (*vocab*.yml)", vocabularies), ("SentencePiece model (*.spm)", pieces)):
        if not 1 <= len(files) <= 2:
            raise refusal(
                [f"no {kind} next to the weights" if not files else f"too many: {kind}"], str(folder)
            )
    return Files(weights, (vocabularies[0], vocabularies[-1]), (pieces[0], pieces[-1]), named)


def weights_of(path: Path) -> Path:
    if not path.is_dir():
        return path
    found = [path / name for name in names(settings_file(path / "decoder.yml").get("models"))]
    found = found or [file for file in sorted(path.glob("*.npz")) if not file.stem.endswith(".optimizer")]
    if len(found) != 1:
        raise refusal([f"{len(found)} weight files, expected one"], str(path))
    return found[0]


def named_settings(weights: Path) -> Settings:
    """Return the first settings beside the weights that name the vocabularies, source first."""
    beside = (weights.with_name(weights.name + end) for end in (".decoder.yml", ".yml"))
    for file in (weights.with_name("decoder.yml"), *beside):
        if names((found := settings_file(file)).get("vocabs")):
            return found
    return {}


def settings_file(file: Path) -> Settings:
    return parsed(read_text(file, LARGEST_SETTINGS), str(file)) if file.exists() else {}


def guessed_vocabularies(folder: Path) -> list[Path]:
    """Return the only vocabulary, or those that say which side they are of."""
    found = sorted([*folder.glob("*vocab*.yml"), *folder.glob("*vocab*.spm")])
    found = found or sorted(folder.glob("*.spm"))
    if len(found) != 2:
        return found
    sides = {side: file for file in found for side in SIDES if re.search(SIDES[side], file.name)}
    if sides.keys() == SIDES.keys() and sides["source"] != sides["target"]:
        return [sides["source"], sides["target"]]
    first, second = (file.name for file in found)
    raise refusal(
        [f"two vocabularies, {first} and {second}, and nothing says which is the source's"],
        str(folder),
        f"Write {folder / 'decoder.yml'}, source first:  vocabs: [{first}, {second}]",
    )


def names(value: object) -> list[str]:
    return [Path(str(name)).name for name in value] if isinstance(value, list) else []


def settings_of(arrays: Arrays, file: Path) -> Settings:
    if SETTINGS not in arrays:
        raise refusal([f"no settings in it ({SETTINGS})"], str(file))
    raw = arrays[SETTINGS].tobytes()
    if len(raw) > LARGEST_SETTINGS:
        raise refusal([f"settings of {len(raw):,} bytes"], f"{file}: {SETTINGS}")
    return parsed(raw.rstrip(b"\0").decode("utf-8", errors="replace"), f"{file}: {SETTINGS}")


def parsed(text: str, where: str) -> Settings:
    """Return the top-level keys that have a scalar or a list of scalars."""
    try:
        refuse_bombs(text)
        found = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError) as error:
        raise refusal([f"settings that cannot be read ({first_line(error)})"], where) from None
    table = found if isinstance(found, dict) else {}
    return {str(key): value for key, value in table.items() if is_plain(value)}


def refuse_bombs(text: str) -> None:
    """Refuse what Marian does not write: aliases make gigabytes of a few lines, and brackets take long."""
    depth = 0
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > DEEPEST or isinstance(event, yaml.AliasEvent):
            raise ValueError("an alias, or lists within lists")


def is_plain(value: object) -> bool:
    parts = value if isinstance(value, list) else [value]
    return all(part is None or isinstance(part, str | int | float) for part in parts)


def first_line(error: Exception) -> str:
    return str(error).partition("\n")[0][:80]


def refuse(settings: Settings, file: Path) -> None:
    against = [
        f"{name}: {json.dumps(settings[name])}"
        for name, allowed in DEMANDED.items()
        if name in settings and settings[name] not in allowed
    ]
    activation, version = (str(settings.get(name, "")) for name in ("transformer-ffn-activation", "version"))
    if activation == "gelu" and not version.startswith(EXACT_GELU):
        against.append(f"transformer-ffn-activation: gelu of a version other than {EXACT_GELU}")
    against += [f"no {name}" for name in ("type", *SIZES) if name not in settings]
    against += [
        f"{name}: {json.dumps(settings[name])[:80]}"
        for name in SIZES
        if name in settings and not is_size(settings[name])
    ]
    if against:
        raise refusal(against, f"{file}: {SETTINGS}")


def vocabulary(file: Path) -> list[str]:
    """Return the entries in the order of their ids."""
    if file.suffix == ".spm":
        return ExternalSentencePiece.read(file, read=read_pieces).every_piece
    try:
        found = ids_of(read_text(file, LARGEST_VOCABULARY))
    except (yaml.YAMLError, ValueError) as error:
        raise refusal([f"a vocabulary that cannot be read ({first_line(error)})"], str(file)) from None
    if sorted(found.values()) != list(range(len(found))):
        raise refusal(["a vocabulary whose ids are not 0, 1, 2 …"], str(file))
    return sorted(found, key=found.__getitem__)


def ids_of(text: str) -> dict[str, int]:
    """Return the id of each token, by YAML's events: with its types, "no" and "12:30" would not be words."""
    values = []
    for event in islice(yaml.parse(text, Loader=yaml.CBaseLoader), 3, None):  # of stream, document, mapping
        if isinstance(event, yaml.MappingEndEvent):
            break
        if not isinstance(event, yaml.ScalarEvent):
            raise ValueError("not lines of `token: id`")
        values.append(event.value)
    return {token: int(id) for token, id in zip(values[::2], values[1::2], strict=True)}


def model_settings(settings: Mapping[str, Any], tied: str) -> dict[str, Any]:
    part = {
        "kind": "transformer",
        "width": settings["dim-emb"],
        "heads": settings["transformer-heads"],
        "ffn": settings["transformer-dim-ffn"],
        "activation": settings.get("transformer-ffn-activation", "swish"),
        "norm": "post",
        "norm_eps": EPSILON,
        "positions": "learned",
        "max_positions": LONGEST,
    }
    return {
        "encoder": {**part, "layers": settings["enc-depth"]},
        "decoder": {**part, "layers": settings["dec-depth"]},
        "tied": tied,
    }


def search_settings(decoder: Mapping[str, Any]) -> dict[str, Any]:
    """Return the beam of a decoder.yml. Marian does not divide by the length unless `normalize` says so."""
    allow = bool(decoder.get("allow-unk", False))
    if not decoder:
        return {"allow_unk": allow}
    size, alpha = decoder.get("beam-size", 12), decoder.get("normalize", 0)
    kind = "greedy" if size == 1 else "beam"
    return {"kind": kind, "size": size, "length_penalty": alpha, "allow_unk": allow}


def search_notes(decoder: Mapping[str, Any]) -> tuple[str, ...]:
    penalty = decoder.get("word-penalty", 0)
    return (f"word-penalty: {penalty} has no counterpart; outputs have another length",) if penalty else ()


def convert(
    weights: Weights, settings: Mapping[str, Any], src: Entries, tgt: Entries
) -> Iterator[tuple[str, Tensor]]:
    shared = weights.take("Wemb", 2) if weights.has("Wemb") else None
    source, target = (
        weights.take(f"{side}_Wemb", 2) if weights.has(f"{side}_Wemb") else shared
        for side in ("encoder", "decoder")
    )
    if source is None or target is None:
        raise refusal(["no embeddings (Wemb)"], "the weights")
    yield "encoder.embed.matrix", src.rows(source)
    yield "decoder.embed.matrix", tgt.rows(target)
    yield from output(weights, tgt, omits_bias=bool(settings.get("output-omit-bias", False)))
    for side, depth in (("encoder", settings["enc-depth"]), ("decoder", settings["dec-depth"])):
        yield f"{side}.embed.positions.table", sinusoids(LONGEST, target.shape[1])
        for number in range(depth):
            yield from layer(weights, f"{side}_l{number + 1}", f"{side}.layers.{number}", side)


def output(weights: Weights, tgt: Entries, *, omits_bias: bool) -> Iterator[tuple[str, Tensor]]:
    """Yield the weights of the output layer, which has its own matrix unless it is tied to the embeddings.

    With `output-omit-bias`, Marian does not read a bias that is there.
    """
    name = "decoder_ff_logit_out"
    if weights.has(f"{name}_W"):
        yield "head.W", tgt.rows(weights.take(f"{name}_W", 2).T)
    elif weights.has(f"{name}_Wt"):
        yield "head.W", tgt.rows(weights.take(f"{name}_Wt", 2))
    bias = weights.take(f"{name}_b").reshape(-1) if weights.has(f"{name}_b") else torch.zeros(tgt.count)
    yield "head.b", tgt.rows(torch.zeros(tgt.count) if omits_bias else bias, NEVER)


def layer(weights: Weights, theirs: str, ours: str, side: str) -> Iterator[tuple[str, Tensor]]:
    yield from linear(weights, f"{theirs}_self", "qkv", f"{ours}.attention.W_qkv")
    yield from linear(weights, f"{theirs}_self", "o", f"{ours}.attention.W_o")
    yield from norm(weights, f"{theirs}_self_Wo", f"{ours}.around_attention.norm")
    if side == "decoder":
        yield from linear(weights, f"{theirs}_context", "q", f"{ours}.cross.W_q")
        yield from linear(weights, f"{theirs}_context", "kv", f"{ours}.cross.W_kv")
        yield from linear(weights, f"{theirs}_context", "o", f"{ours}.cross.W_o")
        yield from norm(weights, f"{theirs}_context_Wo", f"{ours}.around_cross.norm")
    yield from linear(weights, f"{theirs}_ffn", "1", f"{ours}.ffn.W_1")
    yield from linear(weights, f"{theirs}_ffn", "2", f"{ours}.ffn.W_2")
    yield from norm(weights, f"{theirs}_ffn_ffn", f"{ours}.around_ffn.norm")


def linear(weights: Weights, theirs: str, parts: str, ours: str) -> Iterator[tuple[str, Tensor]]:
    """Yield a linear layer: Marian's matrices are transposed, and several become one."""
    matrices = [weights.take(f"{theirs}_W{part}", 2).T for part in parts]
    yield f"{ours}.weight", weights.stacked(matrices, theirs)
    yield f"{ours}.bias", torch.cat([weights.take(f"{theirs}_b{part}").reshape(-1) for part in parts])


def norm(weights: Weights, theirs: str, ours: str) -> Iterator[tuple[str, Tensor]]:
    yield f"{ours}.weight", weights.take(f"{theirs}_ln_scale").reshape(-1)
    yield f"{ours}.bias", weights.take(f"{theirs}_ln_bias").reshape(-1)


def sinusoids(count: int, size: int) -> Tensor:
    """Return sin(p · r_i), then cos(p · r_i), with r_i = 10000^{−i/(d/2 − 1)}."""
    half = size // 2
    rates = 10000.0 ** (-torch.arange(half, dtype=torch.float64) / max(half - 1, 1))
    angles = torch.arange(count, dtype=torch.float64).unsqueeze(1) * rates
    return torch.cat((angles.sin(), angles.cos()), dim=1).float()
