"""The words of the tiny runs."""

from pathlib import Path

import pytest

from support.runs import write_words


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("words")
    write_words(folder)
    return folder
