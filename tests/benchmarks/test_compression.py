"""The verdict on compression is made of the facts, and compares like with like."""

from __future__ import annotations

from typing import Any

from benchmarks.quality import compression


def step(line: str, bleu: float, speed: float, quantization: str = "int8") -> dict[str, Any]:
    measured = {name: {"bleu": bleu, "per_second": speed} for name in compression.SEARCHES}
    name = f"{line}, {quantization}"
    facts = {"name": name, "line": line, "quantization": quantization, "parameters": 1, "bytes": 1}
    return {**facts, **measured}


def verdict(*students: dict[str, Any]) -> str:
    teacher = step("teacher", 40.0, 100.0)
    return compression.verdict({"steps": [step("teacher", 40.1, 30.0, "float32"), teacher, *students]})


def test_the_fastest_student_that_is_good_enough_counts() -> None:
    slow, fast, bad = (
        step("student, 2 layers", 40.2, 190.0),
        step("student, 1 layer", 39.2, 250.0),
        step("student, 1 layer, trimmed", 38.9, 300.0),
    )
    assert verdict(slow, fast, bad) == (
        "student, 1 layer, int8: 2.50 times as fast as the teacher in int8 (greedy, one by one), BLEU -0.80; "
        "the target, 2 times, is met."
    )
    assert verdict(slow).endswith("BLEU +0.20; the target, 2 times, is not met.")
    assert verdict(bad) == "No student comes within 1.0 BLEU of its teacher."


def test_a_student_of_real_pairs_or_in_float32_does_not_count() -> None:
    real = step("student, 1 layer" + compression.REAL, 40.0, 300.0)
    assert verdict(real, step("student, 1 layer", 40.0, 300.0, "float32")).startswith("No student")
