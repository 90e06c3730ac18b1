"""The exam on disk: it gives nothing away to the eye, takes answers until it is revealed, and is told from what is no exam."""

from __future__ import annotations

from pathlib import Path

import pytest

from sismo.cli.main import run
from sismo.errors import RunFormatError, UsageError
from sismo.lab import exam, sealed
from sismo.lab.sealed import Paper, envelope
from sismo.report.language import language

TRUTH = {"01": "broken-mask", "02": "bad-init", "03": "no-warmup"}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / exam.EXAM
    folder.mkdir()
    sealed.write(folder, Paper({"seed": 1, "steps": 100}, envelope(TRUTH)))
    return tmp_path


def test_the_envelope_keeps_the_truth_and_shows_nothing_of_it(root: Path) -> None:
    text = (root / exam.EXAM / sealed.FILE).read_text()
    assert not any(name in text or name.split("-")[-1] in text for name in exam.FAILURES)
    assert sealed.read(root / exam.EXAM).truth() == TRUTH


def test_an_answer_is_written_down_and_can_be_replaced(root: Path) -> None:
    exam.answer(root, "01", "bad-init", "panel 4")
    exam.answer(root, "01", "causal-mask-broken", "both losses at 0")
    exam.answer(root, "02", "unknown", "nothing to see")
    text = (root / exam.EXAM / sealed.DIAGNOSES).read_text()
    assert text == "## 01: causal-mask-broken\n\nboth losses at 0\n\n## 02: unknown\n\nnothing to see\n"


@pytest.mark.parametrize(
    ("number", "name", "because", "says"),
    [
        ("04", "bad-init", "x", "01, 02, 03"),
        ("5", "bad-init", "x", "01, 02, 03"),
        ("01", "bad-luck", "x", "no failure and no cause"),
        ("01", "bad-init", "  ", "rests on"),
    ],
)
def test_an_answer_that_makes_no_sense_is_refused(root: Path, number: str, name: str, because: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        exam.answer(root, number, name, because)


def test_the_diagnoses_come_before_the_truth(root: Path) -> None:
    exam.answer(root, "01", "broken-mask", "x")
    with pytest.raises(UsageError, match="no answer yet for 02, 03"):
        exam.reveal(root, language("en"))
    assert not sealed.read(root / exam.EXAM).revealed


def test_after_the_truth_no_answer_is_taken_and_the_score_stays(root: Path) -> None:
    for number, name in {"01": "causal-mask-broken", "02": "no-warmup", "03": "unknown"}.items():
        exam.answer(root, number, name, "the causality probe")
    paper = sealed.read(root / exam.EXAM)
    paper.revealed = True
    sealed.write(root / exam.EXAM, paper)
    with pytest.raises(UsageError, match="revealed"):
        exam.answer(root, "02", "bad-init", "I knew it")
    marks = exam.marks(sealed.read(root / exam.EXAM))
    assert [(mark.number, mark.fault.id, mark.right) for mark in marks] == [
        ("01", "broken-mask", True),
        ("02", "bad-init", False),
        ("03", "no-warmup", False),
    ]


@pytest.mark.parametrize(
    ("layout", "because", "right"),
    [("chunks", "causality", True), ("chunks", "sismo probe Causal", True), ("chunks", "", False), ("rows", "causality", False)],
)
def test_unknown_is_right_only_where_the_page_hides_it_and_the_probe_is_named(
    tmp_path: Path, layout: str, because: str, right: bool
) -> None:
    (tmp_path / exam.EXAM).mkdir()
    sealed.write(tmp_path / exam.EXAM, Paper({"layout": layout}, envelope({"01": "broken-mask"}), revealed=False))
    exam.answer(tmp_path, "01", "unknown", f"the {because} probe")
    assert [mark.right for mark in exam.marks(sealed.read(tmp_path / exam.EXAM))] == [right]


def test_the_seal_is_open_before_a_page_tells_and_a_reveal_that_broke_off_goes_on(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []

    def page(folder: Path, *_: object) -> None:
        assert sealed.read(root / exam.EXAM).revealed
        told.append(folder.name)
        if told == ["01", "02"]:
            raise KeyboardInterrupt

    monkeypatch.setattr(exam, "page", page)
    for number in TRUTH:
        exam.answer(root, number, "unknown", "?")
    with pytest.raises(KeyboardInterrupt):
        exam.reveal(root, language("en"))
    exam.reveal(root, language("en"))
    assert told == ["01", "02", "01", "02", "03"]


def test_sismo_does_not_write_over_a_learners_answer(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    exam.answer(root, "02", "bad-init", "panel 4")
    assert run(["lab", "exam", "--auto", "--root", str(root)]) == 2
    assert "02: answered already" in capsys.readouterr().err
    assert sealed.read(root / exam.EXAM).answers["02"].because == "panel 4"


def test_a_reason_may_hold_any_byte(root: Path) -> None:
    exam.answer(root, "01", "bad-init", "caf\udce9")
    assert "caf?" in (root / exam.EXAM / sealed.DIAGNOSES).read_text(encoding="utf-8")


def test_a_folder_that_cannot_be_written_is_one_line(root: Path) -> None:
    (root / exam.EXAM / sealed.DIAGNOSES).mkdir()
    with pytest.raises(UsageError, match="directory"):
        exam.answer(root, "01", "bad-init", "panel 4")


@pytest.mark.parametrize(
    ("options", "truth"), [({"shape": "round"}, {"01": "bad-init"}), ({}, {"01": "bad-luck"}), ({}, {"../01": "bad-init"})]
)
def test_an_exam_that_was_tampered_with_is_said(tmp_path: Path, options: dict[str, object], truth: dict[str, str]) -> None:
    answers = {number: sealed.Answer("unknown", "?") for number in truth}
    sealed.write(tmp_path, Paper(options, envelope(truth), answers))
    with pytest.raises(RunFormatError, match="an exam"):
        exam.marks(sealed.read(tmp_path))


def test_what_is_no_exam_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no exam here"):
        sealed.read(tmp_path)
    for text in ("", "{}", '{"options": {}, "envelope": "?", "answers": {}, "revealed": false}', "[1]"):
        (tmp_path / sealed.FILE).write_text(text)
        with pytest.raises(RunFormatError, match="an exam"):
            sealed.read(tmp_path)
