"""How many runs are in which state, in words that agree with their number."""

from __future__ import annotations

import pytest

from sismo.report.language import language
from sismo.scan.summary import counted


@pytest.mark.parametrize(
    ("count", "code", "said"),
    [(1, "en", "1 with a warning"), (1204, "en", "1,204 with warnings"), (1, "es", "1 con aviso"), (2, "es", "2 con avisos")],
)
def test_a_tally_agrees_with_its_number(count: int, code: str, said: str) -> None:
    assert language(code).say(counted("warning", count)) == said
