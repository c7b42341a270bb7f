"""The base class of settings sections: typed, frozen, and without unknown keys."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Rate = Annotated[float, Field(ge=0.0, lt=1.0)]
Size = Annotated[int, Field(ge=1)]


class Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
