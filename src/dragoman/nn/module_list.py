"""torch's ModuleList with typed elements."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Generic, TypeVar

from torch import nn

Layer = TypeVar("Layer", bound=nn.Module)


class TypedModuleList(nn.ModuleList, Generic[Layer]):
    def __init__(self, layers: Iterable[Layer]) -> None:
        super().__init__(layers)

    if TYPE_CHECKING:

        def __iter__(self) -> Iterator[Layer]: ...

        def __getitem__(self, index: int) -> Layer: ...  # type: ignore[override]
