"""Renderers: the run document as text.  Each returns a string and writes nothing.

The built-in ones stand in :data:`RENDERERS` and reach everybody through the hook
``prun_renderers`` (see :mod:`prun_review.extensions`).  The top level of a document is read
leniently, so that the document of a run that only started can be shown too.

They are loaded on first use: every verb needs a part of this package, and few show a whole document.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prun_review.ports import Renderer

    RENDERERS: dict[str, Renderer]
    """The built-in renderers by name."""


def __getattr__(name: str) -> object:
    if name != "RENDERERS":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from prun_review.renderers.adr import Adr
    from prun_review.renderers.json import Json
    from prun_review.renderers.markdown import Markdown
    from prun_review.renderers.terminal import Terminal

    known: dict[str, Renderer] = {r.name: r for r in (Terminal(), Markdown(), Json(), Adr())}
    globals()[name] = known
    return known
