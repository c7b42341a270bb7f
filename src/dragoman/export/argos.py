"""Export of a model folder to an .argosmodel, the package format of Argos Translate and LibreTranslate.

The package is a ZIP with one folder: metadata.json, sentencepiece.model, model/ for CTranslate2, a sentence
splitter, and the model card as README.md. Argos has its own search settings (beam 4, length penalty 0.2).
"""

from __future__ import annotations

import json
import shutil
import tempfile
import zipfile
from pathlib import Path
from typing import NamedTuple

from dragoman.durable import sync
from dragoman.errors import ModelError
from dragoman.export.ct2 import Exported, fill_proven
from dragoman.export.ct2_spec import Quantization, refuse
from dragoman.inference.find_model import find_model
from dragoman.models.bundle import Bundle, load_bundle
from dragoman.models.folder import CARD, PACKAGE, TEXT, open_folder

WRITTEN_FOR = "1.9.0"  # the version of Argos whose format this is
SPLITTER = Path(__file__).with_name("sentence_splitter.onnx")  # by scripts/make_sentence_splitter.py
LONG_AGO = (1980, 1, 1, 0, 0, 0)  # timestamp of every file, for reproducible packages


class Language(NamedTuple):
    code: str
    name: str


def export_argos(
    model: str | Path,
    out: Path | None,
    source: Language,
    target: Language,
    version: str,
    quantization: Quantization,
) -> Exported:
    """Export a model as one file, written atomically, by default into the model folder."""
    home = find_model(model)
    manifest, bundle = open_folder(home), load_bundle(home)
    refuse(bundle)
    refuse_other_text(bundle)
    stem = f"translate-{source.code}_{target.code}-{version.replace('.', '_')}"
    file = (out or home) / f"{stem}{PACKAGE}"
    with tempfile.TemporaryDirectory() as work:
        folder = Path(work) / stem
        (folder / "model").mkdir(parents=True)
        proof, rounded = fill_proven(bundle, folder / "model", quantization)
        (folder / "metadata.json").write_text(metadata(source, target, version), encoding="ascii")
        (folder / "sentencepiece.model").write_bytes(manifest.read(home / TEXT / "joint.model"))
        (folder / "minisbd").mkdir()
        shutil.copyfile(SPLITTER, folder / "minisbd" / "sentences.onnx")
        if CARD in manifest:
            (folder / "README.md").write_bytes(manifest.read(home / CARD))
        pack(folder, file)
    return Exported(file, proof, rounded)


def refuse_other_text(bundle: Bundle) -> None:
    text = bundle.text
    if not text.joint or text.src.kind not in ("bpe", "unigram"):
        raise ModelError(
            f"Argos uses one SentencePiece model for both sides, but this model has "
            f"{text.src.kind} units{'' if text.joint else ', separate ones for each side'}.",
            where="[text] in its settings.toml",
            expected='kind = "bpe" or "unigram", joint = true',
            hint="Train it with text.kind=bpe text.joint=true.",
        )
    if text.lowercase:
        raise ModelError(
            "Argos does not lowercase text, but this model was trained on lowercased text only.",
            where="[text] in its settings.toml",
            expected="lowercase = false",
            hint="Train it with text.lowercase=false.",
        )


def metadata(source: Language, target: Language, version: str) -> str:
    """Return metadata.json, in ASCII, since Argos reads it in the encoding of the system."""
    facts = {
        "package_version": version,
        "argos_version": WRITTEN_FOR,
        "from_code": source.code,
        "from_name": source.name,
        "to_code": target.code,
        "to_name": target.name,
        "type": "translate",
    }
    return json.dumps(facts, indent=1) + "\n"


def pack(folder: Path, file: Path) -> None:
    """Write the folder to a ZIP file, which is renamed only after it is on disk."""
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_name(f".{file.name}.tmp")
    try:
        with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in sorted(path for path in folder.rglob("*") if path.is_file()):
                entry = zipfile.ZipInfo(str(path.relative_to(folder.parent)), LONG_AGO)
                entry.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(entry, path.read_bytes())
        sync(part)
        part.replace(file)
        sync(file.parent)
    finally:
        part.unlink(missing_ok=True)
