"""The rules of the house that no linter checks, each a function from a source file to its offences.

Every source file keeps them, and every rule catches what it is for. Ruff checks the others (pyproject.toml).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from dragoman import shapes

VAGUE_NAMES = {"utils", "util", "helpers", "helper", "common", "misc", "core", "manager", "managers", "base"}
SHAPE = re.compile(r'(?:Float|Int|Bool)\[\w+, "([^"]*)"\]')
LEGEND = {*re.findall(r"\*?\b[A-Za-z]\b", shapes.__doc__ or ""), "1", "*shape"}
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)

Offence = tuple[int, str]


class Source(NamedTuple):
    path: Path  # from src/dragoman
    text: str
    tree: ast.Module

    @property
    def folder(self) -> str:
        return self.path.parts[0] if len(self.path.parts) > 1 else ""


def source(path: Path, text: str) -> Source:
    return Source(path, text, ast.parse(text))


def functions(file: Source) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (node for node in ast.walk(file.tree) if isinstance(node, FUNCTIONS))


def file_has_a_telling_name(file: Source) -> Iterator[Offence]:
    for part in (*file.path.parts[:-1], file.path.stem):
        if part in VAGUE_NAMES:
            yield 1, f'"{part}" says nothing of what is in it'


def only_newline_ends_a_line(file: Source) -> Iterator[Offence]:
    for node in ast.walk(file.tree):
        if isinstance(node, ast.Attribute) and node.attr == "splitlines":
            yield node.lineno, 'splitlines cuts at more than "\\n"'


def modules_hold_no_state(file: Source) -> Iterator[Offence]:
    """A list, dict or set at module level is a table in CAPITALS, or it is state."""
    mutable = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp)
    for node in file.tree.body:
        if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
            continue
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        names = [t.id for t in targets if isinstance(t, ast.Name)]
        makes = isinstance(node.value, mutable) or (
            isinstance(node.value, ast.Call)
            and ast.unparse(node.value.func) in ("list", "dict", "set", "defaultdict", "Counter", "deque")
        )
        if makes and not all(n.isupper() or n == "__all__" for n in names):
            yield node.lineno, f"{', '.join(names)} is module-level mutable state"


def tensors_carry_their_shape(file: Source) -> Iterator[Offence]:
    if file.folder not in ("nn", "models"):
        return
    for function in functions(file):
        a = function.args
        parameters = (*a.posonlyargs, *a.args, *a.kwonlyargs)
        if parameters and parameters[0].arg == "ctx":
            continue  # an autograd Function, called by its twin that has the shapes
        for parameter in parameters:
            if parameter.annotation is not None and is_bare_tensor(parameter.annotation):
                yield parameter.lineno, f"{parameter.arg} of {function.name} is a tensor without a shape"


def is_bare_tensor(hint: ast.expr) -> bool:
    """`Tensor` outside Float[Tensor, "B S D"]; the tensors of a dict (weights by name) have many shapes."""
    shaped = ("Float", "Int", "Bool", "Shaped", "dict", "Mapping")
    if isinstance(hint, ast.Subscript) and ast.unparse(hint.value) in shaped:
        return False
    if ast.unparse(hint) in ("Tensor", "torch.Tensor"):
        return True
    return any(is_bare_tensor(inner) for inner in ast.iter_child_nodes(hint) if isinstance(inner, ast.expr))


def axes_are_in_the_legend(file: Source) -> Iterator[Offence]:
    for number, line in enumerate(file.text.split("\n"), start=1):
        for shape in SHAPE.findall(line):
            for axis in sorted(set(shape.split()) - LEGEND):
                yield number, f'"{axis}" is not in the legend of shapes.py'


def passes_name_their_arguments(file: Source) -> Iterator[Offence]:
    for function in functions(file):
        if function.args.kwarg and function.name in ("forward", "step"):
            yield function.lineno, f"{function.name} takes **{function.args.kwarg.arg}"


RULES = (
    file_has_a_telling_name,
    only_newline_ends_a_line,
    modules_hold_no_state,
    tensors_carry_their_shape,
    axes_are_in_the_legend,
    passes_name_their_arguments,
)

ROOT = Path(__file__).parents[2] / "src" / "dragoman"
FILES = [source(p.relative_to(ROOT), p.read_text(encoding="utf-8")) for p in sorted(ROOT.rglob("*.py"))]
Rule = Callable[[Source], Iterator[Offence]]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_house_rule_holds(rule: Rule) -> None:
    found = [
        f"src/dragoman/{file.path.as_posix()}:{line}  {what}" for file in FILES for line, what in rule(file)
    ]
    assert not found, "\n" + "\n".join(found)


OFFENDERS = {
    "file_has_a_telling_name": ("nn/utils.py", ""),
    "only_newline_ends_a_line": ("nn/a.py", "'a'.splitlines()"),
    "modules_hold_no_state": ("nn/a.py", "cache = {}"),
    "tensors_carry_their_shape": ("nn/a.py", "def f(x: Tensor | None): ..."),
    "axes_are_in_the_legend": ("nn/a.py", 'def f(x: Float[Tensor, "B word"]): ...'),
    "passes_name_their_arguments": ("nn/a.py", "def forward(self, **rest): ..."),
}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_house_rule_catches_an_offender(rule: Rule) -> None:
    path, text = OFFENDERS[rule.__name__]
    assert list(rule(source(Path(path), text)))
