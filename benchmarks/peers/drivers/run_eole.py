"""Eole: its `train` command."""

import sys
import tempfile
from pathlib import Path
from typing import Any

import sentencepiece
import yaml
from eole.bin.main import main as eole_command
from eole.trainer import BatchProcessor
from measure import Clock, Order, read_order, report, talk_on_stderr

NEVER = 1_000_000


def write_vocabulary(model: Path, file: Path) -> None:
    """List the pieces for Eole, with its special symbols in the places of ours."""
    pieces = sentencepiece.SentencePieceProcessor(model_file=str(model))
    listed = [pieces.id_to_piece(id) for id in range(pieces.get_piece_size())]
    file.write_text("".join(f"{piece}\t1\n" for piece in listed), "utf-8")


def model_settings() -> dict[str, Any]:
    """The shared shape; Eole leaves out the biases of nn.Transformer unless asked for them."""
    return {
        "architecture": "transformer",
        "layers": 3,
        "heads": 4,
        "hidden_size": 256,
        "transformer_ff": 1024,
        "add_qkvbias": True,
        "add_ffnbias": True,
        "share_embeddings": True,
        "share_decoder_embeddings": True,
        "generator_bias": False,
        "embeddings": {
            "word_vec_size": 256,
            "position_encoding": True,
            "position_encoding_type": "SinusoidalInterleaved",
        },
    }


def training_settings(order: Order, folder: Path) -> dict[str, Any]:
    return {
        "model_path": str(folder / "run"),
        "world_size": 1,
        "gpu_ranks": [],
        "compute_dtype": order.precision,
        "optim": "adam",
        "learning_rate": 3e-4,
        "max_grad_norm": 1.0,
        "dropout": [0.1],
        "attention_dropout": [0.1],
        "label_smoothing": 0.1,
        "param_init_method": "xavier_uniform",
        "batch_type": "tokens",
        "batch_size": 4096,
        "normalization": "tokens",
        # One epoch at a time, read before the first update, and no second process beside the trainer.
        "bucket_size": 29_000,
        "num_workers": 0,
        "train_steps": order.total_updates,
        "valid_steps": NEVER,
        "save_checkpoint_steps": NEVER,
        "log_attention_entropy": False,
    }


def settings(order: Order, folder: Path) -> dict[str, Any]:
    vocabulary = folder / "vocabulary.txt"
    write_vocabulary(order.model, vocabulary)
    return {
        "seed": 1,
        "overwrite": True,
        "share_vocab": True,
        "src_vocab": str(vocabulary),
        "pad_token": "<pad>",
        "report_every": NEVER,
        "data": {
            "train": {"path_src": str(order.data / "train.en"), "path_tgt": str(order.data / "train.de")},
        },
        "transforms": ["sentencepiece"],
        "transforms_configs": {"sentencepiece": {"src_subword_model": str(order.model)}},
        "model": model_settings(),
        "training": training_settings(order, folder),
    }


def tell(clock: Clock) -> None:
    """Have Eole's trainer tell the clock when each update begins; without accumulation that is each batch."""
    process_batch = BatchProcessor.process_batch

    def clocked_batch(processor: BatchProcessor, batch: dict[str, Any], *rest: Any) -> bool:
        target = batch["tgt"][:, 1:]
        clock.update_begins(int((target != processor.train_loss.padding_idx).sum()))
        return process_batch(processor, batch, *rest)

    BatchProcessor.process_batch = clocked_batch


def main() -> None:
    order = read_order(__doc__, ("fp32", "bf16"))
    clock = Clock(order)
    tell(clock)
    with talk_on_stderr(), tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        config = folder / "speed.yaml"
        config.write_text(yaml.safe_dump(settings(order, folder)), "utf-8")
        sys.argv = ["eole", "train", "--config", str(config)]
        eole_command()
    report("Eole", "eole", order, clock)


if __name__ == "__main__":
    main()
