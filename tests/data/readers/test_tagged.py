"""Tagged and labelled text in its formats, and lines that are out of step."""

from pathlib import Path

import pytest

from dragoman.data.pair import Pair
from dragoman.data.readers.bad_line import Skipped
from dragoman.data.readers.tagged import read_labelled, read_tagged
from dragoman.errors import DataError


def written(folder: Path, **texts: str) -> list[str]:
    for name, text in texts.items():
        (folder / name.replace("_", ".")).write_text(text, encoding="utf-8")
    return [str(folder / name.replace("_", ".")) for name in texts]


def test_columns_with_blank_lines_between_sentences(tmp_path: Path) -> None:
    files = written(tmp_path, train_tsv="\nthe\tDET\tDT\ncat\tNOUN\tNN\n\n\n#\tSYM\tNN\n1 000\tNUM\tCD")
    assert list(read_tagged(files)) == [
        Pair("the cat", "DET NOUN", 2),
        Pair("# 1\u00a0000", "SYM NUM", 6),
    ]
    assert [pair.tgt for pair in read_tagged(files, None, ("1", "3"))] == ["DT NN", "NN CD"]


def test_conllu_has_comments_ranges_and_empty_nodes(tmp_path: Path) -> None:
    rows = [
        "# text = don't",
        "1-2\tdon't\t_\t_",
        "1\tdo\tdo\tAUX",
        "2\tn't\tnot\tPART",
        "2.1\tx\t_\tVERB",
        "",
    ]
    files = written(tmp_path, dev_conllu="\n".join(rows))
    assert [tuple(pair[:2]) for pair in read_tagged(files)] == [("do n't", "AUX PART")]


def test_aligned_files_of_words_tags_and_labels(tmp_path: Path) -> None:
    files = written(
        tmp_path, t_words="play  jazz \nstop\n", t_tags="O B-genre\nO\n", t_labels="Play Music\nStop\n"
    )
    assert list(read_tagged(files[:2])) == [Pair("play jazz", "O B-genre", 1), Pair("stop", "O", 2)]
    assert [pair.tgt for pair in read_tagged(files)] == ["@Play_Music O B-genre", "@Stop O"]


def test_a_line_out_of_step_is_named(tmp_path: Path) -> None:
    files = written(tmp_path, t_words="play jazz\nstop\n", t_tags="O B-genre\nO O\n")
    with pytest.raises(DataError, match="1 words and 2 tags") as caught:
        list(read_tagged(files))
    assert caught.value.where.endswith("t.words:2")
    skipped = Skipped()
    assert len(list(read_tagged(files, skipped))) == skipped.count == 1


def test_a_missing_column_is_named(tmp_path: Path) -> None:
    files = written(tmp_path, train_tsv="the\tDET\ncat\n")
    with pytest.raises(DataError, match="Column 1 or 2 is missing") as caught:
        list(read_tagged(files))
    assert caught.value.where.endswith("train.tsv:2")


def test_labels_in_either_column(tmp_path: Path) -> None:
    files = written(tmp_path, train_tsv="card\tmy card is lost\ntop up\thow to top up\n")
    assert [tuple(pair) for pair in read_labelled(files, None, ("2", "1"))] == [
        ("my card is lost", "card", 1),
        ("how to top up", "top up", 2),
    ]
    assert [pair.src for pair in read_labelled(files)] == ["card", "top up"]


def test_other_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="not tagged text"):
        read_tagged(["a.tsv", "b.tsv"])
