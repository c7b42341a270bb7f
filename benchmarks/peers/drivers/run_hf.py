"""Hugging Face transformers: a Marian model trained by Seq2SeqTrainer."""

import tempfile
from pathlib import Path
from typing import Any

import sentencepiece
import torch
from measure import Clock, Order, read_order, report, talk_on_stderr
from torch.nn.utils.rnn import pad_sequence
from transformers import MarianConfig, MarianMTModel, Seq2SeqTrainer, Seq2SeqTrainingArguments

PAD, BOS, EOS = 0, 2, 3
NO_LABEL = -100
# The trainer batches by sentences only; 256 of them hold about 4,096 target tokens of this data.
SENTENCES = 256

Example = dict[str, list[int]]


class ClockedTrainer(Seq2SeqTrainer):
    """The trainer as it is, telling the clock when each update begins."""

    clock: Clock

    def training_step(self, model: Any, inputs: dict[str, Any], *rest: Any, **named: Any) -> torch.Tensor:
        self.clock.update_begins(int((inputs["labels"] != NO_LABEL).sum()))
        return super().training_step(model, inputs, *rest, **named)


def read_examples(data: Path, model: Path) -> list[Example]:
    """Encode the training pairs, each side ending in </s>."""
    pieces = sentencepiece.SentencePieceProcessor(model_file=str(model))
    sides = [
        pieces.encode((data / f"train.{language}").read_text("utf-8").rstrip("\n").split("\n"), add_eos=True)
        for language in ("en", "de")
    ]
    return [{"input_ids": source, "labels": target} for source, target in zip(*sides, strict=True)]


def collate(examples: list[Example]) -> dict[str, torch.Tensor]:
    """Pad a batch, with decoder inputs: under label smoothing the trainer keeps the labels from the model."""

    def pad(rows: list[list[int]], filler: int) -> torch.Tensor:
        return pad_sequence([torch.tensor(row) for row in rows], batch_first=True, padding_value=filler)

    source = pad([example["input_ids"] for example in examples], PAD)
    return {
        "input_ids": source,
        "attention_mask": (source != PAD).long(),
        "decoder_input_ids": pad([[BOS, *example["labels"][:-1]] for example in examples], PAD),
        "labels": pad([example["labels"] for example in examples], NO_LABEL),
    }


def build_model() -> MarianMTModel:
    """The shared shape; Marian normalises after each block, not before."""
    return MarianMTModel(
        MarianConfig(
            vocab_size=8000,
            d_model=256,
            encoder_layers=3,
            decoder_layers=3,
            encoder_attention_heads=4,
            decoder_attention_heads=4,
            encoder_ffn_dim=1024,
            decoder_ffn_dim=1024,
            activation_function="relu",
            dropout=0.1,
            attention_dropout=0.1,
            activation_dropout=0.1,
            scale_embedding=True,
            share_encoder_decoder_embeddings=True,
            tie_word_embeddings=True,
            pad_token_id=PAD,
            bos_token_id=BOS,
            eos_token_id=EOS,
            forced_eos_token_id=EOS,
            decoder_start_token_id=BOS,
        )
    )


def settings(order: Order, folder: str) -> Seq2SeqTrainingArguments:
    """Train for the updates asked for, saving and reporting nothing on the way."""
    return Seq2SeqTrainingArguments(
        output_dir=folder,
        max_steps=order.total_updates,
        per_device_train_batch_size=SENTENCES,
        train_sampling_strategy="group_by_length",
        label_smoothing_factor=0.1,
        learning_rate=3e-4,
        lr_scheduler_type="constant",
        max_grad_norm=1.0,
        bf16=order.precision == "bf16",
        use_cpu=True,
        seed=1,
        save_strategy="no",
        logging_strategy="no",
        report_to="none",
        disable_tqdm=True,
    )


def main() -> None:
    order = read_order(__doc__, ("fp32", "bf16"))
    clock = Clock(order)
    with talk_on_stderr(), tempfile.TemporaryDirectory() as folder:
        trainer = ClockedTrainer(
            model=build_model(),
            args=settings(order, folder),
            train_dataset=read_examples(order.data, order.model),
            data_collator=collate,
        )
        trainer.clock = clock
        trainer.train()
    report("Hugging Face Marian", "transformers", order, clock)


if __name__ == "__main__":
    main()
