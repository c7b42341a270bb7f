"""An imported model says what its maker's would: the same log p for every token, or it is refused by name."""

from __future__ import annotations

import json
import pickle
import struct
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from dragoman.data.collate import collate
from dragoman.errors import ModelError, UsageError
from dragoman.export.ct2 import export_ct2
from dragoman.importing.import_model import import_model
from dragoman.importing.marian import find
from dragoman.importing.marian import vocabulary as vocabulary_of
from dragoman.importing.npz import read_npz
from dragoman.inference.model import load
from dragoman.models.bundle import Bundle, load_bundle
from dragoman.text.specials import UNK
from dragoman.text.tokenizer import Tokenizer
from hostile.audit import Audit
from hostile.folders import Bomb
from hostile.verbs import drive
from support.foreign_models import (
    LINES,
    MARIAN_HEAD,
    marian,
    marian_weights,
    vocabulary,
    write_marian,
    written,
)


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def sides(bundle: Bundle, src: str, tgt: str) -> list[tuple[Tokenizer, str]]:
    return [(bundle.text.src, src), (bundle.text.tgt, tgt)]


def ours(bundle: Bundle, src: str, tgt: str) -> NDArray[np.float32]:
    """log p of each step, a column an entry of ours."""
    batch = collate([(bundle.text.src.encode(src), bundle.text.tgt.encode(tgt))])
    with torch.no_grad():
        h = bundle.model.decoder(bundle.model.encoder(batch.src, batch.src_keep), batch.tgt_in)
        return bundle.model.head(h.flatten(0, 1)).numpy()


def agree(bundle: Bundle, names: list[str], theirs: NDArray[np.float64], found: NDArray[np.float32]) -> None:
    """Each entry of theirs has a column in ours, and what is only ours has no probability."""
    columns = {bundle.text.tgt.piece(id): id for id in range(bundle.text.tgt.size)}
    kept = [columns[name] for name in names]
    assert found[:, kept] == pytest.approx(theirs, abs=2e-5)
    alone = [id for id in range(bundle.text.tgt.size) if id not in kept]
    assert (found[:, alone] < -1000).all()


@pytest.mark.parametrize("activation", ["swish", "relu", "gelu"])
@pytest.mark.parametrize("line", [0, 1, 2])
def test_marian_log_p_is_that_of_an_independent_forward_pass(line: int, activation: str) -> None:
    changes = {"transformer-ffn-activation": activation, "version": "v1.12.42 d2c7dd5 2024-01-01"}
    compare(LINES["source"][line], LINES["target"][line], activation, **changes)


WITHOUT_EFFECT = {
    "transformer-postprocess": "an",
    "transformer-train-position-embeddings": "true",
    "transformer-no-bias": "true",
    "transformer-no-affine": "true",
}


@pytest.mark.parametrize("name", WITHOUT_EFFECT)
def test_a_setting_without_effect_on_these_models_is_no_obstacle(name: str) -> None:
    compare(LINES["source"][0], LINES["target"][0], **{name: WITHOUT_EFFECT[name]})


def test_a_long_source_is_read_whole() -> None:
    source = " ".join(LINES["source"] * 40)
    bundle = compare(source, LINES["target"][0])
    assert len(bundle.text.src.encode(source)) > 1024
    assert bundle.longest_source > 4000


def test_unk_is_not_written_unless_marian_would() -> None:
    names, weights = written(Path("opus"))
    weights["decoder_ff_logit_out_b"][0, names.index("<unk>")] += 12.0
    for folder, ending in (("forbidden", ""), ("allowed", "allow-unk: true\n")):
        write_marian(Path(folder), names, weights)
        with Path(folder, "decoder.yml").open("a", encoding="utf-8") as stream:
            stream.write(ending)
        import_model(Path(folder), Path(f"{folder}-model"))
    text, short = LINES["source"][0], {"max_length": 9}
    assert "⁇" in load("allowed-model")(text, short).text
    model = load("forbidden-model")
    assert "⁇" not in model(text, short).text
    assert "⁇" not in model(text, {**short, "kind": "greedy"}).text
    assert "⁇" not in "".join(model.stream(text, short))
    found = load_bundle(Path("forbidden-model"))
    assert ours(found, text, "der")[0, UNK] > -0.1, "its probability is as it was"
    pytest.importorskip("ctranslate2")
    export_ct2("forbidden-model", Path("forbidden-model/ct2"), "float32")
    assert "⁇" not in load("forbidden-model", runtime="ct2")(text, short).text


