"""Plain tables for the terminal, Markdown tables for ``docs/results.md``: the same cells."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sismo.records.numeric import wilson

RESULTS = Path(__file__).resolve().parents[3] / "docs" / "results.md"

_HEAD = "# Results\n\nWritten by the commands of `sismo.bench` with `--write`; nothing here is typed by hand.\n"


def plain(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns padded to their widest cell."""
    widths = [max(len(row[column]) for row in [header, *rows]) for column in range(len(header))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in [header, *rows])


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def share(count: int, total: int) -> str:
    """``48 of 60 (80 %, 68-88)``: the share with its 95 % Wilson interval, since a small sample says little."""
    if not total:
        return "0 of 0"
    low, high = wilson(count, total)
    return f"{count} of {total} ({_percent(count / total)} %, {_percent(low)}-{_percent(high)})"


def _percent(value: float) -> str:
    return f"{100 * value:.1f}" if 0 < value < 0.02 or 0.98 < value < 1 else f"{100 * value:.0f}"


def write_section(name: str, title: str, body: str, path: Path = RESULTS) -> None:
    """Replaces the section ``name`` of the results page, or appends it."""
    text = path.read_text(encoding="utf-8") if path.exists() else _HEAD
    begin, end = f"<!-- {name} -->", f"<!-- /{name} -->"
    section = f"{begin}\n## {title}\n\n{body}\n{end}"
    if begin in text:
        before, _, rest = text.partition(begin)
        text = before + section + rest.partition(end)[2]
    else:
        text = f"{text.rstrip()}\n\n{section}\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
