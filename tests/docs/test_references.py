"""What the pages name is there: files, folders, functions, links, settings."""

from __future__ import annotations

import ast
import re
import tomllib
from functools import cache
from pathlib import Path

import pytest

import dragoman
from dragoman.config.key_lookup import all_names, sections_at
from dragoman.config.presets import PRESETS
from support.pages import PAGES, ROOT, blocks, name_of

SOURCE = ROOT / "src" / "dragoman"
TREES = ("src", "tests", "docs", "scripts", "benchmarks", "launch")


def prose(page: Path) -> str:
    """The page without its blocks."""
    return re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)


@cache
def definitions(file: Path) -> set[str]:
    """Functions, classes, methods and module-level names, as `name` or `Class.name`."""
    names: set[str] = set()
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        match node:
            case ast.FunctionDef(name=name):
                names.add(name)
            case ast.ClassDef(name=name, body=body):
                names.add(name)
                names |= {f"{name}.{n.name}" for n in body if isinstance(n, ast.FunctionDef)}
            case ast.Assign(targets=targets):
                names |= {t.id for t in targets if isinstance(t, ast.Name)}
            case ast.AnnAssign(target=ast.Name(id=name)):
                names.add(name)
    return names


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_named_files_exist(page: Path) -> None:
    words = re.findall(r"`([^`\s]+)`", prose(page))
    paths = [w for w in words if w.split("/")[0] in TREES or re.fullmatch(r"(\w+/)*\w+\.py", w)]
    paths = [path for path in paths if path != "build.py"]  # there is one in many folders
    missing = [p for p in paths if not (ROOT / p).exists() and not (SOURCE / p).exists()]
    assert not missing


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_named_symbols_are_in_their_files(page: Path) -> None:
    pairs = re.findall(r"`([A-Za-z_][\w.]*)`\s+\(`((?:\w+/)*\w+\.py)`\)", prose(page))
    missing = [f"{symbol} in {file}" for symbol, file in pairs if symbol not in definitions(SOURCE / file)]
    assert not missing
    assert pairs or page.name != "tour.md"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    links = [*re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", text), *re.findall(r"\}`[^`]*<([\w/.]+)>`", text)]
    links += re.findall(r'\b(?:href|src|srcset)="([^"#]+)', text)
    local = [link for link in links if "://" not in link]
    assert not [link for link in local if not (page.parent / link).exists()]


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_named_settings_exist(page: Path) -> None:
    sections = {name.split(".")[0] for name in all_names()}
    known = {*all_names(), "model.encoder", "model.decoder", "data.train", "data.valid", "data.test"}
    words = re.findall(r'[`"\s]((?:[a-z_]+\.)+[a-z_]+)(?=[=`"])', page.read_text(encoding="utf-8"))
    unknown = [
        w for w in words if w.split(".")[0] in sections and w not in known and not w.endswith((".py", ".de"))
    ]
    assert not [name for name in unknown if not sections_at(tuple(name.split(".")))]


def test_every_preset_is_on_the_page_of_architectures() -> None:
    text = (ROOT / "docs" / "architectures.md").read_text(encoding="utf-8")
    assert not [name for name in PRESETS if f"`{name}`" not in text]


def test_every_public_function_has_an_example_and_an_entry() -> None:
    page = ROOT / "docs" / "api.md"
    code = ast.parse("".join(block.body for block in blocks(page, "python")))
    functions = [node.func for node in ast.walk(code) if isinstance(node, ast.Call)]
    called = {f.attr for f in functions if isinstance(f, ast.Attribute) and ast.unparse(f.value) == "dg"}
    assert set(dragoman.__all__) <= called
    listed = re.findall(r"autofunction:: dragoman\.(\w+)$", page.read_text(encoding="utf-8"), re.M)
    assert set(dragoman.__all__) == set(listed)


def test_tree_of_the_tour_is_the_tree() -> None:
    text = (ROOT / "docs" / "tour.md").read_text(encoding="utf-8")
    tree = re.search(r"^src/dragoman/\n((?:  \S.*\n)+)", text, re.M)
    assert tree
    named = {line.split()[0].rstrip("/") for line in tree[1].split("\n")[:-1]}
    there = {p.name for p in SOURCE.iterdir() if p.suffix == ".py" or (p / "__init__.py").exists()}
    assert named == {name for name in there if not name.startswith("__")}


def test_the_readme_is_short() -> None:
    assert (ROOT / "README.md").read_text(encoding="utf-8").count("\n") <= 120


def test_on_pypi_every_link_of_the_readme_has_the_address_of_the_repository() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for change in settings["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]["substitutions"]:
        text = re.sub(change["pattern"], change["replacement"], text)
    links = [*re.findall(r"\]\(([^)]+)\)", text), *re.findall(r'\b(?:href|src|srcset)="([^"]+)', text)]
    address = settings["project"]["urls"]["Repository"]
    assert len(links) > 10
    assert not [link for link in links if not link.startswith(f"{address}/")]


def test_six_files_are_short() -> None:
    text = (ROOT / "docs" / "tour.md").read_text(encoding="utf-8")
    files = re.findall(r"^\d\. `(src/dragoman/[\w/]+\.py)`", text, re.M)
    assert len(files) == 6
    assert all((ROOT / file).read_text(encoding="utf-8").count("\n") <= 160 for file in files)
