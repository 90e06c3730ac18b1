"""The Markdown report: everything that matters, and nothing of a log taken for markup."""

from __future__ import annotations

import samples

from sismo.postmortem import Text
from sismo.report.language import language
from sismo.report.markdown import render


def test_it_has_the_verdict_the_evidence_and_the_action() -> None:
    text = render(samples.BROKEN, language("en"))
    assert text.startswith("## Gradients explode (exploding-gradients), from step 300.")
    assert "- loss 9.123 at step 300, 4 times its level before" in text
    assert "**Do first:** Reload the last checkpoint" in text
    assert "| S1.Q1 | Is the loss NaN or Inf at any logged step? | **yes**" in text


def test_what_comes_from_a_log_cannot_become_markup() -> None:
    text = render(samples.HEALTHY._replace(notes=[Text("read <b>from</b> a|b\n# c")], note_codes=["x"]), language("en"))
    assert r"read \<b\>from\</b\> a\|b \# c" in text
