"""An .argosmodel has the form that Argos reads; where Argos is installed, it answers as CTranslate2 does."""

from __future__ import annotations

import importlib.util
import json
import os
import runpy
import subprocess
import sys
import zipfile
from pathlib import Path

import ctranslate2
import pytest
import sentencepiece

from dragoman.errors import ModelError
from dragoman.export import ct2 as exporting
from dragoman.export.argos import SPLITTER, Language, export_argos
from dragoman.export.ct2 import Exported
from dragoman.export.probe_sentences import Sentences
from hostile.folders import good_folder
from support.pages import ROOT
from support.tiny_bundle import tiny_folder

ENGLISH, GERMAN = Language("en", "English"), Language("de", "Deutsch (Öffentlich)")
TEXT = "the man rides. two dogs run! the bicycle"
SENTENCES = ["the man rides.", "two dogs run!", "the bicycle"]
ASK = """\
import json, socket, sys
def blocked(*_): raise OSError("the network is blocked")
socket.socket.connect = blocked
from argostranslate import package, translate
package.install_from_path(sys.argv[1])
translation = translate.get_translation_from_codes("en", "de")
installed = package.get_installed_packages()[0]
found = {"text": translation.translate(sys.argv[2]), "readme": installed.get_readme()}
from minisbd import SBDetect
splitter = installed.package_path / "minisbd" / "sentences.onnx"
found["sentences"] = SBDetect(str(splitter)).sentences(sys.argv[2])
sys.stdout.write(json.dumps(found))
"""


@pytest.fixture(autouse=True)
def few_sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exporting, "sentences", lambda bundle: Sentences([[260, 261], [262]], "made up"))


def packed(folder: Path) -> Exported:
    return export_argos(good_folder(folder / "model", "bpe"), folder, ENGLISH, GERMAN, "1.0", "float32")


def test_package_has_one_folder_with_all_that_argos_reads(tmp_path: Path) -> None:
    package = packed(tmp_path)
    assert package.path == tmp_path / "translate-en_de-1_0.argosmodel"
    with zipfile.ZipFile(package.path) as archive:
        names = {name.removeprefix("translate-en_de-1_0/") for name in archive.namelist()}
        metadata = archive.read("translate-en_de-1_0/metadata.json")
        card = archive.read("translate-en_de-1_0/README.md").decode()
    assert names == {
        "metadata.json", "sentencepiece.model", "minisbd/sentences.onnx", "README.md",
        "model/model.bin", "model/config.json", "model/shared_vocabulary.json",
    }  # fmt: skip
    assert json.loads(metadata.decode("ascii"))["to_name"] == "Deutsch (Öffentlich)"
    assert card == "A model to be damaged.\n"
    assert not list(tmp_path.glob(".*"))


@pytest.mark.slow
def test_the_same_model_gives_the_same_package(tmp_path: Path) -> None:
    assert packed(tmp_path / "a").path.read_bytes() == packed(tmp_path / "b").path.read_bytes()


def test_text_that_argos_cannot_cut_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="word units"):
        export_argos(tiny_folder(tmp_path / "model"), None, ENGLISH, GERMAN, "1.0", "float32")
    assert not list(tmp_path.rglob("*.argosmodel"))


def test_the_splitter_is_what_its_script_makes() -> None:
    pytest.importorskip("onnx")
    script = ROOT / "scripts" / "make_sentence_splitter.py"
    assert SPLITTER.read_bytes() == runpy.run_path(str(script))["splitter"]()


@pytest.mark.filterwarnings("ignore:Specified provider")  # it looks for a GPU
@pytest.mark.parametrize(
    "sentences",
    [
        ["Hello world.", "The cat ran!", "3.14 is pi.", "猫。", "犬。"],
        ['He said "No."', "Then…", "nothing (at all).", "So"],
        ["a.b ...", "c"],
    ],
)
def test_minisbd_cuts_a_text_where_a_sentence_ends(sentences: list[str]) -> None:
    minisbd = pytest.importorskip("minisbd")
    text = " ".join(sentences).replace("。 ", "。")
    assert minisbd.SBDetect(str(SPLITTER)).sentences(text) == sentences


@pytest.mark.skipif(
    importlib.util.find_spec("argostranslate") is None, reason="Argos Translate is not installed"
)
def test_argos_answers_as_ctranslate2_does(tmp_path: Path) -> None:
    package = packed(tmp_path)
    home = {"XDG_DATA_HOME": str(tmp_path / "data"), "XDG_CONFIG_HOME": str(tmp_path / "config")}
    folders = {
        **home,
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "ARGOS_PACKAGES_DIR": str(tmp_path / "packages"),
        "ARGOS_COMPUTE_TYPE": "float32",  # by itself Argos rounds to int8 as it loads
    }
    done = subprocess.run(
        [sys.executable, "-c", ASK, str(package.path), TEXT],
        env={**os.environ, **folders},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    installed = tmp_path / "packages" / "translate-en_de-1_0"
    pieces = sentencepiece.SentencePieceProcessor(model_file=str(installed / "sentencepiece.model"))
    translator = ctranslate2.Translator(str(installed / "model"), compute_type="float32")
    cut = [pieces.encode(sentence, out_type=str) for sentence in SENTENCES]
    found = translator.translate_batch(cut, beam_size=4, length_penalty=0.2, replace_unknowns=True)
    text = pieces.decode([piece for result in found for piece in result.hypotheses[0]])
    assert answer["sentences"] == SENTENCES
    assert answer["readme"] == "A model to be damaged.\n"
    assert answer["text"] == text.replace("_", " ")
