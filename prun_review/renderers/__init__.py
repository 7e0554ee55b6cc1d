"""Renderers: the run document as text.  Each returns a string and writes nothing.

The built-in ones stand in :data:`RENDERERS` and reach everybody through the hook
``prun_renderers`` (see :mod:`prun_review.extensions`).  The top level of a document is read
leniently, so that the document of a run that only started can be shown too.
"""

from __future__ import annotations

from prun_review.ports import Renderer
from prun_review.renderers.adr import Adr
from prun_review.renderers.json import Json
from prun_review.renderers.markdown import Markdown
from prun_review.renderers.terminal import Terminal

RENDERERS: dict[str, Renderer] = {r.name: r for r in (Terminal(), Markdown(), Json(), Adr())}
"""The built-in renderers by name."""
