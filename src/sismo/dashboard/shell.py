"""The frame of every page: one file with its style and its script inside, which opens from disk and may ask no network for anything."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path

from sismo.report.markup import Markup, raw, tag

ASSETS = Path(__file__).parent / "assets"


def shell(
    title: str, body: Sequence[Markup], style: Markup, script: Markup | None = None, *, language: str, state: str, live: bool = False
) -> str:
    """A whole page as text.

    Arguments:
        title: of the window. body: what is on it. style, script: all there is of either. language: code of the language.
        state: what the page is coloured by (``broken``, ``warning``, ``healthy``, ``unjudged``). live: whether it may ask its own server.
    """
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=_policy(style, script, live=live)),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("link", rel="icon", href="data:,"),
        tag("title", title),
        tag("style", style),
    )
    end = tag("script", script) if script is not None else None
    return "<!doctype html>\n" + tag("html", head, tag("body", *body, end), lang=language, data_state=state, data_live=live) + "\n"


@cache
def asset(name: str) -> Markup:
    """A style or script of the dashboard."""
    return raw((ASSETS / name).read_text(encoding="utf-8"))


def _policy(style: str, script: str | None, *, live: bool) -> str:
    """Nothing may run or load but what is on this page; a live page may ask its own server."""
    rules = ["default-src 'none'", "base-uri 'none'", "form-action 'none'", "img-src data:", f"style-src '{_digest(style)}'"]
    rules += [f"script-src '{_digest(script)}'"] if script is not None else []
    return "; ".join([*rules, "connect-src 'self'"] if live else rules)


def _digest(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode('utf-8')).digest()).decode('ascii')}"