def compare(src: str, tgt: str, activation: str = "swish", **changes: str) -> Bundle:
    """Import a model and compare its log p with the forward pass in numpy."""
    names, weights = written(Path("opus"), **changes)
    import_model(Path("opus"), Path("model"))
    bundle = load_bundle(Path("model"))
    ids = {name: id for id, name in enumerate(names)}
    cut = [[ids[t.piece(id)] for id in t.encode(text)] for t, text in sides(bundle, src, tgt)]
    agree(bundle, names, marian(weights, cut[0], cut[1], activation), ours(bundle, src, tgt))
    return bundle


def test_an_imported_model_runs_is_checked_and_goes_on_to_ctranslate2() -> None:
    pytest.importorskip("ctranslate2")
    written(Path("opus"))
    done = drive("import", "opus", "-o", "model")
    assert done.code == 0, done.err
    assert b"from a Marian model" in done.out
    assert drive("check", "model").code == 0
    result = load("model")("the old man walks home", {"max_length": 9})
    assert isinstance(result.text, str)
    assert export_ct2("model", Path("ct2"), "float32").proof.worst_token < 1e-4


def test_without_pyyaml_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    written(Path("opus"))
    for name in ("import_model", "marian"):
        monkeypatch.delitem(sys.modules, f"dragoman.importing.{name}")
    monkeypatch.setitem(sys.modules, "yaml", None)
    done = drive("import", "opus", "-o", "model")
    assert done.code == 2
    assert 'pip install "dragoman[train,import]"' in done.err


def test_words_of_a_vocabulary_stay_words() -> None:
    """Unquoted, as Marian may write them, they would be of other types as YAML."""
    lines = ["</s>", "<unk>", "no", "12:30", "1.5", "~", "=", "<<", "2001-01-01", "'no': '", "null"]
    text = "".join(f"{line}: {id}\n" for id, line in enumerate(lines[:-2]))
    text += f"{json.dumps(lines[-2])}: {len(lines) - 2}\n? null\n: {len(lines) - 1}\n"
    Path("vocab.yml").write_text(text, encoding="utf-8")
    assert vocabulary_of(Path("vocab.yml")) == lines


def test_a_label_is_one_entry_and_text_gives_no_special() -> None:
    written(Path("opus"))
    import_model(Path("opus"), Path("model"))
    src = load_bundle(Path("model")).text.src
    label, *rest = src.encode(">>deu<< the dog")
    assert src.piece(label) == ">>deu<<"
    assert rest == src.encode("the dog")
    assert not {0, 2, 3} & {*src.encode("</s> <pad> <s>"), *src.encode_batch(["</s>"])[0].tolist()}
    assert src.decode(src.encode("the dog and the man")) == "the dog and the man"


