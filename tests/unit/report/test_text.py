"""The text report: it fits its page, folds before it floods, and says first what matters first."""

from __future__ import annotations

import re

import pytest
import samples

from sismo.postmortem import PostMortem, Text, UnknownItem
from sismo.report.language import language
from sismo.report.page import Page
from sismo.report.summary import table, worst_first
from sismo.report.text import LIMIT, render

EVERY = [samples.BROKEN, samples.HEALTHY, samples.UNJUDGED]


def page(code: str = "en", **changes: object) -> Page:
    return Page(language(code), **changes)  # type: ignore[arg-type]


def crowded() -> PostMortem:
    """A run with more of everything than a page has room for."""
    walk = [
        samples.question(
            f"S{n // 9}.Q{n % 9}", f"S{n // 9} Section", "Is it so? " * 9, ("yes", "no", "unknown")[n % 3], *samples.WALK[1].evidence
        )
        for n in range(90)
    ]
    causes = [samples.cause(f"cause-{n}", f"Cause number {n}", evidence=samples.BROKEN.causes[0].evidence * 9) for n in range(20)]
    unknown = [UnknownItem(f"S1.Q{n}", Text("asks"), Text(f"channel_{n}"), Text(f"do the thing {n} " * 8)) for n in range(30)]
    return samples.BROKEN._replace(
        causes=[samples.BROKEN.causes[0], *causes],
        walk=walk,
        unknown=unknown,
        notes=[Text("note " * 40)] * 3 + [Text(f"n{n}") for n in range(20)],
        note_codes=["x"] * 23,
    )


@pytest.mark.parametrize("code", ["en", "es"])
@pytest.mark.parametrize("document", [*EVERY, crowded()], ids=["broken", "healthy", "unjudged", "crowded"])
def test_a_report_fits_eighty_columns_and_sixty_lines(document: PostMortem, code: str) -> None:
    lines = render(document, page(code)).splitlines()
    assert len(lines) <= LIMIT
    assert max(map(len, lines)) <= 80


def test_verbose_leaves_nothing_out() -> None:
    text = render(crowded(), page(verbose=True))
    assert all(f"cause-{n}" in text for n in range(20))
    assert all(f"do the thing {n}" in text for n in range(30))
    assert text.count("Is it so?") >= 90
    assert max(map(len, text.splitlines())) <= 80


def test_the_first_screen_has_verdict_step_evidence_and_action() -> None:
    first = "\n".join(render(samples.BROKEN, page()).splitlines()[:24])
    for wanted in (
        "BROKEN",
        "Gradients explode (exploding-gradients), from step 300.",
        "loss 9.123 at step 300",
        "Do first",
        "Reload the last",
    ):
        assert wanted in first


def test_a_consequence_stands_under_its_cause() -> None:
    text = render(samples.BROKEN, page())
    assert text.index("Follows from it") < text.index("log-of-zero") < text.index("Also found") < text.index("missing-warmup")


def test_a_healthy_run_is_not_called_anything_else() -> None:
    text = render(samples.HEALTHY, page())
    assert "Healthy as far as this log shows" in text
    assert "BROKEN" not in text


def test_a_run_without_a_verdict_is_never_called_healthy() -> None:
    assert "healthy" not in render(samples.UNJUDGED, page()).lower()


def test_colour_only_where_it_is_wanted() -> None:
    assert "\x1b[" not in render(samples.BROKEN, page())
    coloured = render(samples.BROKEN, page(colour=True))
    assert "\x1b[31;1m✖ BROKEN" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == render(samples.BROKEN, page())


def test_marks_have_an_ascii_form() -> None:
    render(samples.BROKEN, page(unicode=False)).encode("ascii")


def test_missing_pieces_are_ranked_by_what_they_would_settle() -> None:
    text = render(samples.BROKEN, page())
    assert text.index("record with sismo.Recorder") < text.index("log the value that clip_grad_norm_ returns")


def test_the_table_has_one_line_a_run_worst_first() -> None:
    ranked = worst_first([samples.HEALTHY, samples.UNJUDGED, samples.BROKEN])
    assert ranked == [samples.BROKEN, samples.UNJUDGED, samples.HEALTHY]
    lines = table(ranked, page()).splitlines()
    assert len(lines) == 4
    assert "exploding-gradients" in lines[1]
    assert "NO VERDICT" in lines[2]
    assert max(map(len, lines)) <= 80
