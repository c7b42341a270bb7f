"""Settings that no model of ours has."""

from __future__ import annotations

GOOD = """\
[data]
train = [{ files = ["train.tsv"] }]
[text]
kind = "word"
size = 300
[model]
encoder = { kind = "transformer", layers = 1, width = 16, heads = 2, ffn = 16 }
decoder = { kind = "transformer", layers = 1, width = 16, heads = 2, ffn = 16 }
"""

BAD_SETTINGS: dict[str, str] = {
    "empty": "",
    "no toml": "import os\nos.system('touch boom')\n",
    "json": '{"model": 1}',
    "deep": "x = " + "[" * 5000 + "]" * 5000,
    "dots": "a" + ".a" * 10_000 + " = 1",
    "unknown key": GOOD + "hooks = ['boom']\n",
    "unknown kind": GOOD.replace('"transformer"', '"os.system"'),
    "long": GOOD + "#" * 200_000,
    "wide": GOOD.replace("width = 16", "width = 100000000"),
    "many places": GOOD.replace("ffn = 16", "ffn = 16, max_positions = 1000000000000"),
    "large ffn": GOOD.replace("ffn = 16", "ffn = 1000000000"),
    "another size": GOOD.replace("width = 16", "width = 32"),
    "another kind": GOOD.replace("transformer", "rnn").replace(", heads = 2, ffn = 16", ""),
    "not a number": GOOD.replace("width = 16", "width = nan"),
    "negative": GOOD.replace("layers = 1", "layers = -1"),
    "huge number": GOOD.replace("width = 16", "width = 1" + "0" * 5000),
}
