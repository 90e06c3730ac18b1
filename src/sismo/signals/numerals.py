"""Numbers as they were printed."""

from __future__ import annotations


def digits(value: float) -> int:
    """Significant digits of a number as it was printed; 0 for 0."""
    return len(f"{value:.12g}".partition("e")[0].lstrip("-0.").replace(".", ""))


def decimals(value: float) -> int:
    """Decimals of a number as it was printed without an exponent."""
    return len(f"{value:.10f}".rstrip("0").partition(".")[2])
