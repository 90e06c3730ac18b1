"""The text reports as a person reads them, at 80 columns. ``make golden`` writes the expected files again."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import samples

from sismo.judge import diagnose
from sismo.postmortem import PostMortem
from sismo.report.language import language
from sismo.report.page import Page
from sismo.report.text import render
from sismo.sources import load

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[1] / "examples"
DOCUMENTS = {"broken": samples.BROKEN, "healthy": samples.HEALTHY, "unjudged": samples.UNJUDGED}
LOGS = sorted(path.name for path in EXAMPLES.iterdir() if path.suffix not in {".py", ".md"} and path.is_file())


def compare(name: str, document: PostMortem, code: str) -> None:
    expected = HERE / "reports" / f"{name}.{code}.txt"
    text = render(document, Page(language(code))) + "\n"
    if os.environ.get("SISMO_WRITE_GOLDEN"):
        expected.write_text(text, encoding="utf-8", newline="\n")
    assert text == expected.read_text(encoding="utf-8")


@pytest.mark.parametrize("code", ["en", "es"])
@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_hand_made_post_mortem_reads_as_before(name: str, code: str) -> None:
    compare(f"made-{name}", DOCUMENTS[name], code)


@pytest.mark.parametrize("code", ["en", "es"])
@pytest.mark.parametrize("name", LOGS)
def test_an_example_reads_as_before(name: str, code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(EXAMPLES)
    (run,) = load(name, None)
    compare(name, diagnose(run), code)
