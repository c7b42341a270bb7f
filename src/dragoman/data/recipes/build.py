"""The table of recipes, and the folder created for each. A new recipe is one file and one line here."""

from __future__ import annotations

from pathlib import Path

from dragoman.data.recipes import dates, from_rnn_to_attention, reverse
from dragoman.errors import UsageError

RECIPES = {
    "dates": dates.RECIPE,
    "reverse": reverse.RECIPE,
    "from-rnn-to-attention": from_rnn_to_attention.RECIPE,
}


def make_recipe(name: str, folder: Path, *, force: bool = False) -> list[Path]:
    """Write the data, dragoman.toml and README.md of a recipe to `folder`, and return the files."""
    if folder.is_file():
        raise UsageError(
            "A file of this name exists.",
            where=str(folder),
            expected="a folder that is empty or does not exist yet",
            hint=f"dragoman new {name} -o another-folder",
        )
    if folder.is_dir() and any(folder.iterdir()) and not force:
        raise UsageError(
            "The folder is not empty.",
            where=str(folder),
            expected="a folder that is empty or does not exist yet",
            hint=f"dragoman new {name} -o another-folder, or --force to overwrite the recipe's files in it.",
        )
    folder.mkdir(parents=True, exist_ok=True)
    recipe = RECIPES[name]
    texts = {f"{model}.toml": settings for model, settings in recipe.lesson.items()}
    texts |= {"dragoman.toml": recipe.settings, "README.md": recipe.readme.replace("FOLDER", str(folder))}
    for split, pairs in recipe.splits().items():
        texts[f"{split}.tsv"] = "".join(f"{src}\t{tgt}\n" for src, tgt in pairs)
    for file, text in texts.items():
        (folder / file).write_text(text, encoding="utf-8", newline="\n")
    return [folder / file for file in texts]
