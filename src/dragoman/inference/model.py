"""The Python interface of a model folder: load("en-de")("A man.").text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, partial
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, cast, overload

from dragoman.arguments import known_keywords, path_of, paths_of, text_of, texts_of, wrong_type
from dragoman.config.load import with_changes
from dragoman.config.search import SearchConfig
from dragoman.errors import MissingExtra, UsageError
from dragoman.inference.find_model import find_model
from dragoman.inference.result import Result
from dragoman.inference.runtimes.capabilities import Request, unsupported
from dragoman.inference.runtimes.exports import is_installed, open_export_runtime, pick_runtime
from dragoman.inference.runtimes.reproducibility import is_batch_invariant, request_reproducible_mkl
from dragoman.inference.runtimes.runtime import Runtime, RuntimeName
from dragoman.models.folder import WEIGHTS, is_export, open_folder
from dragoman.steering.options import SteeringOptions

if TYPE_CHECKING:
    from dragoman.inference.runtimes.torch import TorchRuntime
    from dragoman.inspection.explanation import Explanation

READ_AHEAD = 1024  # texts of an iterator that are read ahead and sorted by length
SearchOptions = SearchConfig | Mapping[str, Any]  # a complete [search], or changes to the model's own


class Model:
    """A trained model, called with a text, a list of texts or an iterator of texts.

    A call returns a Result, a list of Results or an iterator of Results. A call that its runtime does not
    support runs in PyTorch, unless the runtime was chosen explicitly.
    """

    def __init__(
        self, folder: Path, runtime: Runtime, *, is_forced: bool = False, asks_same_bits: bool = False
    ) -> None:
        self.folder = folder
        self.runtime = runtime
        self.is_forced = is_forced
        self.asks_same_bits = asks_same_bits

    @overload
    def __call__(
        self,
        texts: str,
        search: SearchOptions | None = None,
        *,
        details: bool = False,
        trace: bool = False,
        **options: Unpack[SteeringOptions],
    ) -> Result: ...

    @overload
    def __call__(
        self,
        texts: list[str] | tuple[str, ...],
        search: SearchOptions | None = None,
        *,
        details: bool = False,
        trace: bool = False,
        **options: Unpack[SteeringOptions],
    ) -> list[Result]: ...

    @overload
    def __call__(
        self,
        texts: Iterator[str],
        search: SearchOptions | None = None,
        *,
        details: bool = False,
        trace: bool = False,
        **options: Unpack[SteeringOptions],
    ) -> Iterator[Result]: ...

    @known_keywords(*SteeringOptions.__annotations__)
    def __call__(
        self,
        texts: str | list[str] | tuple[str, ...] | Iterator[str],
        search: SearchOptions | None = None,
        *,
        details: bool = False,
        trace: bool = False,
        **options: Unpack[SteeringOptions],
    ) -> Result | list[Result] | Iterator[Result]:
        """Return one result per text, without its line end if it has one, as the lines of an open file do.
        An iterator is consumed as its results are, some texts at a time.

        `search` changes the model's own search settings. With `details` each result has the probabilities
        and the attention of its tokens, with `trace` every candidate of its search. `prefix`, `glossary`,
        `forbid` and `keep` are constraints on the outputs.
        """
        config = self._search(search)
        run = partial(
            self._runtime_for(Request(config, options, trace)), search=config, details=details, trace=trace
        )
        if isinstance(texts, str):
            return run(lines_of([texts]), **options)[0]
        if isinstance(texts, Iterator):
            return (result for some in read_ahead(texts) for result in run(lines_of(some), **options))
        return run(lines_of(texts), **options)

    @known_keywords()
    def stream(self, text: str, search: SearchOptions | None = None, *, prefix: str = "") -> Iterator[str]:
        """Yield the output of greedy search in parts, each as soon as it is known."""
        config = self._search(search).model_copy(update={"kind": "greedy", "n_best": 1})
        prefix_text = text_of(prefix or "", "prefix")
        return self._runtime_for(Request(config, {})).stream(
            text_of(text, "text"), config, prefix=prefix_text
        )

    @known_keywords(*SteeringOptions.__annotations__)
    def explain(
        self,
        text: str,
        search: SearchOptions | None = None,
        *,
        beam: int | None = None,
        saliency: bool = True,
        attend: Mapping[int, int] | None = None,
        **options: Unpack[SteeringOptions],
    ) -> Explanation:
        """Return what happens inside the model for one text: steps, attention, candidates, saliency, gates.

        `beam` is the number of hypotheses of the search, if it should not be the model's own. Without
        `saliency`, which takes hundreds of gradients, the answer comes sooner. The output may be put under
        the constraints of a call, and `attend={2: 0}` forces the attention of its third step to the first
        source token.
        """
        config = self._search(search)
        if beam is not None:
            config = with_changes(config, {"kind": "beam", "size": beam})
        found: Explanation = import_module("dragoman.inference.explain").explain(
            self.translator, text_of(text, "text"), config, saliency=saliency, attend=attend, **options
        )
        return found

    @cached_property
    def same_bits(self) -> bool:
        """Whether the results of a text are bit-identical alone and in any batch.

        Tested once, on random texts, in this process and with its current number of threads.
        """
        return is_batch_invariant(self.runtime)

    @cached_property
    def translator(self) -> TorchRuntime:
        """The PyTorch runtime, loaded on first use unless it is the runtime already."""
        if self.runtime.name == "torch":
            return cast("TorchRuntime", self.runtime)
        return open_torch(self.folder, same_bits=self.asks_same_bits)

    def _runtime_for(self, call: Request) -> Runtime:
        """Return PyTorch if only it supports the call and is available, otherwise the model's own runtime."""
        can_fall_back = not self.is_forced and (self.folder / WEIGHTS).is_file() and is_installed("torch")
        return self.translator if can_fall_back and unsupported(self.runtime.name, call) else self.runtime

    def _search(self, search: SearchOptions | None) -> SearchConfig:
        match search:
            case None:
                return self.runtime.search
            case SearchConfig():
                return search
            case Mapping():
                return with_changes(self.runtime.search, search)
        raise wrong_type(
            "search", search, "a dict of settings of [search], or a SearchConfig", 'search={"size": 1}'
        )

    def __repr__(self) -> str:
        return f"Model({str(self.folder)!r})"


