"""Write src/dragoman/export/sentence_splitter.onnx, the sentence splitter of packages for Argos Translate.

    python scripts/make_sentence_splitter.py        needs onnx; the file is committed

It is a rule in the form of a network, for MiniSBD, which Argos uses. A sentence ends at . ! ? … before a
space, optionally with a closing quote between them, and at 。！？ anywhere. The rule is language-independent
and needs neither training nor a licence.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from onnx import TensorProto, checker, numpy_helper
from onnx.helper import (
    make_graph,
    make_model,
    make_node,
    make_opsetid,
    make_tensor_value_info,
    set_model_props,
)

FILE = Path(__file__).parents[1] / "src" / "dragoman" / "export" / "sentence_splitter.onnx"
SPACE, MARK, CLOSER, FULL = range(4)  # classes of characters; other characters have none
CHARACTERS = {SPACE: " ", MARK: ".!?…", CLOSER: "\"'”’»)]", FULL: "。！？"}
UNKNOWN = 1  # the id of any other character; 0 is padding
LEAST = 3.0
INSIDE, TOKEN_END, SENTENCE_END = range(3)  # what MiniSBD asks about each character
BEFORE, HERE, AFTER = range(3)


def vocabulary() -> dict[str, int]:
    ids = {"<PAD>": 0, "<UNK>": UNKNOWN}
    for kind, characters in CHARACTERS.items():
        ids |= dict.fromkeys(characters, UNKNOWN + 1 + kind)
    return ids


def splitter() -> bytes:
    """Return the file: ids of characters → their classes → a window of three → the largest score decides."""
    kinds = np.concatenate([np.zeros((UNKNOWN + 1, 4)), np.eye(4)]).astype(np.float32)
    W = np.zeros((3, 4, 3), np.float32)  # (output, class, place); only a sentence end sums to more than LEAST
    W[SENTENCE_END, MARK, HERE] = W[SENTENCE_END, SPACE, AFTER] = 2
    W[SENTENCE_END, MARK, BEFORE] = W[SENTENCE_END, CLOSER, HERE] = 1
    W[SENTENCE_END, FULL, HERE] = 4
    b = np.array([LEAST, -100, 0], np.float32)
    constants = {"kinds": kinds, "W": W, "b": b}
    graph = make_graph(
        [
            make_node("Gather", ["kinds", "units"], ["is"]),
            make_node("Transpose", ["is"], ["rows"], perm=[0, 2, 1]),
            make_node("Conv", ["rows", "W", "b"], ["scores"], pads=[1, 1]),
            make_node("Transpose", ["scores"], ["out"], perm=[0, 2, 1]),
        ],
        "sentences",
        [
            make_tensor_value_info("units", TensorProto.INT64, ["B", "T"]),
            make_tensor_value_info("features", TensorProto.FLOAT, ["B", "T", "F"]),  # MiniSBD gives them
        ],
        [make_tensor_value_info("out", TensorProto.FLOAT, ["B", "T", "C"])],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    model = make_model(graph, producer_name="dragoman", ir_version=8, opset_imports=[make_opsetid("", 13)])
    ids = vocabulary()
    facts = {
        "lang_code": "any",
        "config": json.dumps({"max_seqlen": 1000, "feat_funcs": []}),
        "vocab": json.dumps({"lang": "", "_unit2id": ids, "_id2unit": list(ids)}),
        "lexicon": "null",
    }
    set_model_props(model, facts)
    checker.check_model(model, full_check=True)
    return model.SerializeToString(deterministic=True)


if __name__ == "__main__":
    FILE.write_bytes(splitter())
    print(f"wrote {FILE}")