REFUSED: dict[str, Any] = {
    "transformer-decoder-autoreg": "rnn",
    "transformer-preprocess": "n",
    "transformer-ffn-activation": "gelu",
    "transformer-train-positions": "true",
    "type": "s2s",
    "lemma-dim-emb": 3,
    "right-left": "true",
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_expressed_is_refused_by_name(name: str) -> None:
    written(Path("opus"), **{name: REFUSED[name]})
    with pytest.raises(ModelError, match=f"cannot be imported: {name}: "):
        import_model(Path("opus"), Path("model"))
    assert not Path("model").exists()


def test_a_bias_that_marian_omits_is_not_read() -> None:
    names, weights = written(Path("opus"), **{"output-omit-bias": "true"})
    import_model(Path("opus"), Path("model"))
    bundle = load_bundle(Path("model"))
    src, tgt = LINES["source"][0], LINES["target"][0]
    ids = {name: id for id, name in enumerate(names)}
    cut = [[ids[t.piece(id)] for id in t.encode(text)] for t, text in sides(bundle, src, tgt)]
    theirs = {**weights, "decoder_ff_logit_out_b": np.zeros((1, len(names)))}
    agree(bundle, names, marian(theirs, cut[0], cut[1], "swish"), ours(bundle, src, tgt))


def two_vocabularies(folder: Path, source: str, target: str) -> None:
    """As the trainer leaves them: a SentencePiece model of each side, under any name."""
    written(folder)
    for name in ("decoder.yml", "opus.vocab.yml"):
        (folder / name).unlink()
    (folder / "source.spm").rename(folder / source)
    (folder / "target.spm").rename(folder / target)


@pytest.mark.parametrize("file", ["decoder.yml", "opus.npz.decoder.yml", "opus.npz.yml"])
def test_the_settings_beside_the_weights_say_which_vocabulary_is_the_sources(file: str) -> None:
    two_vocabularies(Path("opus"), "vocab.en.spm", "vocab.de.spm")
    Path("opus", file).write_text("vocabs:\n  - /there/vocab.en.spm\n  - vocab.de.spm\n", encoding="utf-8")
    found = find(Path("opus"))
    assert [path.name for path in found.vocabularies] == ["vocab.en.spm", "vocab.de.spm"]
    assert found.pieces == found.vocabularies


def test_two_vocabularies_are_not_ordered_by_guessing() -> None:
    two_vocabularies(Path("opus"), "vocab.en.spm", "vocab.de.spm")
    with pytest.raises(ModelError, match="nothing says which is the source's") as caught:
        find(Path("opus"))
    assert "vocabs: [vocab.de.spm, vocab.en.spm]" in (caught.value.hint or "")
    two_vocabularies(Path("named"), "vocab.src.spm", "vocab.trg.spm")
    assert [path.name for path in find(Path("named")).vocabularies] == ["vocab.src.spm", "vocab.trg.spm"]


def test_a_folder_as_the_trainer_leaves_it_is_read() -> None:
    two_vocabularies(Path("opus"), "v.spm", "other")
    np.savez(Path("opus/opus.npz.optimizer.npz"), adam=np.zeros(3))
    found = find(Path("opus"))
    assert (found.weights.name, [path.name for path in found.pieces]) == ("opus.npz", ["v.spm", "v.spm"])


def test_the_search_is_that_of_marians_settings() -> None:
    written(Path("opus"))
    import_model(Path("opus"), Path("model"))
    search = load_bundle(Path("model")).config.search
    assert (search.kind, search.size, search.length_penalty) == ("beam", 6, 0.0)
    with Path("opus/decoder.yml").open("a", encoding="utf-8") as stream:
        stream.write("normalize: 0.6\nword-penalty: 0.1\n")
    done = import_model(Path("opus"), Path("other"))
    assert load_bundle(Path("other")).config.search.length_penalty == 0.6
    assert done.notes == ("word-penalty: 0.1 has no counterpart; outputs have another length",)


def test_marians_binary_format_is_named() -> None:
    Path("model.bin").write_bytes(struct.pack("<QQ", 1, 40) + bytes(100))
    with pytest.raises(ModelError, match=r"model.bin is in Marian's binary format"):
        import_model(Path("model.bin"), Path("out"))


def test_weights_that_are_left_over_or_missing_are_named() -> None:
    names = [*MARIAN_HEAD, *vocabulary()]
    weights = marian_weights(len(names))
    write_marian(Path("more"), names, {**weights, "encoder_l1_extra": np.zeros(3)})
    with pytest.raises(ModelError, match="counterpart in our Transformer: encoder_l1_extra"):
        import_model(Path("more"), Path("model"))
    write_marian(Path("few"), names[:-1], weights)
    with pytest.raises(ModelError, match="rows of weights for"):
        import_model(Path("few"), Path("model"))
    del weights["decoder_l1_context_Wq"]
    write_marian(Path("less"), names, weights)
    with pytest.raises(ModelError, match="no weights named decoder_l1_context_Wq"):
        import_model(Path("less"), Path("model"))
    Path("model").mkdir()
    Path("model/mine.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(UsageError, match="not empty"):
        import_model(Path("more"), Path("model"))


@cache
def audit() -> Audit:
    return Audit()


def hostile(folder: Path, kind: str) -> None:
    written(folder)
    file = folder / "opus.npz"
    match kind:
        case "object":
            arrays = dict(read_npz(file))
            np.savez(file, **{**arrays, "Wemb": np.array([Bomb()], dtype=object)})
        case "settings":
            np.savez(file, **{"special:model.yml": np.array([Bomb()], dtype=object)})
        case "pickle":
            file.write_bytes(pickle.dumps(Bomb()))
        case "torch":
            file.rename(folder / "model.pt")
        case "zeros":
            np.savez_compressed(file, Wemb=np.zeros((1 << 22, 4), np.float32))
        case "cut":
            file.write_bytes(file.read_bytes()[:-200])


@pytest.mark.parametrize("kind", ["object", "settings", "pickle", "torch", "zeros", "cut"])
def test_a_hostile_file_is_refused_and_nothing_of_it_runs(kind: str) -> None:
    written(Path("good"))
    assert drive("import", "good", "-o", "first").code == 0  # so that all it needs is imported
    hostile(Path("opus"), kind)
    with audit().listening() as seen:
        done = drive("import", "opus", "-o", "model")
    assert done.code == 1
    assert "Traceback" not in done.err
    assert "bug in Dragoman" not in done.err
    assert ("never loaded" in done.err) == (kind == "torch")
    assert ("Object arrays cannot be loaded" in done.err) == (kind in ("object", "settings"))
    assert not seen
    assert not Path("boom").exists()