def lines_of(texts: object) -> list[str]:
    return [text.removesuffix("\n").removesuffix("\r") for text in texts_of(texts)]


def read_ahead(texts: Iterator[str]) -> Iterator[list[str]]:
    while some := list(islice(texts, READ_AHEAD)):
        yield some


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
) -> Model:
    """Load the model in a run folder, its model/ or a project folder.

    The default `runtime` is CTranslate2 or ONNX Runtime if the folder has an export for it, else PyTorch.
    `ensemble` lists further models, whose predictions are combined with the model's; `reverse` is a model
    trained in the opposite direction, which reranks the outputs; `lm` is a language model that is fused into
    the search. With several `workers`, PyTorch decodes in that many processes. `device` is auto (a GPU
    if there is one), cpu, cuda, cuda:1 … (nothing was ever run on a real GPU). `same_bits` requests MKL's
    strict mode (MKL_CBWR) for PyTorch, in the whole process.
    """
    folder = find_model(path_of(path, "path"))
    others = paths_of(ensemble, "ensemble")
    back = None if reverse is None else path_of(reverse, "reverse")
    fused = None if lm is None else path_of(lm, "lm")
    check_worker_count(workers)
    is_forced, is_alone = runtime is not None, not others and back is None and fused is None
    chosen: RuntimeName = runtime or (pick_runtime(folder) if is_alone else None) or "torch"
    if chosen == "torch":
        translator = open_torch(
            folder, others, back, fused, workers=workers, device=device, same_bits=same_bits
        )
        return Model(folder, translator, is_forced=is_forced)
    if not is_alone:
        raise torch_only(chosen)
    if workers > 1:
        raise no_workers(f"{chosen} distributes its work over the cores by itself.", workers)
    export = open_export_runtime(folder, chosen, device)
    return Model(folder, export, is_forced=is_forced, asks_same_bits=same_bits)


def torch_only(chosen: RuntimeName) -> UsageError:
    return UsageError(
        "Ensembles, reverse models and language models run in PyTorch only.",
        where=f'runtime = "{chosen}"',
        expected="no runtime, or torch",
        hint=f'Leave out the runtime "{chosen}", or use "torch".',
    )


def check_worker_count(workers: object) -> None:
    if isinstance(workers, bool) or not isinstance(workers, int) or workers < 1:
        raise wrong_type("workers", workers, "a number of processes: 1, 2, 3 …", "Give 1 or more.")


def no_workers(what: str, workers: int) -> UsageError:
    return UsageError(
        what,
        where=f"workers = {workers}",
        expected="workers with the runtime torch on the CPU only",
        hint='Use the runtime "torch" on the CPU, or leave out the workers.',
    )


def refuse_without_weights(folder: Path) -> None:
    """Raise UsageError if only an export is in the folder."""
    if is_export(folder):
        raise UsageError(
            "This folder is an export: it does not contain the weights that PyTorch reads.",
            where=str(folder),
            expected=WEIGHTS,
            hint="Give the folder that dragoman train -o wrote, or install the engine of the export.",
        )


def open_torch(
    folder: Path,
    ensemble: Sequence[Path] = (),
    reverse: Path | None = None,
    lm: Path | None = None,
    *,
    workers: int = 1,
    device: str = "cpu",
    same_bits: bool = False,
) -> TorchRuntime:
    if not (is_installed("torch") and is_installed("jaxtyping")):
        raise MissingExtra(
            "This needs PyTorch, which is not installed.",
            where=str(folder),
            expected="an export in the folder, such as ct2/, or PyTorch",
            hint='pip install "dragoman[train]"; or, where it is installed: dragoman export MODEL --to ct2',
        )
    refuse_without_weights(folder)
    if same_bits:
        request_reproducible_mkl()
    both = (None if path is None else find_model(path) for path in (reverse, lm))
    more = [find_model(other) for other in ensemble], *both
    open_folder(folder)  # report a broken folder before importing torch, which is slow
    translator: TorchRuntime
    if workers > 1:
        if device not in ("auto", "cpu"):
            raise no_workers(f"Several processes cannot share {device}.", workers)
        translator = import_module("dragoman.inference.runtimes.workers").load_pool(workers, folder, *more)
    else:
        translator = import_module("dragoman.inference.runtimes.torch").load_torch_runtime(
            folder, *more, device=device
        )
    return translator
