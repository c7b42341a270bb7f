"""A model folder as a function, whatever its task: load("en-de")("A man.").text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, overload

from dragoman.arguments import known_keywords, path_of, paths_of, text_of, texts_of
from dragoman.config.load import load_written
from dragoman.config.parts.head import FrameHeadPart
from dragoman.config.root import Config
from dragoman.data.examples import Examples
from dragoman.data.pair import Pair
from dragoman.data.readers.file_languages import corpus_languages, languages_named
from dragoman.data.readers.open_pairs import languages_in, open_pairs
from dragoman.data.text_lists import Texts, are_texts, write_texts
from dragoman.errors import DataError, UsageError, needs_extra
from dragoman.inference.find_model import find_model
from dragoman.inference.model import Model, read_ahead, refuse_without_weights, torch_only
from dragoman.inference.model import load as load_translation
from dragoman.inference.runtimes.exports import pick_runtime
from dragoman.metrics.names import USUAL, known_metrics
from dragoman.metrics.report import ScoreReport
from dragoman.metrics.report import score as measure
from dragoman.models.folder import SETTINGS, open_folder
from dragoman.tasks.build import build_task
from dragoman.tasks.examples import build_examples
from dragoman.tasks.scores_text import ScoresText
from dragoman.tasks.task import Answer, Answerer, Task

if TYPE_CHECKING:
    from dragoman.inference.runtimes.runtime import RuntimeName
    from dragoman.inspection.explanation import Explanation
    from dragoman.text.languages import Languages


class TaskModel:
    """A model of another task than translation, called with an input, a list of inputs or an iterator.

    A call returns an Answer, a list of Answers or an iterator of Answers. Options are those of the task.
    """

    def __init__(self, folder: Path, config: Config, task: Task, answerer: Answerer) -> None:
        self.folder, self.config, self.task, self.answerer = folder, config, task, answerer

    @property
    def examples(self) -> Examples:
        """How the files of a test set are read."""
        return build_examples(self.config)

    @overload
    def __call__(self, inputs: str, **options: Any) -> Answer: ...

    @overload
    def __call__(self, inputs: list[str] | tuple[str, ...], **options: Any) -> list[Answer]: ...

    @overload
    def __call__(self, inputs: Iterator[str], **options: Any) -> Iterator[Answer]: ...

    def __call__(
        self, inputs: str | list[str] | tuple[str, ...] | Iterator[str], **options: Any
    ) -> Answer | list[Answer] | Iterator[Answer]:
        if isinstance(inputs, str):
            return self.answerer([inputs], **options)[0]
        if isinstance(inputs, Iterator):
            return (one for some in read_ahead(inputs) for one in self.answerer(texts_of(some), **options))
        return list(self.answerer(texts_of(inputs), **options))

    def explain(self, text: str) -> Explanation:
        """Return what happens inside the model for one input: tags, alignment, attention, gates."""
        found: Explanation = import_module("dragoman.tasks.explain").explain(
            self.answerer, text_of(text, "text")
        )
        return found

    def __repr__(self) -> str:
        return f"TaskModel({str(self.folder)!r}, task={self.config.task!r})"


@known_keywords()
def load(
    path: str | Path,
    *,
    runtime: RuntimeName | None = None,
    ensemble: Sequence[str | Path] = (),
    reverse: str | Path | None = None,
    lm: str | Path | None = None,
    workers: int = 1,
    device: str = "auto",
    same_bits: bool = False,
) -> Model | TaskModel:
    """Load the model in a run folder, its model/ or a project folder.

    For a model that translates, `runtime` is CTranslate2 or ONNX Runtime by default if the folder has an
    export for it, else PyTorch. `ensemble` lists further models, whose predictions are combined with the
    model's; `reverse` is a model trained in the opposite direction, which reranks the outputs, `lm` a
    language model that is fused into the search (shallow fusion, with search.lm_weight). With several
    `workers`, PyTorch decodes in that many processes. `device` is auto (a GPU
    if there is one), cpu, cuda, cuda:1 … (nothing was ever run on a real GPU). `same_bits` requests MKL's
    strict mode (MKL_CBWR) for PyTorch, in the whole process.
    """
    folder = find_model(path_of(path, "path"))
    config = settings_of(folder)
    if config.is_text_to_text:
        more: dict[str, Any] = {"ensemble": ensemble, "reverse": reverse, "lm": lm, "workers": workers}
        return load_translation(folder, runtime=runtime, device=device, same_bits=same_bits, **more)
    takes_lm = isinstance(config.model.head, FrameHeadPart)
    if runtime == "ct2" or ensemble or reverse or workers != 1 or (lm and not takes_lm):
        raise not_for(config, folder)
    if runtime is None and lm is None and pick_runtime(folder) == "onnx":
        runtime = "onnx"
    fused = None if lm is None else find_model(path_of(lm, "lm"))
    opened = (
        open_with_torch(folder, device, fused) if runtime != "onnx" else open_export(folder, device, fused)
    )
    return TaskModel(folder, config, build_task(config), opened)


def open_export(folder: Path, device: str, lm: Path | None) -> Answerer:
    if lm is not None:
        raise torch_only("onnx")
    with needs_extra("This export needs ONNX Runtime, which is not installed.", "onnx", "onnxruntime"):
        answerer: Answerer = import_module("dragoman.tasks.exported").open_exported(folder, device)
    return answerer


def open_with_torch(folder: Path, device: str, lm: Path | None) -> Answerer:
    refuse_without_weights(folder)
    with needs_extra("This model needs PyTorch, which is not installed.", "train", "torch", "jaxtyping"):
        answerer: Answerer = import_module("dragoman.tasks.answerers").open_answerer(folder, device, lm)
    return answerer


def not_for(config: Config, folder: Path) -> UsageError:
    return UsageError(
        "CTranslate2, ensembles, reverse models and workers are for models that translate.",
        where=str(folder),
        expected=f'a runtime (onnx or torch) and a device for task = "{config.task}", '
        "and a language model for transcribe",
        hint=f'dragoman.load("{folder}")',
    )


def settings_of(folder: Path) -> Config:
    return load_written(folder / SETTINGS, open_folder(folder).read)


def direction_of(folder: Path, files: Sequence[str | Path]) -> Languages | None:
    """Return the languages of a model if these files name them, so that pairs of either direction fit it."""
    languages = trained_languages(folder)
    return languages_named(files, languages) if languages and all(languages) else None


def trained_languages(folder: Path) -> Languages | None:
    """Return the source and the target language of a model, as its training data name them; "" is unknown."""
    trained = settings_of(folder).data.train[0]
    if names := corpus_languages(trained.files, trained.languages):
        return names[0], names[1]
    with suppress(DataError):  # the file may be gone
        return languages_in(Path(trained.files[0]))
    return None


@known_keywords()
def score(
    model: Model | TaskModel | str | Path,
    *test: str | Path | Texts,
    languages: tuple[str, str] | None = None,
    lowercase: bool = False,
    metrics: Sequence[str] = (),
) -> ScoreReport:
    """Run the model on the source side of a test set and measure the result against its target side.

    `test` is files, or two lists of texts, sources and references.
    `languages` selects the two sides of a file with several languages. With `lowercase`, case is ignored.
    `metrics` are names as in `dragoman score --metrics`; by default those of the task.
    """
    known_metrics(metrics)  # before time is spent on decoding
    loaded = model if isinstance(model, Model | TaskModel) else load(model)
    if are_texts(test):
        with TemporaryDirectory() as folder:
            pairs = read_test(loaded, write_texts(test, Path(folder), "test"))
    else:
        pairs = read_test(loaded, paths_of(test, "test"), languages)
    if isinstance(loaded, TaskModel) and isinstance(loaded.task, ScoresText):
        return loaded.task.score_text(loaded.answerer, pairs)
    sources, references = [pair.src for pair in pairs], [pair.tgt for pair in pairs]
    outputs = [answer.text for answer in loaded(sources)]
    if metrics or isinstance(loaded, Model):
        return measure(outputs, references, lowercase=lowercase, metrics=metrics or USUAL, sources=sources)
    return loaded.task.score(outputs, references, lowercase=lowercase)


def read_test(
    model: Model | TaskModel, files: Sequence[str | Path], languages: tuple[str, str] | None = None
) -> list[Pair]:
    """Return the examples of a test set, as the task of the model reads them."""
    if isinstance(model, Model):
        return list(open_pairs(files, languages=languages or direction_of(model.folder, files)))
    return list(model.examples.read([str(file) for file in files], None, languages))
