"""A rule-based sentence splitter for Argos Translate: a minimal ONNX network for its splitter, MiniSBD.

A sentence ends at . ! ? … before a space, optionally with a closing quote between them, and at 。！？
anywhere. The rule is language-independent and needs neither training nor a licence. The ONNX file is small
enough to serialize its protocol buffers by hand.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

SPACE, MARK, CLOSER, FULL = range(4)  # character classes; other characters have none
CHARACTERS = {SPACE: " ", MARK: ".!?…", CLOSER: "\"'”’»)]", FULL: "。！？"}
UNKNOWN = 1  # the id of any other character; 0 is padding
LEAST = 3.0
FLOAT, INT64, INTS = 1, 7, 7  # constants of onnx.proto

Value = int | bytes | str


def splitter() -> bytes:
    """Return the contents of the ONNX file."""
    vocabulary = {"<PAD>": 0, "<UNK>": UNKNOWN}
    for kind, characters in CHARACTERS.items():
        vocabulary |= dict.fromkeys(characters, UNKNOWN + 1 + kind)
    facts = {
        "lang_code": "any",
        "config": json.dumps({"max_seqlen": 1000, "feat_funcs": []}),
        "vocab": json.dumps({"lang": "", "_unit2id": vocabulary, "_id2unit": list(vocabulary)}),
        "lexicon": "null",
    }
    opset = message((2, 13))
    model: list[tuple[int, Value]] = [(1, 8), (2, "dragoman"), (7, graph()), (8, opset)]
    return message(*model, *((14, message((1, key), (2, value))) for key, value in facts.items()))


def graph() -> bytes:
    """Return the graph: character ids → classes → window of three → [inside, token end, sentence end]."""
    kinds = np.concatenate([np.zeros((UNKNOWN + 1, 4)), np.eye(4)]).astype(np.float32)
    return message(
        (1, node("Gather", ["kinds", "units"], "is")),
        (1, node("Transpose", ["is"], "rows", perm=[0, 2, 1])),
        (1, node("Conv", ["rows", "weights", "bias"], "scores", pads=[1, 1])),
        (1, node("Transpose", ["scores"], "out", perm=[0, 2, 1])),
        (2, "sentences"),
        (5, tensor("kinds", kinds)),
        (5, tensor("weights", weights())),
        (5, tensor("bias", np.array([LEAST, -100.0, 0.0], dtype=np.float32))),
        (11, value("units", INT64, ["B", "T"])),
        (11, value("features", FLOAT, ["B", "T", "F"])),
        (12, value("out", FLOAT, ["B", "T", "C"])),
    )


def weights() -> NDArray[np.float32]:
    """Return weights of shape output × class × position: only a sentence end sums to more than LEAST."""
    W = np.zeros((3, 4, 3), dtype=np.float32)
    before, here, after = range(3)
    end = W[2]
    end[MARK, here] = end[SPACE, after] = 2
    end[MARK, before] = end[CLOSER, here] = 1
    end[FULL, here] = 4
    return W


def node(kind: str, inputs: Sequence[str], output: str, **attributes: list[int]) -> bytes:
    fields: list[tuple[int, Value]] = [(1, name) for name in inputs]
    fields += [(2, output), (4, kind)]
    for name, numbers in attributes.items():
        fields.append((5, message((1, name), *((8, number) for number in numbers), (20, INTS))))
    return message(*fields)


def tensor(name: str, values: NDArray[np.float32]) -> bytes:
    sizes = [(1, size) for size in values.shape]
    return message(*sizes, (2, FLOAT), (8, name), (9, values.astype("<f4").tobytes()))


def value(name: str, kind: int, axes: Sequence[str]) -> bytes:
    shape = message(*((1, message((2, axis))) for axis in axes))
    return message((1, name), (2, message((1, message((1, kind), (2, shape))))))


def message(*fields: tuple[int, Value]) -> bytes:
    """Serialize a protocol buffer message: integers as varints, other values length-delimited."""
    parts = []
    for number, content in fields:
        if isinstance(content, int):
            parts.append(varint(number << 3) + varint(content))
        else:
            raw = content.encode() if isinstance(content, str) else content
            parts.append(varint(number << 3 | 2) + varint(len(raw)) + raw)
    return b"".join(parts)


def varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)
