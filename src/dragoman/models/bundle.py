"""A model folder: settings, weights, text. All that has to be copied; no code in it; every bit checked."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from dragoman.config.dump import to_toml
from dragoman.config.load import load_written
from dragoman.config.paths import from_folder
from dragoman.config.root import Config
from dragoman.durable import MANIFEST, verify_folder, write_folder
from dragoman.errors import ModelError
from dragoman.models.build import build_model
from dragoman.models.calibration import Calibration, read_calibration, write_calibration
from dragoman.models.seq2seq import Seq2Seq
from dragoman.signature import SIGNATURE
from dragoman.text.build import load as load_text
from dragoman.text.build import save as save_text
from dragoman.text.pair import TextPair
from dragoman.text.spelling import spell

WEIGHTS = "weights.safetensors"
SETTINGS = "settings.toml"
FEW = 1 << 20  # numbers: tables of places may outgrow the weights of a tiny model


@dataclass(frozen=True)
class Bundle:
    config: Config
    text: TextPair
    model: Seq2Seq
    calibration: Calibration | None = None

    @property
    def longest_source(self) -> int:
        """Tokens that are read, beside </s>."""
        return self.config.model.longest_source

    @property
    def longest_target(self) -> int:
        """Tokens that are written, </s> among them."""
        return self.config.model.longest_target


def save_bundle(
    folder: Path,
    config: Config,
    text: TextPair,
    weights: Mapping[str, torch.Tensor],
    card: str,
    calibration: Calibration | None = None,
) -> None:
    def fill(new: Path) -> None:
        (new / SETTINGS).write_text(to_toml(from_folder(config, folder)), encoding="utf-8")
        (new / "card.md").write_text(card, encoding="utf-8")
        save_text(text, new / "text")
        save_file({name: tensor.contiguous() for name, tensor in weights.items()}, new / WEIGHTS)
        if calibration:
            write_calibration(new, calibration)

    write_folder(folder, fill, size=sum(tensor.nbytes for tensor in weights.values()))


def load_bundle(folder: Path) -> Bundle:
    """The model in fp32, ready to run; ModelError where a file is not as it was written."""
    texts = sorted(f"text/{file.name}" for file in (folder / "text").glob("*"))
    if fault := verify_folder(folder, [SETTINGS, WEIGHTS, *texts]):
        raise ModelError(
            f"The model folder is damaged: {fault}.",
            where=str(folder),
            expected="a model/ folder as training wrote it",
            hint="Copy the folder again, or train it again.",
        )
    config = load_written(folder / SETTINGS)
    refuse_oversized(config, folder)
    text = load_text(folder / "text")
    model = new_model(config, text)
    load_weights(model, read_weights(folder / WEIGHTS), folder / WEIGHTS)
    return Bundle(config, text, model.eval(), read_calibration(folder))


def add_calibration(folder: Path, calibration: Calibration) -> None:
    """The same folder with another calibration, whole at any time."""

    def outdated(place: str, names: list[str]) -> set[str]:
        """Neither the manifest nor a signature of it outlives a change; those of an export in it do."""
        return {MANIFEST, SIGNATURE} if Path(place) == folder else set()

    def fill(new: Path) -> None:
        shutil.copytree(folder, new, dirs_exist_ok=True, ignore=outdated)
        write_calibration(new, calibration)

    write_folder(folder, fill)


def refuse_oversized(config: Config, folder: Path) -> None:
    """A matrix that is far larger than all weights together would take the memory before it is compared."""
    numbers = max((folder / WEIGHTS).stat().st_size // 2, FEW)  # two bytes each at least
    for part in (config.model.encoder, config.model.decoder):
        values = [value for _, value in part]
        sizes = [n for v in values for n in (v if isinstance(v, tuple) else (v,)) if isinstance(n, int)]
        width = max(part.width) if isinstance(part.width, tuple) else part.width
        if width * max(sizes) > 16 * numbers:
            raise ModelError(
                f"The settings are those of a far larger model than the weights: {width:,} × {max(sizes):,}.",
                where=str(folder / SETTINGS),
                expected=f"{WEIGHTS} and {SETTINGS} of one model",
                hint="Copy the folder again, or train it again.",
            )


def new_model(config: Config, text: TextPair) -> Seq2Seq:
    return build_model(
        config.model,
        text.src.size,
        text.tgt.size,
        smoothing=config.training.label_smoothing,
        seed=config.training.seed,
        src_spelling=spell(text.src) if config.model.src_embedding.kind == "characters" else (),
        tgt_spelling=spell(text.tgt) if config.model.tgt_embedding.kind == "characters" else (),
    )


def read_weights(file: Path) -> dict[str, torch.Tensor]:
    try:
        return load_file(file)
    except (SafetensorError, OSError) as error:
        raise ModelError(
            f"The weights cannot be read: {error}.",
            where=str(file),
            hint="Copy the folder again, or train it again.",
        ) from None


def load_weights(model: Seq2Seq, weights: Mapping[str, torch.Tensor], file: Path) -> None:
    parameters = dict(model.named_parameters())
    expected = {name: tuple(p.shape) for name, p in parameters.items()}
    found = {name: tuple(tensor.shape) for name, tensor in weights.items()}
    if found != expected:
        odd = sorted({name for name, _ in expected.items() ^ found.items()})
        raise ModelError(
            f"The weights do not fit the settings: {', '.join(odd[:3])}{' …' if len(odd) > 3 else ''}.",
            where=str(file),
            expected=f"{WEIGHTS} and {SETTINGS} of one model",
            hint="Copy the folder again, or train it again.",
        )
    refuse_nan(weights, file)
    with torch.no_grad():
        for name, p in parameters.items():
            p.copy_(weights[name])


def refuse_nan(weights: Mapping[str, torch.Tensor], file: Path) -> None:
    """One pass without a copy, a sixth of what hashing the file takes."""
    for name, tensor in weights.items():
        if not tensor.numel():
            continue
        least, most = torch.aminmax(tensor.float())
        if not (least.isfinite() and most.isfinite()):
            raise ModelError(
                f"The weights hold NaN or infinity, in {name}.",
                where=str(file),
                expected="finite numbers",
                hint="Train it again, with a smaller training.lr.",
            )
