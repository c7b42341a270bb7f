"""Sequence-level distillation (Kim & Rush 2016): a student is trained on the output of its teacher.

The student minimises −log p(ŷ | x), where ŷ ≈ argmax q(y | x) is the output of the teacher's beam search. It
varies less than human references, so a student with a shallow decoder comes close to its teacher.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from dragoman.config.data import Corpus
from dragoman.config.dump import to_toml
from dragoman.config.load import load as load_config
from dragoman.config.load import validate
from dragoman.config.parts.transformer import TransformerPart
from dragoman.config.paths import from_folder
from dragoman.config.root import Config
from dragoman.config.search import SearchConfig
from dragoman.data.readers.open_pairs import open_lines, open_pairs
from dragoman.errors import DataError, UsageError
from dragoman.inference.model import Model, load
from dragoman.inference.result import Result
from dragoman.manifest import MANIFEST

BLOCK = 2048  # sources between two saves
SOURCE, TARGET, STATE = "distilled.src", "distilled.tgt", "distilled.json"
DEGENERATE = {"truncated", "repetition", "too_long", "too_short"}  # outputs that a student should not learn
LAYERS = 2  # of the student's decoder, which runs once per token; the encoder runs once per sentence
FALLBACK_STUDENT = "transformer-tiny"  # the student of a teacher that is not a Transformer

HEAD = """\
# A student of {teacher}: the same encoder, and a decoder of {layers} layers, which runs once per token.
# It is trained on the output of its teacher. Any setting may be changed before  dragoman train {folder}
"""
README = """\
# Training data from {teacher}

`{source}` has the source sentences, `{target}` the output of the teacher's beam search for each. Outputs that
are repetitive, truncated, or far too long or short are left out. `dragoman.toml` has the settings of the
student.

    dragoman train {folder}
    dragoman trim {folder} --separate -o {folder}-trimmed
    dragoman export {folder}-trimmed --to ct2 --quantization int8
