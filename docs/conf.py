"""Sphinx settings: Markdown pages (MyST) in the furo theme. `sphinx-build -W docs docs/_build`."""

import importlib.metadata

project = "Dragoman"
author = "The Dragoman developers"
copyright = "The Dragoman developers"
version = release = importlib.metadata.version("dragoman")

extensions = ["myst_parser", "sphinx.ext.autodoc"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]
myst_heading_anchors = 3
nitpicky = True
nitpick_ignore_regex = [("py:class", ".*")]  # types in signatures of the API are not all documented

html_theme = "furo"
html_title = f"Dragoman {release}"
