"""JoeyNMT: its `train` command, fp32 only (it turns half precision off on a CPU)."""

import sys
import tempfile
from pathlib import Path
from typing import Any

import joeynmt.__main__ as joeynmt_command
import sentencepiece
import yaml
from joeynmt.batch import Batch
from joeynmt.training import TrainManager
from measure import Clock, Order, read_order, report, talk_on_stderr

NEVER = 1_000_000


def write_vocabulary(model: Path, file: Path) -> None:
    """List the pieces for JoeyNMT, which puts its own four special symbols first."""
    pieces = sentencepiece.SentencePieceProcessor(model_file=str(model))
    listed = [pieces.id_to_piece(id) for id in range(4, pieces.get_piece_size())]
    file.write_text("\n".join(listed) + "\n", "utf-8")


def side(language: str, model: Path, vocabulary: Path) -> dict[str, Any]:
    return {
        "lang": language,
        "level": "bpe",
        "tokenizer_type": "sentencepiece",
        "tokenizer_cfg": {"model_file": str(model)},
        "voc_file": str(vocabulary),
    }


def half() -> dict[str, Any]:
    """The encoder, and the decoder."""
    return {
        "type": "transformer",
        "num_layers": 3,
        "num_heads": 4,
        "embeddings": {"embedding_dim": 256, "scale": True, "dropout": 0.1},
        "hidden_size": 256,
        "ff_size": 1024,
        "dropout": 0.1,
        "layer_norm": "pre",
    }


def settings(order: Order, folder: Path) -> dict[str, Any]:
    vocabulary = folder / "vocabulary.txt"
    write_vocabulary(order.model, vocabulary)
    return {
        "name": "speed",
        "joeynmt_version": "2.3.0",
        "model_dir": str(folder / "run"),
        "use_cuda": False,
        "random_seed": 1,
        "data": {
            "train": str(order.data / "train"),
            "dev": str(order.data / "val"),
            "dataset_type": "plain",
            "src": side("en", order.model, vocabulary),
            "trg": side("de", order.model, vocabulary),
        },
        "model": {
            "initializer": "xavier_uniform",
            "embed_initializer": "xavier_uniform",
            "tied_embeddings": True,
            "tied_softmax": True,
            "encoder": half(),
            "decoder": half(),
        },
        "training": {
            "optimizer": "adam",
            "learning_rate": 3e-4,
            "scheduling": "warmupinversesquareroot",
            "learning_rate_warmup": 4000,
            "clip_grad_norm": 1.0,
            "normalization": "tokens",
            "label_smoothing": 0.1,
            "batch_type": "token",
            "batch_size": 4096,
            "epochs": NEVER,
            "updates": order.total_updates,
            "logging_freq": NEVER,
            "validation_freq": NEVER,
            "early_stopping_metric": "loss",
        },
        "testing": {},
    }


def tell(clock: Clock) -> None:
    """Have JoeyNMT's trainer tell the clock when each update begins."""
    train_step = TrainManager._train_step

    def clocked_step(trainer: TrainManager, batch: Batch) -> tuple[float, int]:
        clock.update_begins(int((batch.trg != trainer.model.pad_index).sum()))
        return train_step(trainer, batch)

    TrainManager._train_step = clocked_step


def main() -> None:
    order = read_order(__doc__, ("fp32",))
    clock = Clock(order)
    tell(clock)
    with talk_on_stderr(), tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        config = folder / "speed.yaml"
        config.write_text(yaml.safe_dump(settings(order, folder)), "utf-8")
        sys.argv = ["joeynmt", "train", str(config), "--skip-test"]
        joeynmt_command.main()
    report("JoeyNMT", "joeynmt", order, clock)


if __name__ == "__main__":
    main()
