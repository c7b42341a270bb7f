"""launch/trainjob.yaml has the fields of a TrainJob and no others."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from support.pages import ROOT

yaml = pytest.importorskip("yaml", reason="PyYAML is not installed; pip install dragoman[docs]")

FILE = ROOT / "launch" / "trainjob.yaml"
FIELDS = json.loads((Path(__file__).parent / "trainjob_fields.json").read_text(encoding="utf-8"))["fields"]
QUANTITY = re.compile(r"\d+(\.\d+)?(m|k|M|G|T|Ki|Mi|Gi|Ti)?")
IS: dict[str, Callable[[Any], bool]] = {
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "quantity": lambda value: isinstance(value, int | str) and bool(QUANTITY.fullmatch(str(value))),
}


def problems(value: Any, form: Any, where: str = "") -> Iterator[str]:
    if isinstance(form, str):
        if not IS[form](value):
            yield f"{where} is {value!r}, not of type {form}"
    elif isinstance(form, list):
        for number, entry in enumerate(value):
            yield from problems(entry, form[0], f"{where}[{number}]")
    else:
        known = {name.rstrip("*"): inner for name, inner in form.items()}
        yield from (f"{where}.{name[:-1]} is missing" for name in form if is_missing(name, value))
        for name, inner in value.items():
            if name in known or "…" in known:
                yield from problems(inner, known.get(name, known.get("…")), f"{where}.{name}")
            else:
                yield f"{where}.{name} is unknown"


def is_missing(name: str, value: dict[str, Any]) -> bool:
    return name.endswith("*") and name[:-1] not in value


def trainjob() -> Any:
    return yaml.safe_load(FILE.read_text(encoding="utf-8"))


def test_every_field_is_one_of_a_trainjob() -> None:
    assert not list(problems(trainjob(), FIELDS))


def rename_volume(job: Any) -> None:
    (patch,) = job["spec"]["runtimePatches"]
    (node,) = patch["trainingRuntimeSpec"]["template"]["spec"]["replicatedJobs"]
    node["template"]["spec"]["template"]["spec"]["volumes"][0]["persistentVolumeClaim"] = {"name": "data"}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (
            lambda job: job["spec"]["trainer"].update(elasticPolicy={}),
            [".spec.trainer.elasticPolicy is unknown"],
        ),
        (lambda job: job["spec"].update(podTemplateOverrides=[]), [".spec.podTemplateOverrides is unknown"]),
        (
            lambda job: job["spec"]["trainer"].update(numNodes="two"),
            [".spec.trainer.numNodes is 'two', not of type integer"],
        ),
        (
            lambda job: job["spec"]["trainer"].update(numProcPerNode="auto"),
            [".spec.trainer.numProcPerNode is 'auto', not of type integer"],
        ),
        (lambda job: job["spec"].pop("runtimeRef"), [".spec.runtimeRef is missing"]),
        (
            lambda job: job["spec"]["trainer"]["env"].append({"name": "A", "value": 1}),
            [".spec.trainer.env[1].value is 1, not of type string"],
        ),
    ],
    ids=["since 2.2 not", "since 2.2 neither", "text", "auto", "left out", "a number as text"],
)
def test_what_trainer_refuses_is_found(change: Callable[[Any], object], expected: list[str]) -> None:
    job = trainjob()
    change(job)
    assert list(problems(job, FIELDS)) == expected


def test_mistakes_deep_inside_are_found() -> None:
    job = trainjob()
    rename_volume(job)
    found = list(problems(job, FIELDS))
    assert [line.rpartition("persistentVolumeClaim")[2] for line in found] == [
        ".claimName is missing",
        ".name is unknown",
    ]


def test_volumes_that_are_mounted_are_there() -> None:
    (patch,) = trainjob()["spec"]["runtimePatches"]
    (node,) = patch["trainingRuntimeSpec"]["template"]["spec"]["replicatedJobs"]
    pod = node["template"]["spec"]["template"]["spec"]
    mounted = {mount["name"] for container in pod["containers"] for mount in container["volumeMounts"]}
    assert mounted == {volume["name"] for volume in pod["volumes"]}
