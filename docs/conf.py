"""Sphinx, with the reference written from the registries and mathematics as MathML: no network, now or for readers."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docutils import nodes
from docutils.utils.math import latex2mathml

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import reference_pages  # noqa: E402

from attentest import __version__  # noqa: E402

if TYPE_CHECKING:
    from sphinx.application import Sphinx

project = "attentest"
author = "The attentest authors"
copyright = "The attentest authors, Apache-2.0"
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc"]
exclude_patterns = ["_build"]
myst_enable_extensions = ["dollarmath", "deflist"]
myst_heading_anchors = 3
html_theme = "furo"
html_title = "attentest"
html_show_sphinx = False
html_math_renderer = "mathml"
pygments_style = "friendly"
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
autodoc_class_signature = "mixed"
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 80

reference_pages.write(HERE / "reference" / "generated")


def _inline(translator: Any, node: nodes.math) -> None:
    translator.body.append(latex2mathml.tex2mathml(node.astext()))
    raise nodes.SkipNode


def _block(translator: Any, node: nodes.math_block) -> None:
    translator.body.append(f"<div class='math'>{latex2mathml.tex2mathml(node.astext(), as_block=True)}</div>\n")
    raise nodes.SkipNode


def setup(app: Sphinx) -> None:
    """Browsers draw MathML themselves: nothing has to be fetched to read a formula."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
