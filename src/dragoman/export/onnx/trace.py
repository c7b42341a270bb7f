"""Tracing of a module into an ONNX graph.

An axis stays dynamic in a graph only if its size is read from `shape`, not by `len`, and if the example
inputs are contiguous, so that it is not compared with a stride.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import nn

OPSET = 20


def trace(
    module: nn.Module,
    inputs: tuple[Any, ...],
    axes: tuple[Any, ...],
    names: tuple[list[str], list[str]],
    file: Path,
) -> None:
    with quiet():
        program = torch.onnx.export(
            module.eval(),
            inputs,
            dynamo=True,
            dynamic_shapes=axes,
            input_names=names[0],
            output_names=names[1],
            opset_version=OPSET,
            verbose=False,
        )
    assert program is not None
    program.save(file, external_data=False)


@contextmanager
def quiet() -> Iterator[None]:
    """Suppress the warnings of torch about optional packages and shared axis names."""
    loggers = [logging.getLogger(name) for name in ("torch.onnx", "onnxscript", "onnx_ir")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
