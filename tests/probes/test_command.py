"""``sismo probe`` from the command line: what it takes from a run, what it writes into it, and how it says no."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
import torch
from recorder import loops
from torch import nn

import sismo
from sismo.cli.main import run as cli
from sismo.errors import UsageError
from sismo.probes import checkpoints
from sismo.probes.case import Built, Case, first_lost
from sismo.recorder import Recorder
from sismo.records.probing import add_event
from sismo.records.reader import read_run
from sismo.records.types import Event, Header
from sismo.records.writer import RunWriter
from sismo.tree.types import Answer

ENTRY = "probes.entries"


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    """A run of 24 steps with checkpoints whose loss is then lost, and the batch of that step."""
    folder = tmp_path / "run"
    model, optimizer = loops.build()
    with Recorder(model, optimizer, folder, save_every=8) as recorder:
        loops.train(model, optimizer, 24, recorder.step)
        recorder.step(float("nan"))
    (folder / "batches").mkdir()
    torch.save(loops.batches(1)[0], folder / "batches" / "step-000000024.pt")
    return folder


def answer(folder: Path, question: str) -> str:
    document = sismo.diagnose(sismo.load(folder))  # type: ignore[arg-type]
    return next(item.answer for item in document.walk if item.id == question)


def test_a_probe_answers_the_open_question_of_its_run(recorded: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert answer(recorded, "S1.Q3") == Answer.UNKNOWN
    assert cli(["probe", "nan", "--entry", f"{ENTRY}:naive", "--run", str(recorded)]) == 1
    assert "log" in capsys.readouterr().out
    assert answer(recorded, "S1.Q3") == Answer.YES
    causes = sismo.diagnose(sismo.load(recorded)).causes  # type: ignore[arg-type]
    assert causes[0].id == "log-of-zero"
    assert causes[0].confidence > 0.75
    found = sismo.load(recorded)
    assert found.header.status == "completed"  # type: ignore[union-attr]


def test_a_sound_step_is_said_to_be_sound(recorded: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli(["probe", "nan", "--entry", f"{ENTRY}:build", "--run", str(recorded), "--step", "20", "--lang", "es"]) == 0
    assert capsys.readouterr().out
    assert answer(recorded, "S1.Q3") == Answer.NO


def test_a_lost_step_that_is_finite_when_tried_again_is_not_said_to_be_sound(recorded: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli(["probe", "nan", "--entry", f"{ENTRY}:build", "--run", str(recorded)]) == 0  # as after a change that cures it
    assert "in the run it was lost" in " ".join(capsys.readouterr().out.split())
    assert answer(recorded, "S1.Q3") == Answer.UNKNOWN
    found = sismo.diagnose(sismo.load(recorded))  # type: ignore[arg-type]
    assert "nonfinite-input" not in [cause.id for cause in found.causes]  # the batch of that step was there, and finite
    assert "nonfinite-weight" in [cause.id for cause in found.causes] or not any(cause.confidence > 0.7 for cause in found.causes)


def test_another_batch_proves_nothing_about_that_of_the_step(recorded: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept = recorded / "batches" / "step-000000024.pt"
    kept.rename(kept.with_name("step-000000022.pt"))
    assert cli(["probe", "nan", "--entry", f"{ENTRY}:build", "--run", str(recorded)]) == 0
    assert "kept no batch of step 24" in " ".join(capsys.readouterr().out.split())
    assert "inputs" not in sismo.load(recorded).events_of("probe")[-1].data  # type: ignore[union-attr]


@pytest.mark.parametrize("probe", ["replay", "batch"])
def test_another_batch_is_not_said_to_clear_the_step(recorded: Path, capsys: pytest.CaptureFixture[str], probe: str) -> None:
    kept = recorded / "batches" / "step-000000024.pt"
    kept.rename(kept.with_name("step-000000022.pt"))
    cli(["probe", probe, "--entry", f"{ENTRY}:whole", "--run", str(recorded)])
    verdict = " ".join(capsys.readouterr().out.split())
    assert "nother batch" in verdict.partition(":")[0]
    assert "step 24 was not kept" in verdict
    assert not {"class", "batch"} & sismo.load(recorded).events_of("probe")[-1].data.keys()  # type: ignore[union-attr]


def test_the_last_finite_checkpoint_is_taken(recorded: Path, capsys: pytest.CaptureFixture[str]) -> None:
    last = recorded / "checkpoints" / "step-000000023.pt"
    state = torch.load(last, weights_only=True)
    state["model"]["ln_f.weight"][0] = float("nan")
    torch.save(state, last)
    cli(["probe", "nan", "--entry", f"{ENTRY}:build", "--run", str(recorded)])
    assert "The state is that of step 15, the suspected step 24." in capsys.readouterr().out
    assert cli(["probe", "nan", "--entry", f"{ENTRY}:build", "--run", str(recorded), "--checkpoint", str(last)]) == 1
    assert "ln_f.weight" in capsys.readouterr().out


def test_without_a_batch_the_loader_has_one(recorded: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (recorded / "batches" / "step-000000024.pt").unlink()
    assert cli(["probe", "nan", "--entry", f"{ENTRY}:with_loader", "--run", str(recorded), "--step", "20"]) == 0
    assert "kept no batch of step 20" in " ".join(capsys.readouterr().out.split())


def test_json(recorded: Path, capsys: pytest.CaptureFixture[str]) -> None:
    batch = recorded / "batches" / "step-000000024.pt"
    assert cli(["probe", "nan", "--entry", f"{ENTRY}:naive", "--batch", str(batch), "--json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert (document["probe"], document["data"]["op"], document["data"]["kind"]) == ("nan", "log", "loss")
    assert document["rows"][0]["phase"] == "inputs"


def test_what_the_users_code_prints_is_not_in_the_answer(recorded: Path, capsys: pytest.CaptureFixture[str]) -> None:
    batch = recorded / "batches" / "step-000000024.pt"
    assert cli(["probe", "nan", "--entry", f"{ENTRY}:talks", "--batch", str(batch), "--json"]) == 1
    said = capsys.readouterr()
    assert json.loads(said.out)["probe"] == "nan"
    assert "building" in said.err
    assert "a batch of" in said.err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--entry", "nonsense"], "pkg.module:build"),
        (["--entry", "no.such.module:build"], "cannot be imported"),
        (["--entry", f"{ENTRY}:absent"], "no function absent"),
        (["--entry", f"{ENTRY}:raises"], "RuntimeError: no data here"),
        (["--entry", f"{ENTRY}:nothing"], "it returned int"),
        (["--entry", f"{ENTRY}:build"], "no batch to try"),
        (["--entry", f"{ENTRY}:build", "--checkpoint", "absent.pt"], "no such file"),
        (["--entry", f"{ENTRY}:build", "--batch", "absent.pt"], "no such file"),
        (["--entry", f"{ENTRY}:build", "--run", "absent"], "manifest"),
    ],
)
def test_what_cannot_be_done_is_one_line(options: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli(["probe", "nan", *options]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert len(error.strip().splitlines()) == 1


def test_a_step_that_the_run_never_took_is_refused(recorded: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli(["probe", "nan", "--entry", f"{ENTRY}:build", "--run", str(recorded), "--step", "5000"]) == 2
    assert capsys.readouterr().err.strip().endswith("has the steps 0 to 24: there is no step 5000")


@pytest.mark.parametrize(
    ("probe", "entry", "said"),
    [
        ("nan", "on_meta", "meta device"),
        ("causal", "other_shape", "failed on this batch"),
        ("replay", "no_optimizer", "needs the optimizer"),
        ("nan", "too_many", "list, list, int"),
        ("nan", "leaves", "SystemExit: 3"),
        ("flow", "no_parameters", "no gradient"),
        ("replay", "says_a_number", "returned no tensor"),
        ("flow", "loop_fails", "the loop failed: ValueError: no such key"),
        ("flow", "loop_idles", "took no step"),
        ("leakage", "build", "the fifth and the sixth"),
        ("leakage", "loader_fails", "a loader failed: OSError: the disk is gone"),
        ("leakage", "words", "nothing to compare"),
    ],
)
@pytest.mark.filterwarnings("ignore:Converting a tensor")
def test_what_a_user_may_get_wrong_is_one_line(
    probe: str, entry: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    torch.save(loops.batches(1)[0], tmp_path / "batch.pt")
    assert cli(["probe", probe, "--entry", f"{ENTRY}:{entry}", "--batch", str(tmp_path / "batch.pt")]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert len(error.strip().splitlines()) == 1


def test_ctrl_c_while_the_data_is_loaded_is_passed_on() -> None:
    with pytest.raises(KeyboardInterrupt):
        cli(["probe", "nan", "--entry", f"{ENTRY}:interrupts"])


class Evil:
    """Runs code when it is unpickled."""

    def __reduce__(self) -> tuple[object, ...]:
        return (print, ("run!",))


@pytest.mark.parametrize("content", ["evil", "text", "empty", "list", "other-model", "no-tensor"])
def test_a_wrong_checkpoint_is_refused_with_the_reason(tmp_path: Path, content: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "made.pt"
    if content == "text":
        path.write_text("not a checkpoint", encoding="utf-8")
    elif content == "empty":
        path.write_bytes(b"")
    else:
        made = {"evil": {"model": Evil()}, "list": [1, 2], "other-model": {"a": torch.zeros(1)}, "no-tensor": {"model": {"a": 1}}}
        torch.save(made[content], path)
    assert cli(["probe", "nan", "--entry", f"{ENTRY}:build", "--checkpoint", str(path)]) == 2
    out = capsys.readouterr()
    assert "run!" not in out.out
    assert str(path) in out.err
    assert len(out.err.strip().splitlines()) == 1


def test_safetensors(tmp_path: Path) -> None:
    save = pytest.importorskip("safetensors.torch").save_file
    model, _ = loops.build(seed=5)
    path = tmp_path / "weights.safetensors"
    save(model.state_dict(), path)
    other, _ = loops.build(seed=6)
    checkpoints.put_into(checkpoints.checkpoint(path), other, None)
    assert all(torch.equal(mine, its) for mine, its in zip(model.parameters(), other.parameters(), strict=True))
    path.write_bytes(b"\x00" * 40)
    with pytest.raises(UsageError, match="no checkpoint"):
        checkpoints.checkpoint(path)


def test_evidence_may_be_added_while_a_run_is_written(tmp_path: Path) -> None:
    with RunWriter(tmp_path / "run", Header(source="made")) as writer:
        writer.event(Event(1, "resume"))
        add_event(tmp_path / "run", Event(2, "probe", {"origin": "none"}))
        writer.event(Event(3, "resume"))
    assert [event.kind for event in read_run(tmp_path / "run").events] == ["resume", "probe", "resume"]


def test_a_probe_does_not_judge_by_other_weights_than_the_run_had(recorded: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for path in (recorded / "checkpoints").glob("*.pt"):
        path.unlink()
    assert cli(["probe", "nan", "--entry", f"{ENTRY}:naive", "--run", str(recorded)]) == 2
    assert "no finite checkpoint from before step 24" in capsys.readouterr().err


def test_a_run_without_checkpoints_is_probed_as_built_and_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, optimizer = loops.build()
    with Recorder(model, optimizer, tmp_path / "run", save_every=None) as recorder:
        loops.train(model, optimizer, 3, recorder.step)
        recorder.step(float("nan"))
    (tmp_path / "run" / "batches").mkdir()
    torch.save(loops.batches(1)[0], tmp_path / "run" / "batches" / "step-000000003.pt")
    assert cli(["probe", "nan", "--entry", f"{ENTRY}:naive", "--run", str(tmp_path / "run")]) == 1
    assert "as build() makes them" in capsys.readouterr().out


def replayed(folder: Path, *more: str) -> dict[str, object]:
    cli(["probe", "replay", "--entry", f"{ENTRY}:whole", "--run", str(folder), *more])
    return next(event.data for event in reversed(sismo.load(folder).events_of("probe")))  # type: ignore[union-attr, return-value]


def test_the_learning_rate_is_that_of_the_suspected_step(tmp_path: Path) -> None:
    model, optimizer = loops.build(dropout=0.0)
    with Recorder(model, optimizer, tmp_path / "run", save_every=8) as recorder:
        loops.train(model, optimizer, 24, recorder.step)
        for group in optimizer.param_groups:
            group["lr"] = 30.0
        loops.train(model, optimizer, 2, recorder.step)
    keep(tmp_path / "run", 21, 25)
    assert replayed(tmp_path / "run", "--step", "24")["class"] == "learning-rate"


def test_what_is_bad_only_from_the_checkpoint_after_it_is_the_state(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, optimizer = loops.build(dropout=0.0)
    with Recorder(model, optimizer, tmp_path / "run", save_every=8) as recorder:
        loops.train(model, optimizer, 20, recorder.step)
        with torch.no_grad():
            model.head.weight.mul_(1000)
        loops.train(model, optimizer, 5, recorder.step)
    keep(tmp_path / "run", 17, 25)
    assert replayed(tmp_path / "run", "--step", "20")["class"] == "state"
    out = capsys.readouterr().out
    assert "From the state of step 15 the step is sound" in out
    assert "the one of step 23" in " ".join(out.split())


def test_a_loss_that_only_the_run_had_is_put_down_to_the_machine(tmp_path: Path) -> None:
    model, optimizer = loops.build(dropout=0.0)
    with Recorder(model, optimizer, tmp_path / "run", save_every=8) as recorder:
        loops.train(model, optimizer, 24, recorder.step)
        recorder.step(40.0)
    keep(tmp_path / "run", 21, 25)
    found = replayed(tmp_path / "run", "--step", "24")
    assert (found["class"], found["replay"], found["run"]) == ("hardware", "agrees", "parted")


@pytest.mark.parametrize(("step", "said"), [(16, "same"), (21, None)])
def test_only_from_the_very_state_before_it_is_a_step_held_against_the_run(tmp_path: Path, step: int, said: str | None) -> None:
    model, optimizer = loops.build(dropout=0.0)
    with Recorder(model, optimizer, tmp_path / "run", save_every=8) as recorder:
        loops.train(model, optimizer, 24, recorder.step)
    keep(tmp_path / "run", 13, 24)
    assert replayed(tmp_path / "run", "--step", str(step)).get("run") == said


def test_a_loss_lost_in_the_run_only_is_a_machine_or_a_spoilt_weight_and_neither_is_proved(tmp_path: Path) -> None:
    model, optimizer = loops.build(dropout=0.0)
    with Recorder(model, optimizer, tmp_path / "run", save_every=8) as recorder:
        loops.train(model, optimizer, 24, recorder.step)
        recorder.step(float("nan"))
    keep(tmp_path / "run", 21, 25)
    assert replayed(tmp_path / "run")["run"] == "parted"
    causes = sismo.diagnose(sismo.load(tmp_path / "run")).causes  # type: ignore[arg-type]
    assert {causes[0].id, *causes[0].twins} == {"hardware-fault", "nonfinite-weight"}
    assert "proved" not in str(causes[0].confirm)
    assert not {cause.id for cause in causes} & {"log-of-zero", "sqrt-at-zero", "all-keys-masked", "nonfinite-input"}


def lost(folder: Path, before: float = 4.6) -> Path:
    """A run with a checkpoint after step 15 that loses its loss at step 20, and what its loss was one step before."""
    model, optimizer = loops.build(dropout=0.0)
    with Recorder(model, optimizer, folder, save_every=8) as recorder:
        loops.train(model, optimizer, 19, recorder.step)
        recorder.step(before)
        recorder.step(float("nan"))
    keep(folder, 17, 21)
    return folder


def test_what_is_lost_at_once_with_a_sound_batch_was_spoilt_in_the_state(tmp_path: Path) -> None:
    assert replayed(lost(tmp_path / "run"))["class"] == "state"


def test_what_ran_away_before_it_was_lost_blames_no_state(tmp_path: Path) -> None:
    assert replayed(lost(tmp_path / "run", before=400.0))["class"] == "none"


def test_a_lost_step_in_half_precision_that_is_sound_here_blames_nothing(tmp_path: Path) -> None:
    manifest = lost(tmp_path / "run") / "manifest.json"
    document = json.loads(manifest.read_text())
    document["header"]["dtype"] = "fp16"
    manifest.write_text(json.dumps(document))
    assert replayed(tmp_path / "run")["class"] == "none"


def test_a_gradient_that_is_lost_before_the_loss_is_the_step_to_try(tmp_path: Path) -> None:
    rows = {step: {"loss/train": 2.0, "grad_norm/pre": 1.0} for step in range(30)}
    for step in (20, 21, 22):
        rows[step] = {"loss/train": 2.0 if step == 20 else math.nan, "grad_norm/pre": math.nan}
    rows[9] = {"loss/train": 2.0, "grad_norm/pre": math.inf}  # a step that a scaler left out
    with RunWriter(tmp_path / "run", Header("sismo-run", dtype="fp32")) as writer:
        for step, values in rows.items():
            writer.row(step, values)
    run = read_run(tmp_path / "run")
    assert first_lost(run) == 20
    assert Case(Built(nn.Identity(), loops.loss_of), run).lost


def keep(folder: Path, first: int, last: int) -> None:
    """The batches of some steps, as the recorder writes them down."""
    (folder / "batches").mkdir()
    for step, batch in zip(range(first, last), loops.batches(last - first), strict=True):
        torch.save(batch, folder / "batches" / f"step-{step:09d}.pt")


def test_the_example_that_carries_a_batch_is_named_by_its_id(tmp_path: Path) -> None:
    from sismo.probes.kinds import batch as probe

    folder = tmp_path / "run"
    model, optimizer = loops.build(dropout=0.0)
    with Recorder(model, optimizer, folder) as recorder:
        loops.train(model, optimizer, 3, recorder.step)
    add_event(folder, Event(1, "batch", {"ids": [f"doc-{place}" for place in range(8)]}))
    inputs = torch.randn(8, 5)
    inputs[2] *= 1e4
    (folder / "batches").mkdir(exist_ok=True)
    torch.save(inputs, folder / "batches" / "step-000000001.pt")
    built = Built(nn.Linear(5, 1), lambda model, batch: model(batch).square().mean())
    report = probe.run(Case(built, read_run(folder), given_step=1))
    assert report.data["ids"] == "doc-2"
    assert any("Their ids: doc-2." in str(note) for note in report.notes)
    assert "duplicates" not in report.data  # no other batch was there to find it in


def test_what_stays_open_is_not_ticked_off() -> None:
    from sismo.records.probing import ProbeReport
    from sismo.records.types import Note
    from sismo.report.language import language
    from sismo.report.page import Page
    from sismo.report.probe import render, render_json

    page, said = Page(language("en")), Note("x", "It is so.")
    reports = [ProbeReport("nan", True, said, {}), ProbeReport("nan", False, said, {}), ProbeReport("nan", False, said, {}, open=True)]
    assert [render(report, page)[0] for report in reports] == ["✖", "✔", "?"]
    assert [json.loads(render_json(report, "0", page))["open"] for report in reports] == [False, False, True]