"""


class Distilled(NamedTuple):
    """The progress of the teacher. A change of `origin` (teacher, search and sources) starts over."""

    origin: str
    sources: int = 0  # translated so far
    kept: int = 0  # pairs written
    source_bytes: int = 0
    target_bytes: int = 0


OnProgress = Callable[[Distilled, int], None]  # (progress, total number of sources)


def distil(
    teacher: str | Path,
    folder: Path,
    *,
    sources: Sequence[str] = (),
    real: bool = False,
    force: bool = False,
    device: str = "cpu",
    tell: OnProgress = lambda done, total: None,
) -> Distilled:
    """Create a folder to train a student in, or resume an incomplete one.

    `sources` are text files in the teacher's source language, by default those it was trained on. With
    `real`, the student is also trained on the teacher's own training pairs. `device` is that of the teacher.
    """
    model = load(teacher, device=device, same_bits=True)
    config = load_config(model.folder / "settings.toml")
    search = config.search if config.search.kind == "beam" else SearchConfig()
    refuse_missing(config, sources, real)
    texts = Texts(sources, config)
    begun = begin(folder, origin_of(model.folder, search, texts), force=force)
    done = write(model, search, texts, folder, begun, tell)
    if not done.kept:
        raise nothing_kept(teacher, done)
    student = student_of(config, folder, real)
    names = {"teacher": teacher, "folder": folder, "source": SOURCE, "target": TARGET}
    head = HEAD.format(**names, layers=student.model.decoder.layers)
    settings = head + to_toml(from_folder(student, folder))
    (folder / "dragoman.toml").write_text(settings, encoding="utf-8")
    (folder / "README.md").write_text(README.format(**names), encoding="utf-8")
    load_config(folder / "dragoman.toml")  # raises now, not in training, if they are invalid
    return done


class Texts:
    """The source lines that the teacher translates."""

    def __init__(self, files: Sequence[str], config: Config) -> None:
        self.plain = list(files)
        self.corpora = [] if files else list(config.data.train)
        self.total = sum(1 for _ in self)

    @property
    def names(self) -> list[str]:
        return self.plain or [file for corpus in self.corpora for file in corpus.files]

    def __iter__(self) -> Iterator[str]:
        for file in self.plain:
            yield from open_lines(file)
        for corpus in self.corpora:
            yield from (pair.src for pair in open_pairs(corpus.files, languages=corpus.languages))


def refuse_missing(config: Config, sources: Sequence[str], real: bool) -> None:
    learned = [file for corpus in config.data.train for file in corpus.files]
    wanted = [*sources, *(learned if real or not sources else [])]
    missing = [file for file in wanted if not os.path.isfile(file)]
    if missing:
        raise DataError(
            "This source file for the teacher does not exist.",
            where=missing[0],
            expected="text files in its source language, or the files that it was trained on",
            hint="Name the source files: --sources FILE …",
        )


def origin_of(folder: Path, search: SearchConfig, texts: Texts) -> str:
    """Return a hash that identifies the teacher, its search and the files."""
    facts = [search.model_dump_json(), *(f"{name} {os.path.getsize(name)}" for name in texts.names)]
    manifest = (folder / MANIFEST).read_bytes()
    return hashlib.sha256(manifest + "\n".join(facts).encode()).hexdigest()


def begin(folder: Path, origin: str, *, force: bool) -> Distilled:
    """Return the progress of an earlier call, or that of a new start."""
    with contextlib.suppress(OSError, ValueError, TypeError):
        saved = Distilled(**json.loads((folder / STATE).read_text(encoding="utf-8")))
        if saved.origin == origin and not force:
            return saved
    if folder.exists() and any(folder.iterdir()) and not force:
        raise UsageError(
            "The folder is not empty, and its content is not from this teacher and these sources.",
            where=str(folder),
            expected="an empty folder, a new one, or one started by the same command",
            hint="Choose another folder with -o, or overwrite it with --force.",
        )
    folder.mkdir(parents=True, exist_ok=True)
    return Distilled(origin)


def write(
    model: Model, search: SearchConfig, texts: Texts, folder: Path, done: Distilled, tell: OnProgress
) -> Distilled:
    """Translate in blocks. Output after the last save is cut off, so that no pair is written twice."""
    with (folder / SOURCE).open("ab") as source, (folder / TARGET).open("ab") as target:
        source.truncate(done.source_bytes)
        target.truncate(done.target_bytes)
        lines = islice(texts, done.sources, None)
        while block := list(islice(lines, BLOCK)):
            results = model(block, search)
            pairs = [(x, y.text) for x, y in zip(block, results, strict=True) if is_fit(x, y)]
            for file, side in ((source, 0), (target, 1)):
                file.write("".join(f"{pair[side]}\n" for pair in pairs).encode())
                file.flush()
                os.fsync(file.fileno())
            written = (os.fstat(file.fileno()).st_size for file in (source, target))
            done = Distilled(done.origin, done.sources + len(block), done.kept + len(pairs), *written)
            save(folder / STATE, done)
            tell(done, texts.total)
    return done


def nothing_kept(teacher: str | Path, done: Distilled) -> DataError:
    return DataError(
        f"None of the {done.sources:,} outputs of the teacher is usable: they are repetitive, truncated, or "
        "far too long or short.",
        where=str(teacher),
        expected="a teacher that has learned its task",
        hint=f"dragoman score {teacher} test.src test.tgt",
    )


def is_fit(source: str, result: Result) -> bool:
    lines = source + result.text
    return (
        bool(source.strip() and result.text.strip())
        and "\n" not in lines
        and not DEGENERATE & {*result.flags}
    )


def save(file: Path, done: Distilled) -> None:
    part = file.with_suffix(".part")
    part.write_text(json.dumps(done._asdict()) + "\n", encoding="utf-8")
    part.replace(file)


def student_of(config: Config, folder: Path, real: bool) -> Config:
    """Return the teacher's settings with a shallow decoder, and with its output as training data."""
    licences = dict.fromkeys(corpus.licence for corpus in config.data.train if corpus.licence)
    written = Corpus(files=(str(folder / SOURCE), str(folder / TARGET)), licence="; ".join(licences) or None)
    held = {name: if_present(getattr(config.data, name)) for name in ("valid", "test")}
    data = config.data.model_copy(
        update={"train": (written, *(config.data.train if real else ())), "clean": False, **held}
    )
    encoder, decoder = config.model.encoder, config.model.decoder
    if isinstance(encoder, TransformerPart) and isinstance(decoder, TransformerPart):
        shallow = decoder.model_copy(update={"layers": min(LAYERS, decoder.layers)})
        model = config.model.model_copy(update={"decoder": shallow})
        return config.model_copy(update={"data": data, "model": model})
    tied = "all" if config.text.is_joint else "target"
    table = {"data": data.model_dump(exclude_none=True), "text": config.text.model_dump(exclude_none=True)}
    return validate({**table, "model": {"preset": FALLBACK_STUDENT, "tied": tied}})


def if_present(corpus: Corpus | None) -> Corpus | None:
    """Return the corpus if all its files are still there, else None."""
    return corpus if corpus and all(map(os.path.isfile, corpus.files)) else None
