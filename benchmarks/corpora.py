"""Where the corpora are: they are not part of the repository."""

from __future__ import annotations

import os
from pathlib import Path

DATA = Path(os.environ.get("DRAGOMAN_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
