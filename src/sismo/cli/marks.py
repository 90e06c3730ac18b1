"""What the commands of the lab print about an exam that is marked."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sismo.dashboard.registry import panels

if TYPE_CHECKING:
    from sismo.lab.exam import Mark
    from sismo.report.page import Page


def as_text(marks: Sequence[Mark], sheet: Page) -> str:
    """The score, and for each run the answer, the truth and the panel that tells it."""
    say = sheet.language
    lines = [say.fill("{right} of {count} right", right=sum(mark.right for mark in marks), count=len(marks))]
    for mark in marks:
        panel = next(panel for panel in panels() if panel.id == mark.fault.panel)
        sign = sheet.mark("healthy" if mark.right else "broken")
        lines += [
            "",
            say.fill(
                "{sign} {number}  {fault}; you said {answer}",
                sign=sign,
                number=mark.number,
                fault=mark.fault.id,
                answer=f"“{mark.answer.name}”",
            ),
            *sheet.hang(" " * 6, say.word(mark.fault.title)),
            *sheet.hang(
                " " * 6,
                say.fill(
                    "Panel {number}, {title}, tells it: {sign}.",
                    number=panel.number,
                    title=say.say(panel.title),
                    sign=say.word(mark.fault.sign),
                ),
            ),
        ]
    return "\n".join(lines)


def to_json(marks: Sequence[Mark]) -> str:
    """The same for a program, in English."""
    runs = [
        {
            "run": mark.number,
            "answer": mark.answer.name,
            "because": mark.answer.because,
            "truth": mark.fault.id,
            "causes": list(mark.fault.truth),
            "right": mark.right,
            "panel": mark.fault.panel,
            "sign": mark.fault.sign,
        }
        for mark in marks
    ]
    return json.dumps({"right": sum(mark.right for mark in marks), "of": len(marks), "runs": runs}, indent=2)
