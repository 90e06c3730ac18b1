"""The commands in this process: what they print, and the exit codes that they end with."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from sismo.cli.main import run
from sismo.report import explain
from sismo.report.language import language
from sismo.report.page import Page
from sismo.signals.registry import detectors
from sismo.tree.catalogue import causes, nodes

EXAMPLES = Path(__file__).parents[3] / "examples"
HEALTHY, BROKEN = str(EXAMPLES / "healthy.jsonl"), str(EXAMPLES / "lightning-nan.csv")


def test_a_broken_run_exits_one_with_its_cause(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["diagnose", BROKEN]) == 1
    out = capsys.readouterr().out
    assert "BROKEN" in out
    assert "exploding-gradients" in out


def test_a_healthy_run_exits_zero(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["diagnose", HEALTHY]) == 0
    assert "Healthy as far as this log shows" in capsys.readouterr().out


@pytest.mark.parametrize(("level", "code"), [("broken", 1), ("warning", 1), ("note", 1), ("never", 0)])
def test_fail_on_says_what_exits_one(level: str, code: int) -> None:
    assert run(["diagnose", BROKEN, "--fail-on", level]) == code


def test_what_can_be_read_is_reported_beside_what_cannot(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    junk = tmp_path / "junk.log"
    junk.write_text("nothing here\n")
    assert run(["diagnose", HEALTHY, str(junk), str(tmp_path / "absent.log")]) == 2
    printed = capsys.readouterr()
    assert "Healthy" in printed.out
    assert [line.startswith("sismo: ") for line in printed.err.splitlines()] == [True, True]


def test_json_is_one_document_over_all_paths(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["diagnose", HEALTHY, BROKEN, str(tmp_path / "absent.log"), "--json"]) == 2
    whole = json.loads(capsys.readouterr().out, parse_constant=lambda token: pytest.fail(f"{token} is not JSON"))
    assert whole["schema"] == "sismo.diagnosis/1"
    assert [entry["healthy"] for entry in whole["runs"]] == [True, False]
    assert len(whole["errors"]) == 1


def test_json_stays_english_whatever_the_environment_speaks(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("LANG", "es_ES.UTF-8")
    run(["diagnose", HEALTHY, "--json"])
    assert json.loads(capsys.readouterr().out)["runs"][0]["verdict"].startswith("Healthy")
    run(["diagnose", HEALTHY])
    assert "Sano hasta donde" in capsys.readouterr().out


def test_many_runs_begin_with_a_table_worst_first(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["diagnose", HEALTHY, BROKEN]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert "lightning-nan.csv" in lines[1]
    assert "healthy.jsonl" in lines[2]
    assert max(map(len, lines)) <= 80


def test_markdown_is_offered(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["diagnose", BROKEN, "--format", "markdown"]) == 1
    assert capsys.readouterr().out.startswith("## ")


def test_a_column_can_be_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "odd.csv"
    log.write_text("step,target_gap\n" + "".join(f"{n},{3 / (n + 1) + 1:.4f}\n" for n in range(200)))
    assert run(["series", str(log), "--map", "loss/train=target_gap", "--json"]) == 0
    channels = json.loads(capsys.readouterr().out)["runs"][0]["channels"]
    assert [channel["source_key"] for channel in channels if channel["channel"] == "loss/train"] == ["target_gap"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["diagnose", HEALTHY, "--map", "loss/train"], "CHANNEL=COLUMN"),
        (["diagnose", HEALTHY, "--map", "lozz=x"], "'lozz' is no channel"),
        (["explain", "mising-warmup"], "did you mean missing-warmup"),
        (["explain", "spike-sigm"], "spike-sigma"),
        (["explain", "zzzzzz"], "'sismo tree' prints every id"),
        (["diagnose", HEALTHY, "--thresholds", "no-such.toml"], "no-such.toml"),
    ],
)
def test_a_mistake_is_one_line_and_exit_two(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert said in printed.err
    assert len(printed.err.splitlines()) == 1


def test_thresholds_can_be_overridden_by_name(tmp_path: Path) -> None:
    limits = tmp_path / "limits.toml"
    limits.write_text("spike-sigma = 4\n")
    assert run(["diagnose", HEALTHY, "--thresholds", str(limits)]) == 0


@pytest.mark.parametrize("lang", ["en", "es"])
def test_both_trees_are_printed_with_their_ids(lang: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["tree", "--lang", lang]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(line.strip().startswith("S1.Q1") for line in lines)
    assert any(line.strip().startswith("P1.Q1") for line in lines)
    assert max(map(len, lines)) <= 80


def test_one_tree_as_data(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["tree", "stability", "--json"]) == 0
    whole = json.loads(capsys.readouterr().out)
    assert [tree["name"] for tree in whole["trees"]] == ["stability"]


@pytest.mark.parametrize(
    ("name", "headings"),
    [
        ("S1.Q1", ["What it asks", "Why it matters", "What it reads", "Yes", "No"]),
        ("s1.q1", ["What it asks"]),
        ("missing-warmup", ["What happened", "Do first", "To confirm", "Would refute", "Source"]),
        ("spike-sigma", ["What it decides", "robust", "literal", "Used by", "Source"]),
    ],
)
def test_explain_has_fixed_headings(name: str, headings: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", name]) == 0
    text = capsys.readouterr().out
    places = [text.index(f"\n  {heading}\n") for heading in headings]
    assert places == sorted(places)
    assert run(["explain", name, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["schema"] == "sismo.explanation/1"


def test_series_shows_what_was_read(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["series", BROKEN]) == 0
    text = capsys.readouterr().out
    assert "loss/train" in text
    assert "from train_loss" in text
    assert "NaN" in text
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize("group", [[], ["lab"], ["bench"]])
def test_no_line_of_a_list_of_commands_is_cut_off(group: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*group, "--help"]) == 0
    listed = capsys.readouterr().out.partition("Commands:")[2].partition("Examples:")[0]
    assert listed.strip()
    assert "..." not in listed


def test_the_lab_has_help_where_torch_is_not_and_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in [name for name in sys.modules if name.startswith("sismo.lab")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "torch", None)
    assert run(["lab", "run", "--help"]) == 0
    assert run(["lab", "run", "--root", str(tmp_path)]) == 2
    assert "pip install 'sismo[torch]'" in capsys.readouterr().err


@pytest.mark.parametrize(
    "command",
    ["diagnose", "tree", "explain", "series", "lab", "lab run", "lab answer", "lab reveal", "lab exam", "lab faults"],
)
def test_every_command_has_help_with_examples(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*command.split(), "--help"]) == 0
    assert f"Examples:\n    sismo {command}" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["diagnose", "fix", "postmortem", "probe", "scan"])
def test_the_exit_codes_stand_one_a_line(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([command, "--help"]) == 0
    codes = capsys.readouterr().out.partition("Exit codes:\n")[2]
    assert codes.startswith("    0  ")
    assert "\n    2  " in codes


def test_the_commands_are_those_in_the_folder(capsys: pytest.CaptureFixture[str]) -> None:
    folder = Path(__file__).parents[3] / "src" / "sismo" / "cli" / "commands"
    assert run(["--help"]) == 0
    out = capsys.readouterr().out
    assert all(f"  {file.stem} " in out for file in folder.glob("[!_]*.py"))


@pytest.mark.parametrize("lang", ["en", "es"])
def test_no_explanation_is_wider_than_80_columns(lang: str) -> None:
    sheet = Page(language(lang))
    sheets = [explain.cause(cause, detectors(), sheet) for cause in causes().values()]
    sheets += [explain.question(node, detectors(), {}, sheet) for node in nodes().values()]
    assert [line for text in sheets for line in text.splitlines() if len(line) > 80] == []
