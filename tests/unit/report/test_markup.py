"""Nothing that is handed to the page as text becomes markup."""

from __future__ import annotations

import json

import pytest

from sismo.report.markup import data, join, raw, tag


def test_text_and_attributes_are_escaped() -> None:
    made = tag("p", "<b>", tag("i", "a & b"), title='"><script>', data_step=0, hidden=True, id=None, open=False)
    assert made == '<p title="&quot;&gt;&lt;script&gt;" data-step="0" hidden>&lt;b&gt;<i>a &amp; b</i></p>'


def test_what_no_page_can_hold_is_replaced() -> None:
    assert tag("p", "a\x00b\ud800") == "<p>a\ufffdb?</p>"
    assert join(["<", None, raw("<br/>")]) == "&lt;<br/>"


@pytest.mark.parametrize("text", ["</script><!--", "<![CDATA[", "\u2028\u2029&", "\ud800"])
def test_data_cannot_end_its_element(text: str) -> None:
    made = data({"name": text})
    assert "<" not in made
    assert json.loads(made)["name"] == text.encode("utf-8", "replace").decode("utf-8")


def test_numbers_that_json_lacks_are_refused() -> None:
    with pytest.raises(ValueError):
        data(float("nan"))
