"""How Sphinx builds the pages of this folder: ``make docs``."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from docutils import nodes

if TYPE_CHECKING:
    from sphinx.application import Sphinx

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "hostsim"
extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "hostsim_docs.reference",
    "hostsim_docs.session",
]
exclude_patterns = ["_ext", "examples", "notebooks/results", "**/.ipynb_checkpoints"]
html_theme = "furo"
html_title = "hostsim"
html_theme_options = {"top_of_page_buttons": []}
html_show_copyright = False
html_static_path = ["_static"]
html_css_files = ["wide.css"]
html_js_files = ["accessible.js"]
nb_execution_mode = "off"  # `make notebooks` executes them, and they have their outputs
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
napoleon_google_docstring = True
default_role = "code"  # docstrings name things between single backticks


def setup(app: "Sphinx") -> None:
    """Called by Sphinx."""
    app.connect("doctree-read", _show_files_as_text)


def _show_files_as_text(app: "Sphinx", page: nodes.document) -> None:
    """Show cells that write a file as text, as they are not Python."""
    for block in page.findall(nodes.literal_block):
        if block.astext().startswith("%%writefile"):
            block["language"] = "text"
