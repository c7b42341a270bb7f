"""The one legend of axis letters, checked in every test run.

B batch · S source steps · T target steps · D model features · H heads · K features per head ·
V vocabulary · L layers · W beam width · E embedding features · G gates × features · N any count.

The batch comes first everywhere. A mask is called `keep`: True is a real token.
"""

from jaxtyping import Bool, Float, Int
from torch import Tensor

__all__ = ["Bool", "Float", "Int", "Tensor"]
