"""Settings of poolings: how the states of a line become one vector, for classification."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from dragoman.config.section import Section


class QueryPoolingPart(Section):
    """Attention with a learned query (Yang et al. 2016), which gives each token a weight."""

    kind: Literal["query"] = "query"
    score: Literal["additive", "scaled-dot"] = Field(
        default="additive", description="The attention score: vᵀ tanh(W₁h + W₂q) or qᵀh/√d."
    )


class MeanPoolingPart(Section):
    """The mean of the states."""

    kind: Literal["mean"] = "mean"


class MaxPoolingPart(Section):
    """The maximum of each feature over the states."""

    kind: Literal["max"] = "max"


class LastPoolingPart(Section):
    """The encoder's own summary: the last states of a recurrent one, the vector of a sentence encoder."""

    kind: Literal["last"] = "last"


PoolingPart = Annotated[
    QueryPoolingPart | MeanPoolingPart | MaxPoolingPart | LastPoolingPart, Field(discriminator="kind")
]
