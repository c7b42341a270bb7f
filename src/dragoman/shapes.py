"""Tensor types, and the axis letters of their shapes, which every test run checks.

B batch · S source steps · T target steps · D model features · H heads · K features per head ·
V vocabulary · L layers · W beam width · E embedding features · G gates × features · N any count.

The batch is always the first axis. A mask is called `keep`: True marks a real token.
"""

from jaxtyping import Bool, Float, Int
from torch import Tensor

__all__ = ["Bool", "Float", "Int", "Tensor"]
