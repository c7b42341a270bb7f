"""The base class of settings sections, typed, frozen and without unknown keys; and parts by their kind."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import PydanticKnownError, core_schema

from dragoman.registry import Registry

Rate = Annotated[float, Field(ge=0.0, lt=1.0)]
Size = Annotated[int, Field(ge=1)]


class Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class ByKind:
    """Annotates a part whose `kind` names its class in a registry."""

    def __init__(self, registry: Registry[Any]) -> None:
        self.registry = registry

    def __get_pydantic_core_schema__(
        self, part: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        return core_schema.no_info_plain_validator_function(self.validated)

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return {"oneOf": [handler(part.__pydantic_core_schema__) for part in self.registry.values()]}

    def validated(self, value: Any) -> Section:
        """Return the part; errors are those of a union that `kind` discriminates."""
        if isinstance(value, Section):
            return value
        if not isinstance(value, dict):
            raise PydanticKnownError("model_attributes_type")
        if "kind" not in value:
            raise PydanticKnownError("union_tag_not_found", {"discriminator": "'kind'"})
        kind = value["kind"]
        if kind not in self.registry:
            expected = ", ".join(f"'{name}'" for name in self.registry)
            given = {"discriminator": "'kind'", "tag": str(kind), "expected_tags": expected}
            raise PydanticKnownError("union_tag_invalid", given)
        part: Section = self.registry[kind].model_validate(value)
        return part
