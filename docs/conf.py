"""How Sphinx builds the pages of this folder: ``make docs``."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "hostsim"
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "hostsim_docs.reference",
    "hostsim_docs.session",
]
exclude_patterns = ["_ext", "examples"]
html_theme = "furo"
html_title = "hostsim"
html_theme_options = {"top_of_page_buttons": []}
html_show_copyright = False
html_static_path = ["_static"]
html_css_files = ["wide.css"]
html_js_files = ["accessible.js"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
napoleon_google_docstring = True
default_role = "code"  # docstrings name things between single backticks
