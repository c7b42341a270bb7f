"""Model folders: settings, weights and tokenizers. A folder is self-contained, without code, and verified."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors.torch import save_file

from dragoman.config.dump import to_toml
from dragoman.config.load import load_written
from dragoman.config.paths import from_folder
from dragoman.config.root import Config
from dragoman.durable import new_folder
from dragoman.errors import ModelError, UsageError
from dragoman.manifest import MANIFEST
from dragoman.models.builders.network import new_model
from dragoman.models.calibration import FILE as CALIBRATION
from dragoman.models.calibration import Calibration, read_calibration, write_calibration
from dragoman.models.folder import (
    CARD,
    SETTINGS,
    TEXT,
    WEIGHTS,
    open_folder,
    refuse_oversized,
    refuse_swollen,
)
from dragoman.models.header import TensorEntry, entries
from dragoman.models.language_model import LanguageModel
from dragoman.models.seq2seq import Seq2Seq
from dragoman.protocols import Network, Stepper
from dragoman.text.build import load as load_text
from dragoman.text.build import save as save_text
from dragoman.text.tokenizer_pair import TokenizerPair

KINDS = {"F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16}


@dataclass(frozen=True)
class Bundle:
    config: Config
    text: TokenizerPair
    model: Network
    calibration: Calibration | None = None

    @property
    def stepper(self) -> Stepper:
        """The network of a model whose outputs are searched step by step."""
        return self.model if isinstance(self.model, LanguageModel) else self.seq2seq

    @property
    def seq2seq(self) -> Seq2Seq:
        """The network of a model that translates."""
        if isinstance(self.model, Seq2Seq):
            return self.model
        raise UsageError(
            "This works for models that translate only.",
            where=f'task = "{self.config.task}"',
            hint="dragoman run MODEL TEXT",
        )

    @property
    def longest_source(self) -> int:
        """Return the maximum number of source tokens, excluding </s>, or of frames."""
        return self.config.longest_source

    @property
    def longest_target(self) -> int:
        """Return the maximum number of target tokens, including </s>."""
        return self.config.model.longest_target


def save_bundle(
    folder: Path,
    config: Config,
    text: TokenizerPair,
    weights: Mapping[str, torch.Tensor],
    card: str,
    calibration: Calibration | None = None,
) -> None:
    with new_folder(folder, size=sum(tensor.nbytes for tensor in weights.values())) as new:
        (new / SETTINGS).write_text(to_toml(from_folder(config, folder)), encoding="utf-8")
        (new / CARD).write_text(card, encoding="utf-8")
        save_text(text, new / TEXT)
        save_file({name: tensor.contiguous() for name, tensor in weights.items()}, new / WEIGHTS)
        if calibration:
            write_calibration(new, calibration)


def load_bundle(folder: Path) -> Bundle:
    """Return the model in fp32, ready to run; raise ModelError if a file was changed since it was written."""
    manifest = open_folder(folder)
    config = load_written(folder / SETTINGS, manifest.read)
    text = load_text(folder / TEXT, manifest.read)
    refuse_swollen(manifest, config.model, text.src.size, text.tgt.size)
    weights = tensors(manifest.read_writable(folder / WEIGHTS), folder / WEIGHTS)
    calibration = read_calibration(folder / CALIBRATION, manifest.read) if CALIBRATION in manifest else None
    manifest.verify()
    numbers = sum(tensor.numel() for tensor in weights.values())
    refuse_oversized(config.model, numbers, folder / SETTINGS, text.src.size, text.tgt.size)
    model = new_model(config, text)
    load_weights(model, weights, folder / WEIGHTS)
    return Bundle(config, text, model.eval(), calibration)


def add_calibration(folder: Path, calibration: Calibration) -> None:
    """Replace the calibration of a model folder atomically."""

    def outdated(directory: str, names: list[str]) -> set[str]:
        """Return the files not to copy: the manifest, but not that of an export."""
        hidden = {name for name in names if name.startswith(".")}
        return {MANIFEST, *hidden} if Path(directory) == folder else set()

    with new_folder(folder) as new:
        open_folder(folder)
        shutil.copytree(folder, new, dirs_exist_ok=True, ignore=outdated)
        write_calibration(new, calibration)


def tensors(raw: bytearray, file: Path) -> dict[str, torch.Tensor]:
    """Return the tensors of a safetensors file as views of the memory it was read into."""
    try:
        found = entries(raw)
    except ValueError as error:
        raise ModelError(
            f"The weights cannot be read: {error}.",
            where=str(file),
            expected="a complete safetensors file",
            hint="Copy the folder again, or train the model again.",
        ) from None
    return {name: view(raw, entry) for name, entry in found.items()}


def view(raw: bytearray, entry: TensorEntry) -> torch.Tensor:
    if not entry.numbers:
        return torch.empty(entry.shape, dtype=KINDS[entry.kind])
    flat = torch.frombuffer(raw, dtype=KINDS[entry.kind], count=entry.numbers, offset=entry.begin)
    return flat.view(entry.shape)


def load_weights(model: Network, weights: Mapping[str, torch.Tensor], file: Path) -> None:
    parameters = dict(model.named_parameters())
    expected = {name: tuple(p.shape) for name, p in parameters.items()}
    found = {name: tuple(tensor.shape) for name, tensor in weights.items()}
    if found != expected:
        wrong = sorted({name for name, _ in expected.items() ^ found.items()})
        raise ModelError(
            f"The weights do not match the settings: {', '.join(wrong[:3])}{' …' if len(wrong) > 3 else ''}.",
            where=str(file),
            expected=f"{WEIGHTS} and {SETTINGS} of the same model",
            hint="Copy the folder again, or train the model again.",
        )
    refuse_nan(weights, file)
    with torch.no_grad():
        for name, p in parameters.items():
            p.copy_(weights[name])


def refuse_nan(weights: Mapping[str, torch.Tensor], file: Path) -> None:
    """Raise ModelError if a weight is not finite.

    One pass without a copy, which takes a sixth of the time of hashing the file.
    """
    for name, tensor in weights.items():
        if not tensor.numel():
            continue
        least, most = torch.aminmax(tensor.float())
        if not (least.isfinite() and most.isfinite()):
            raise ModelError(
                f"The weights hold NaN or infinity, in {name}.",
                where=str(file),
                expected="finite numbers",
                hint="Train the model again, with a smaller training.lr.",
            )
