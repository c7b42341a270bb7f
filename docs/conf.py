"""Sphinx settings: Markdown pages (MyST) in the furo theme. `sphinx-build -W docs docs/_build`."""

import tomllib
from pathlib import Path

PYPROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8"))["project"]
REPOSITORY = PYPROJECT["urls"]["Repository"]

project = "Dragoman"
author = "The Dragoman developers"
copyright = "The Dragoman developers"
version = release = PYPROJECT["version"]

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx_copybutton", "sphinx_design"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]
smartquotes = False  # they break what is copied from a sentence or a table
myst_enable_extensions = ["attrs_inline", "colon_fence", "deflist"]
myst_heading_anchors = 3
default_role = "code"  # of what stands in backticks in docstrings
nitpicky = True
nitpick_ignore_regex = [("py:class", ".*")]  # types in signatures of the API are not all documented

# A signature is read one parameter a line, with the names of types that the source gives them.
add_module_names = False
python_maximum_signature_line_length = 60
autodoc_type_aliases = {name: name for name in ("File", "Listener", "Texts")}
autodoc_typehints_format = "short"

copybutton_prompt_text = "$ "
copybutton_line_continuation_character = "\\"

FONTS = {
    "font-stack": 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", Arial, sans-serif',
    "font-stack--monospace": 'ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace',
}

html_theme = "furo"
html_title = f"Dragoman {release}"
html_logo = html_favicon = "_static/logo.svg"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_theme_options = {
    "source_edit_link": f"{REPOSITORY}/edit/main/docs/{{filename}}",
    "light_css_variables": {**FONTS, "color-brand-primary": "#1a66ad", "color-brand-content": "#1a66ad"},
    "dark_css_variables": {"color-brand-primary": "#6cb6ff", "color-brand-content": "#6cb6ff"},
    "top_of_page_buttons": ["edit"],
    "footer_icons": [{"name": "Source code", "url": REPOSITORY, "html": "Source code", "class": ""}],
}
