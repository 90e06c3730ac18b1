"""Colours of the page: every one of them can be read on what it stands on, and series are told apart by who sees fewer colours.

Contrast is that of WCAG 2.2 (1.4.3: 4.5 for text, 1.4.11: 3 for curves and signs). Colour blindness is simulated with the matrices of
Machado, Oliveira and Fernandes (2009, severity 1.0), and distance is measured in CIELAB.
"""

from __future__ import annotations

import re
from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray

from sismo.dashboard.shell import ASSETS

Colour = NDArray[np.float64]

TEXT = ("ink", "muted", "accent", "alarm", "warn", "calm", "odd", "limit")
SIGNS = ("line-1", "line-2", "line-3", "line-4", "line-5", "lost", "mark", "alarm")
STATES = ("alarm", "warn", "calm", "odd")
BLIND = {
    "protan": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deutan": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritan": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
    "none": np.eye(3).tolist(),
}


def themes() -> dict[str, dict[str, Colour]]:
    """Colours by name of the light theme and of the two blocks that hold the dark one (by the system, by choice)."""
    style = (ASSETS / "page.css").read_text(encoding="utf-8")
    blocks = [block for block in re.findall(r"\{([^{}]*)\}", style) if "--paper:" in block]
    found = [dict(re.findall(r"--([\w-]+): #([0-9a-f]{6})", block)) for block in blocks]
    assert len(found) == 3
    assert found[1] == found[2]
    names = {name: {key: parse(value) for key, value in colours.items()} for name, colours in zip(("light", "dark"), found, strict=False)}
    assert all({*TEXT, *SIGNS} <= set(colours) for colours in names.values())
    return names


def parse(text: str) -> Colour:
    return np.array([int(text[at : at + 2], 16) for at in (0, 2, 4)]) / 255


def linear(colour: Colour) -> Colour:
    return np.where(colour <= 0.04045, colour / 12.92, ((colour + 0.055) / 1.055) ** 2.4)


def contrast(a: Colour, b: Colour) -> float:
    light, dark = sorted((float(linear(one) @ [0.2126, 0.7152, 0.0722]) for one in (a, b)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def lab(colour: Colour) -> Colour:
    matrix = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    parts = np.cbrt(np.clip(matrix @ colour, 0, None) / [0.9505, 1.0, 1.089])
    return np.array([116 * parts[1] - 16, 500 * (parts[0] - parts[1]), 200 * (parts[1] - parts[2])])


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_can_be_read_and_curves_be_seen(theme: str) -> None:
    colours = themes()[theme]
    for ground in ("paper", "surface"):
        assert {name: contrast(colours[name], colours[ground]) for name in TEXT if contrast(colours[name], colours[ground]) < 4.5} == {}
        assert {name: contrast(colours[name], colours[ground]) for name in SIGNS if contrast(colours[name], colours[ground]) < 3.0} == {}
    # Letters on a filled node, on the flag of the panel that cried first and on the answer "yes" have the colour of the surface.
    assert min(contrast(colours["surface"], colours[name]) for name in (*STATES, "ink")) >= 4.5


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("eyes", BLIND)
def test_series_are_told_apart_by_every_eye(theme: str, eyes: str) -> None:
    colours = themes()[theme]
    seen = {name: lab(np.clip(np.array(BLIND[eyes]) @ linear(colours[name]), 0, 1)) for name in SIGNS if name.startswith("line")}
    distances = {pair: float(np.linalg.norm(seen[pair[0]] - seen[pair[1]])) for pair in combinations(seen, 2)}
    assert {pair: round(distance, 1) for pair, distance in distances.items() if distance < 15} == {}
