"""The scripts of the page: their types, and the ranking of hypotheses, which is that of the search."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from dragoman.search.scores import gnmt_normalised, length_normalised
from dragoman.serving.what_if import Workbench

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "src" / "dragoman" / "serving" / "page"
NORMS = {"power": length_normalised, "gnmt": gnmt_normalised}
PROGRAM = """
import { ranked } from %s;
let text = "";
for await (const part of process.stdin) text += part;
const found = JSON.parse(text).map(([tree, searched, wanted]) => ranked(tree, searched, wanted));
process.stdout.write(JSON.stringify(found));
"""
LONGEST = 300  # lines


def ranked(cases: list[Any]) -> list[list[dict[str, Any]]]:
    """Call the function of the page in node."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("no node to run the scripts of the page")
    program = PROGRAM % json.dumps((PAGE / "rank.js").as_uri())
    command = [node, "--input-type=module", "-e", program]
    done = subprocess.run(command, input=json.dumps(cases), capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)  # type: ignore[no-any-return]


def random_tree(draw: random.Random) -> dict[str, Any]:
    nodes: list[dict[str, Any]] = []
    for number in range(1, draw.randint(2, 40)):
        parent = draw.randrange(number)
        step = 1 + (nodes[parent - 1]["step"] if parent else 0)
        log_p = (nodes[parent - 1]["log_p"] if parent else 0.0) - draw.expovariate(1.0)
        fate = draw.choice(["open", "ended", "pruned"])
        nodes.append({"number": number, "parent": parent, "step": step, "log_p": log_p, "fate": fate})
    best = draw.sample(range(1, len(nodes) + 1), draw.randint(0, min(3, len(nodes))))
    return {"nodes": nodes, "best": best}


def test_ranking_by_another_length_penalty_is_scoring_in_python() -> None:
    draw = random.Random(1)
    cases, expected = [], []
    for _ in range(300):
        tree = random_tree(draw)
        old, new = (
            {"alpha": draw.choice([0.0, 1.0, draw.uniform(0, 3)]), "norm": draw.choice(list(NORMS))}
            for _ in range(2)
        )
        coverage = draw.choice([0.0, 0.3])
        for node in tree["nodes"]:
            node["coverage"] = -coverage * draw.random()
            node["score"] = NORMS[old["norm"]](node["log_p"], node["step"], old["alpha"]) + node["coverage"]
        final = [n for n in tree["nodes"] if n["fate"] == "ended" or n["number"] in tree["best"]]
        scores = {
            n["number"]: NORMS[new["norm"]](n["log_p"], n["step"], new["alpha"]) + n["coverage"]
            for n in final
        }
        cases.append((tree, old, new))
        expected.append(sorted(scores.items(), key=lambda row: -row[1]))
    for found, right in zip(ranked(cases), expected, strict=True):
        assert [row["number"] for row in found] == [number for number, _ in right]
        assert [row["score"] for row in found] == pytest.approx([score for _, score in right], rel=1e-12)


def test_ranking_by_the_penalty_of_the_search_is_its_own(workbench: Workbench) -> None:
    """Of a beam that has found enough hypotheses, the best of the page are those that it returned."""
    for alpha in (0.0, 1.0):
        search = {"kind": "beam", "size": 3, "length_penalty": alpha}
        tree = workbench.actions["decode"]({"text": "a b c d", "search": search})["beam"]
        penalty = {"alpha": alpha, "norm": "power"}
        (found,) = ranked([(tree, penalty, penalty)])
        assert found[0]["number"] == tree["best"][0]
        assert {row["number"] for row in found} >= set(tree["best"])


@pytest.mark.slow
def test_types_are_right() -> None:
    """By TypeScript, which reads the types in the comments: npm install typescript, or DRAGOMAN_TSC."""
    named = os.environ.get("DRAGOMAN_TSC") or str(ROOT / "node_modules" / ".bin" / "tsc")
    tsc = shutil.which(named) or shutil.which("tsc")
    if tsc is None:
        pytest.skip("no tsc: npm install typescript, or set DRAGOMAN_TSC")
    command = [tsc, "-p", str(Path(__file__).parent / "tsconfig.json")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("file", sorted(PAGE.glob("*.js")), ids=lambda file: file.name)
def test_scripts_are_small_and_set_text_only(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    assert text.count("\n") < LONGEST
    assert text.startswith("/** "), "it begins by saying what it is"
    for word in (
        "innerHTML",
        "insertAdjacentHTML",
        "document.write",
        "eval(",
        "new Function",
        "http://",
        "https://",
    ):
        assert word not in text.replace("http://www.w3.org/2000/svg", ""), word
