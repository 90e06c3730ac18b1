"""The commands of the lab in this process: what is asked wrongly, what is listed, and what an interrupted run leaves behind."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sismo.cli.main import run
from sismo.errors import UsageError
from sismo.lab import exam, folders, single
from sismo.lab.catalogue import faults
from sismo.records.reader import read_run
from sismo.report.language import language


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["run", "--fault", "bad-luck"], "no fault and no healthy run called 'bad-luck'"),
        (["run", "--fault", "bad-init", "--healthy", "x"], "exclude each other"),
        (["run", "--fault", "bad-init", "--task", "moon"], "does not show on 'moon'"),
        (["run", "--fault", "no-warmup", "--lr", "0.1", "--naive-loss"], "--lr, --naive-loss: for the exam only"),
        (["run", "--task", "mlp"], "only with --fault or --healthy"),
        (["exam"], "no exam here"),
        (["reveal"], "no exam here"),
        (["answer", "01", "bad-init", "--because", "x"], "no exam here"),
    ],
)
def test_what_cannot_be_done_is_one_line_and_exit_2(
    arguments: list[str], says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["lab", *arguments, "--root", str(tmp_path)]) == 2
    printed = capsys.readouterr()
    assert says in printed.err
    assert len(printed.err.splitlines()) == 1
    assert not printed.out


@pytest.mark.parametrize(
    "option",
    [("--lr", "nan"), ("--lr", "0"), ("--scale", "inf"), ("--scale", "1"), ("--steps", "299"), ("--seed", "-1"), ("--seed", "9" * 20)],
)
def test_numbers_that_make_no_run_are_refused_before_anything_is_made(option: tuple[str, str], tmp_path: Path) -> None:
    assert run(["lab", "run", *option, "--root", str(tmp_path)]) == 2
    assert not list(tmp_path.iterdir())


def test_faults_are_listed_with_their_truth(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["lab", "faults", "--json"]) == 0
    said = {one["id"]: one["truth"] for one in json.loads(capsys.readouterr().out)["faults"]}
    assert said == {fault.id: list(fault.truth) for fault in faults().values()}
    assert run(["lab", "faults", "--lang", "es"]) == 0
    assert "no hay warmup" in " ".join(capsys.readouterr().out.split())


def test_ctrl_c_leaves_nothing_behind(tmp_path: Path) -> None:
    seen = 0

    def advance() -> None:
        nonlocal seen
        seen += 1
        if seen == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        exam.make(tmp_path, exam.Options(steps=100), language("en"), advance)
    assert not list(tmp_path.iterdir())


def test_ctrl_c_in_the_middle_of_a_page_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / exam.EXAM).mkdir()
    (tmp_path / exam.EXAM / "kept").touch()

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(exam, "train", lambda setup, path, advance: None)
    monkeypatch.setattr(exam, "page", interrupted)
    monkeypatch.setattr(exam.sealed, "write", lambda folder, paper: None)
    with pytest.raises(KeyboardInterrupt):
        exam.make(tmp_path, exam.Options(steps=100), language("en"), lambda: None, again=True)
    assert [path.name for path in tmp_path.rglob("*")] == [exam.EXAM, "kept"]


def test_what_another_process_made_meanwhile_is_not_thrown_away(tmp_path: Path) -> None:
    def meet() -> None:
        with folders.all_or_nothing(tmp_path, ["run"], again=False) as draft:
            (draft / "run").mkdir()
            (tmp_path / "run").mkdir()
            (tmp_path / "run" / "theirs").touch()

    with pytest.raises(UsageError, match="there already"):
        meet()
    assert [path.name for path in tmp_path.rglob("*")] == ["run", "theirs"]


def test_one_fault_is_trained_beside_its_page_and_not_over_what_is_there(tmp_path: Path) -> None:
    job = single.find("no-warmup", None, 2, 20)
    folder, document = single.run(tmp_path, job, language("en"), lambda: None)
    assert folder == tmp_path / "no-warmup-seed2"
    assert (folder / folders.PAGE).is_file()
    assert document.path == str(folder)
    assert read_run(folder).series["lr/0"].values[0] == pytest.approx(3e-3)
    with pytest.raises(UsageError, match="--again"):
        single.run(tmp_path, job, language("en"), lambda: None)
