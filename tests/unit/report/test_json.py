"""The JSON report: strict, and as its published schema says."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
import samples

from sismo.report.json import render
from sismo.report.language import language

SCHEMA = json.loads((Path(__file__).parents[3] / "docs" / "diagnosis.schema.json").read_text(encoding="utf-8"))


def refuse(token: str) -> None:
    raise AssertionError(f"{token} is not JSON")


def document(*runs: object, errors: tuple[tuple[str, str], ...] = ()) -> dict[str, object]:
    return json.loads(render(list(runs), errors, "0.1.0", language("en")), parse_constant=refuse)  # type: ignore[arg-type]


def test_the_document_is_strict_and_matches_its_schema() -> None:
    whole = document(samples.BROKEN, samples.HEALTHY, samples.UNJUDGED, errors=(("x", "x: broken"),))
    jsonschema.Draft202012Validator(SCHEMA).validate(whole)
    assert [run["healthy"] for run in whole["runs"]] == [False, True, None]  # type: ignore[attr-defined,index]


def test_the_schema_refuses_what_is_not_a_diagnosis() -> None:
    whole = document(samples.BROKEN)
    whole["runs"][0]["causes"][0]["severity"] = "dire"  # type: ignore[index]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(SCHEMA).validate(whole)


def test_causes_stand_in_rank_order_with_what_a_program_needs() -> None:
    run = document(samples.BROKEN)["runs"][0]  # type: ignore[index]
    assert [cause["id"] for cause in run["causes"]] == ["exploding-gradients", "missing-warmup", "log-of-zero"]
    assert run["causes"][2]["consequence_of"] == "exploding-gradients"
    assert run["causes"][0]["evidence"][0]["start"] == 300


def test_a_path_that_no_encoding_knows_is_still_json() -> None:
    render([], (("\udcff.log", "\udcff.log: no such file"),), "0.1.0", language("en")).encode("ascii")
