"""The rules of the house, each a function from a source file to its offences (line, what).

Every source file keeps them, save for the exceptions in allowed.txt, and every rule catches what it is for.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

LONGEST_FILE = 400
LONGEST_FUNCTION = 40
LONGEST_FORWARD = 25
# A function of more than eight parameters wants a record. A constructor of a network part takes the plain
# numbers of its section of the settings, one each, so that no setting reaches an equation: it may take ten.
MOST_PARAMETERS = 8
MOST_PARAMETERS_OF_A_CONSTRUCTOR = 10
VAGUE_NAMES = {"utils", "util", "helpers", "helper", "common", "misc", "core", "manager", "managers", "base"}
FORBIDDEN_MODULES = {"pickle", "cPickle", "dill", "marshal", "shelve", "joblib", "cloudpickle"}
FORBIDDEN_CALLS = {
    "eval",
    "exec",
    "torch.load",
    "torch.save",
    "yaml.load",
    "numpy.load",
    "np.load",
    "os.system",
}
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


def file_is_short(file: Source) -> Iterator[Offence]:
    count = file.text.count("\n")
    if count > LONGEST_FILE:
        yield count, f"{count} lines; {LONGEST_FILE} at most"


def file_has_a_docstring(file: Source) -> Iterator[Offence]:
    if file.text.strip() and not ast.get_docstring(file.tree):
        yield 1, "no module docstring"


def file_has_a_telling_name(file: Source) -> Iterator[Offence]:
    for part in (*file.path.parts[:-1], file.path.stem):
        if part in VAGUE_NAMES:
            yield 1, f'"{part}" says nothing of what is in it'


def function_is_short(file: Source) -> Iterator[Offence]:
    for function in functions(file):
        limit = LONGEST_FORWARD if function.name == "forward" else LONGEST_FUNCTION
        lines = (function.end_lineno or 0) - function.lineno + 1
        if lines > limit:
            yield function.lineno, f"{function.name} has {lines} lines; {limit} at most"


def function_takes_few_parameters(file: Source) -> Iterator[Offence]:
    for function in functions(file):
        a = function.args
        names = [p.arg for p in (*a.posonlyargs, *a.args, *a.kwonlyargs) if p.arg not in ("self", "cls")]
        limit = MOST_PARAMETERS_OF_A_CONSTRUCTOR if function.name == "__init__" else MOST_PARAMETERS
        if len(names) > limit:
            yield function.lineno, f"{function.name} takes {len(names)} parameters; {limit} at most"
        if a.kwarg and function.name in ("forward", "step"):
            yield function.lineno, f"{function.name} takes **{a.kwarg.arg}"


def only_the_command_line_prints(file: Source) -> Iterator[Offence]:
    if file.folder == "cli":
        return
    for node in ast.walk(file.tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("print", "rich.print"):
            yield node.lineno, "prints"


def imports_stand_on_top(file: Source) -> Iterator[Offence]:
    if file.folder == "cli" or file.path.name == "__init__.py":
        return
    for function in functions(file):
        for node in ast.walk(function):
            if isinstance(node, ast.Import | ast.ImportFrom):
                yield node.lineno, f"import inside {function.name}"


def no_code_in_data(file: Source) -> Iterator[Offence]:
    for node in ast.walk(file.tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        if {name.partition(".")[0] for name in names} & FORBIDDEN_MODULES:
            yield node.lineno, f"imports {', '.join(names)}"
        if isinstance(node, ast.Call) and ast.unparse(node.func) in FORBIDDEN_CALLS:
            yield node.lineno, f"calls {ast.unparse(node.func)}"


def only_newline_ends_a_line(file: Source) -> Iterator[Offence]:
    for node in ast.walk(file.tree):
        if isinstance(node, ast.Attribute) and node.attr == "splitlines":
            yield node.lineno, 'splitlines cuts at more than "\\n"'


def todo_names_an_issue(file: Source) -> Iterator[Offence]:
    for number, line in enumerate(file.text.split("\n"), start=1):
        if re.search(r"\b(TODO|FIXME|XXX)\b(?!.*#\d+)", line):
            yield number, "TODO without an issue number (#12)"


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
    for node in ast.walk(file.tree):
        if isinstance(node, ast.Global):
            yield node.lineno, f"global {', '.join(node.names)}"


def tensors_carry_their_shape(file: Source) -> Iterator[Offence]:
    if file.folder not in ("nn", "models"):
        return
    for function in functions(file):
        a = function.args
        parameters = (*a.posonlyargs, *a.args, *a.kwonlyargs)
        if (
            parameters and parameters[0].arg == "ctx"
        ):  # an autograd Function, called by its twin that has the shapes
            continue
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


RULES = (
    file_is_short,
    file_has_a_docstring,
    file_has_a_telling_name,
    function_is_short,
    function_takes_few_parameters,
    only_the_command_line_prints,
    imports_stand_on_top,
    no_code_in_data,
    only_newline_ends_a_line,
    todo_names_an_issue,
    modules_hold_no_state,
    tensors_carry_their_shape,
)

HERE = Path(__file__).parent
ROOT = HERE.parent.parent / "src" / "dragoman"
FILES = [source(p.relative_to(ROOT), p.read_text(encoding="utf-8")) for p in sorted(ROOT.rglob("*.py"))]
Rule = Callable[[Source], Iterator[Offence]]


def allowed() -> set[tuple[str, str]]:
    lines = (HERE / "allowed.txt").read_text(encoding="utf-8").split("\n")
    entries = [line.split(maxsplit=2) for line in lines if line and not line.startswith("#")]
    assert all(len(entry) == 3 for entry in entries), "each exception needs a reason"
    return {(rule, file) for rule, file, _ in entries}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_house_rule_holds(rule: Rule) -> None:
    exceptions = allowed()
    found = [
        f"src/dragoman/{file.path.as_posix()}:{line}  {what}"
        for file in FILES
        if (rule.__name__, file.path.as_posix()) not in exceptions
        for line, what in rule(file)
    ]
    assert not found, "\n" + "\n".join(found)


def test_no_exception_outlives_its_reason() -> None:
    rules = {rule.__name__: rule for rule in RULES}
    files = {file.path.as_posix(): file for file in FILES}
    stale = [
        (rule, file) for rule, file in allowed() if file not in files or not list(rules[rule](files[file]))
    ]
    assert not stale


OFFENDERS = {
    "file_is_short": ("nn/a.py", '"""A."""\n' + "x = 1\n" * 400),
    "file_has_a_docstring": ("nn/a.py", "x = 1\n"),
    "file_has_a_telling_name": ("nn/utils.py", ""),
    "function_is_short": ("nn/a.py", "def forward(x):\n" + "    x = 1\n" * 25),
    "function_takes_few_parameters": ("nn/a.py", "def f(a, b, c, d, e, *, f, g, h, i): ..."),
    "only_the_command_line_prints": ("nn/a.py", "print(1)"),
    "imports_stand_on_top": ("nn/a.py", "def f():\n    import os"),
    "no_code_in_data": ("nn/a.py", "import torch\ntorch.load('x')"),
    "only_newline_ends_a_line": ("nn/a.py", "'a'.splitlines()"),
    "todo_names_an_issue": ("nn/a.py", "# TO" + "DO later"),
    "modules_hold_no_state": ("nn/a.py", "cache = {}"),
    "tensors_carry_their_shape": ("nn/a.py", "def f(x: Tensor | None): ..."),
}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_house_rule_catches_an_offender(rule: Rule) -> None:
    path, text = OFFENDERS[rule.__name__]
    assert list(rule(source(Path(path), text)))
