"""Learn the one subword model that every row of the speed table uses: joint BPE of 8,000 pieces."""

import argparse
from pathlib import Path

import sentencepiece


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, help="folder with train.en and train.de")
    parser.add_argument("model", type=Path, help="the .model file to write; nothing happens if it is there")
    args = parser.parse_args()
    if args.model.exists():
        return
    args.model.parent.mkdir(parents=True, exist_ok=True)
    sentencepiece.SentencePieceTrainer.train(
        input=[str(args.data / "train.en"), str(args.data / "train.de")],
        model_prefix=str(args.model.with_suffix("")),
        model_type="bpe",
        vocab_size=8000,
        character_coverage=1.0,
        normalization_rule_name="identity",
        pad_id=0,
        unk_id=1,
        bos_id=2,
        eos_id=3,
        minloglevel=1,
    )


if __name__ == "__main__":
    main()
