"""The languages of a corpus, as its files name them: by their endings, or inside."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from dragoman.data.readers.open_pairs import languages_in, open_pairs, text_suffix
from dragoman.errors import DataError
from dragoman.text.languages import Languages

NO_LANGUAGES = ("txt", "src", "tgt")


def language_names(files: Sequence[str | Path]) -> list[str]:
    """Return ["en", "de"] for train.en and train.de, or [] if the names are not language codes."""
    names = [text_suffix(Path(file))[1:] for file in files]
    are_codes = all(2 <= len(name) <= 3 and name.isalpha() and name not in NO_LANGUAGES for name in names)
    return names if len(names) == 2 and are_codes and names[0] != names[1] else []


def corpus_languages(files: Sequence[str | Path], languages: Languages | None = None) -> list[str]:
    """Return the two languages of a corpus: as given, or as its file names or its memory have them, or []."""
    if languages or len(files) != 1:
        return list(languages or language_names(files))
    file = Path(files[0])
    with suppress(DataError):  # there is no such file any more, or reading the pairs will say what is wrong
        found = languages_in(file) or ()
        return list(found) if all(found) else []
    return []


def languages_named(files: Sequence[str | Path], languages: Languages) -> Languages | None:
    """Return these languages if the files name them: pairs are then read in this direction."""
    with suppress(DataError, StopIteration):
        next(open_pairs(files, languages=languages))
        return languages
    return None


def are_swapped(files: Sequence[str | Path], train: Sequence[str | Path]) -> bool:
    """Return whether the file names show that source and target are swapped."""
    names = language_names(files)
    return bool(names) and names[::-1] == language_names(train)
