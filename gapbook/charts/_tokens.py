"""Colour tokens of the book, and how a drawing made in light colours takes any theme.

Charts are drawn once, in the light palette. Every light hex belongs to one token alone, so each can be
replaced afterwards: by a CSS variable for the page, or by the dark hex for a stand-alone file.
"""

from __future__ import annotations

import re
from typing import Literal

__all__ = ["FAMILIES", "TOKENS", "Theme", "light", "recolour", "system_token"]

Theme = Literal["light", "dark", "page"]

TOKENS: dict[str, tuple[str, str]] = {
    "bg": ("#FFFFFF", "#121212"),
    "ink": ("#222832", "#CED6DD"),
    "muted": ("#505C6B", "#9CA4AF"),
    "rule": ("#97A1AC", "#5B6673"),
    "grid": ("#E5E9ED", "#2A2F36"),
    "panel": ("#F5F7F9", "#1C2026"),
    "spacetimedb": ("#A4451D", "#F27F3A"),
    "postgres": ("#064984", "#3393E7"),
    "sqlite": ("#0B815B", "#04B986"),
    "cockroachdb": ("#9C4FC3", "#D1BAFE"),
    "convex": ("#7E003A", "#FDB8C3"),
    "other": ("#68717C", "#8B949E"),
    "stack": ("#A38B0E", "#EBCB68"),
    "wire": ("#14A0B2", "#7FE3F2"),
    "promise": ("#DF508B", "#C76F9B"),
    "workload": ("#565B61", "#B1B4B8"),
    "residual": ("#23282F", "#CFD6DC"),
    "on-fill": ("#212731", "#121213"),
    "confirmed": ("#0B6E4F", "#57D6A0"),
    "conditions": ("#8F6400", "#F2CC60"),
    "refuted": ("#8C1D18", "#F4675C"),
    "unmeasurable": ("#5E6975", "#9DA5B0"),
    "stamp": ("#B4231A", "#FF8A80"),
}

FAMILIES = ("stack", "wire", "promise", "workload", "residual")
_SYSTEMS = ("spacetimedb", "postgres", "sqlite", "cockroachdb", "convex")
_TOKEN_OF_HEX = {hexes[0].lower(): token for token, hexes in TOKENS.items()}
_TAG = re.compile(r"<[^>]*>")
_PAINT = re.compile(r'\b(fill|stroke)="(#[0-9A-Fa-f]{6})"')


def light(token: str) -> str:
    """The light hex of a token; of one that a foreign run names and nobody knows, that of systems without a colour."""
    return TOKENS.get(token, TOKENS["other"])[0]


def system_token(system: str) -> str:
    """The colour token of a system; systems without a colour of their own share one grey."""
    return system if system in _SYSTEMS else "other"


def recolour(svg: str, theme: Theme) -> str:
    """Replace each light hex of ``svg``: by its CSS variable (``page``) or by the theme's own hex.

    Raises ValueError for a colour that is no token, as it would stay light on a dark page.
    """

    def paint(match: re.Match[str]) -> str:
        attribute, hex_colour = match.groups()
        token = _TOKEN_OF_HEX.get(hex_colour.lower())
        if token is None:
            raise ValueError(f"colour {hex_colour} is no token of the charts: use one of {', '.join(TOKENS)}")
        value = (
            f"var(--gb-{token}, {TOKENS[token][0]})" if theme == "page" else TOKENS[token][theme == "dark"]
        )
        return f'{attribute}="{value}"'

    return _TAG.sub(lambda tag: _PAINT.sub(paint, tag.group()), svg)
