"""The pages: shells that a script of this server fills with what their JSON twins hold."""

from __future__ import annotations

from functools import cache
from typing import Any

import jinja2
from starlette.responses import HTMLResponse

from attentest.presentation.text import visible

__all__ = ["shell"]


@cache
def _environment() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.PackageLoader("attentest.explorer", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=lambda value: visible(value) if type(value) is str else value,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def shell(page: str, title: str, status: int = 200, **known: Any) -> HTMLResponse:
    """A page by its template; all that it is given is made visible and escaped."""
    about = {"run": "", "row": "", "paper": "", "study": "", "twin": "", "pages": (), "path": ""} | known
    text = _environment().get_template(f"{page}.html").render(page=page, title=title, **about)
    # A lone surrogate, which a file name may hold, is no character of UTF-8.
    return HTMLResponse(text.encode("utf-8", "replace"), status)
