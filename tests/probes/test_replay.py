"""A step that is bad for a known reason is put down to that reason; one that is sound, to none."""

from __future__ import annotations

import copy
import hashlib
from collections import Counter

import pytest
import torch
from probes.steps import SPOILS, Lab, faults, lab
from recorder import loops

import sismo
from sismo.errors import UsageError
from sismo.probes import outcomes
from sismo.probes.outcomes import Class, Outcome, Replay, Usual
from sismo.probes.replay import replay


def play(made: Lab) -> Replay:
    return replay(made.model, made.batch, made.loss_fn, made.optimizer, others=made.others, earlier=made.earlier, clip=1.0)


@pytest.mark.slow
def test_at_least_95_of_100_faults_are_put_into_their_class() -> None:
    found = Counter((wanted, play(make()).fault) for wanted, make in faults())
    right = sum(count for (wanted, said), count in found.items() if wanted == said)
    assert sum(found.values()) == 120
    assert right >= 0.95 * 120, found


@pytest.mark.parametrize("wanted", SPOILS)
def test_one_of_each(wanted: Class) -> None:
    made = next(make for name, make in faults(1) if name == wanted)()
    report = play(made).report()
    assert report.found
    assert report.data["class"] == wanted.value


@pytest.mark.parametrize("kind", ["classes", "language"])
@pytest.mark.parametrize("optimizer", ["adam", "momentum"])
def test_a_sound_step_is_nobodys_fault(kind: str, optimizer: str) -> None:
    for seed in range(2):
        found = play(lab(kind, optimizer, seed))
        assert (found.fault, found.reproduced, found.repeats) == (None, False, True)


def bits(made: Lab) -> str:
    state = [value for values in made.optimizer.state.values() for value in values.values()]
    parts = [*made.model.parameters(), *made.model.buffers(), *state, torch.get_rng_state(), *(p.grad for p in made.model.parameters())]
    return hashlib.sha256(b"".join(part.detach().numpy().tobytes() for part in parts if part is not None)).hexdigest()


@pytest.mark.parametrize("optimizer", ["adam", "momentum"])
def test_nothing_is_changed(optimizer: str) -> None:
    made = lab("language", optimizer, 1)
    made.loss_fn(made.model, made.batch).backward()
    before, groups = bits(made), [dict(group) for group in made.optimizer.param_groups]
    enter = torch.autocast.__enter__
    play(made)
    assert bits(made) == before
    assert [dict(group) for group in made.optimizer.param_groups] == groups
    assert torch.autocast.__enter__ is enter


def test_weights_kept_in_half_precision() -> None:
    made = lab("classes", "momentum", 0)
    made.model.bfloat16()
    batch = {"x": made.batch["x"].bfloat16(), "y": made.batch["y"]}
    before = [parameter.clone() for parameter in made.model.parameters()]
    found = replay(made.model, batch, made.loss_fn, torch.optim.SGD(made.model.parameters(), 0.01))
    assert found.half
    assert not found.outcomes[outcomes.FP32].updated
    assert all(torch.equal(one, other) for one, other in zip(before, made.model.parameters(), strict=True))
    assert {parameter.dtype for parameter in made.model.parameters()} == {torch.bfloat16}


def test_without_anything_to_compare_with_it_does_not_guess() -> None:
    made = next(make for name, make in faults(1) if name == Class.DATA)()
    found = replay(made.model, made.batch, made.loss_fn, made.optimizer, usual=Usual(0.5, 0.1, 1.0))
    assert found.reproduced
    assert found.fault is None
    assert "another batch" in str(found.report().verdict)
    assert found.report().found  # that nobody knows why it is bad does not make it sound


def test_a_loss_without_gradient_is_refused() -> None:
    model, optimizer = loops.build()
    with pytest.raises(UsageError, match="gradient"):
        replay(model, loops.batches(1)[0], lambda model, batch: torch.zeros(()), optimizer)


def test_a_spike_is_bad_by_its_loss_or_by_its_norm() -> None:
    usual = Usual.of([1.0, 1.1, 0.9, float("nan")], [2.0, 2.0])
    assert not Outcome("made", 1.4, 5.0).bad(usual)
    assert Outcome("made", 1.8, 5.0).bad(usual)
    assert Outcome("made", 1.0, 30.0).bad(usual)
    assert Outcome("made", float("nan"), 1.0).bad(usual)
    assert Outcome("made", 1.0, 1.0, 2.0, updated=True).bad(usual)


def test_the_public_name() -> None:
    assert sismo.replay is replay


def test_the_earlier_checkpoint_is_read_and_never_written() -> None:
    made = lab("classes", "adam", 0)
    before = copy.deepcopy(made.earlier)
    play(made)
    assert made.earlier.optimizer is not None
    assert before.optimizer is not None
    for state, kept in zip(made.earlier.optimizer["state"].values(), before.optimizer["state"].values(), strict=True):
        assert all(torch.equal(state[name], kept[name]) for name in kept)
    assert all(torch.equal(made.earlier.weights[name], kept) for name, kept in before.weights.items())


def test_a_conversion_to_half_in_the_code_is_precision_as_well() -> None:
    made = lab("classes", "adam", 0)

    def loss(model: torch.nn.Module, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        hidden = (torch.full((2,), 3e5) + torch.zeros(2, dtype=torch.float16)).to(torch.float16)
        return made.loss_fn(model, batch) + (hidden.float() / 3e5).mean() - 1.0

    found = play(made._replace(loss_fn=loss))
    assert found.half
    assert found.fault is Class.PRECISION
    assert not found.outcomes[outcomes.FP32].bad(found.usual)


def test_a_rate_that_takes_some_steps_to_do_harm() -> None:
    made = lab("classes", "adam", 0)
    for group in made.optimizer.param_groups:
        group["lr"] *= 40
    found = play(made)
    assert not found.reproduced, "the step by itself does no harm"
    assert found.outcomes[outcomes.SEVERAL].bad(found.usual)
    assert found.fault is Class.LEARNING_RATE


@pytest.mark.parametrize("wanted", SPOILS)
def test_the_table_points_at_nothing_but_what_the_headline_names(wanted: Class) -> None:
    said = {outcomes.FP32: Class.PRECISION, outcomes.OTHER_BATCH: Class.DATA, outcomes.LOWER_LR: Class.LEARNING_RATE}
    for made in (make for name, make in faults(2) if name == wanted):
        found = play(made())
        says = {row[0]: row[-1] for row in found.report().rows}
        for name, about in said.items():
            assert not (says[name].startswith("points") and found.fault is not about), (name, found.fault, says)
            assert not (says[name].startswith("rules out") and found.fault is about), (name, found.fault, says)


def test_a_rate_that_takes_half_of_the_harm_away_is_not_ruled_out_in_the_table() -> None:
    tried = [Outcome(name, 2.0, 1.0, 90.0, updated=True) for name in (outcomes.AS_IT_WAS, outcomes.AGAIN, outcomes.FP32, outcomes.FRESH)]
    tried += [Outcome(outcomes.OTHER_BATCH, 2.0, 1.0, 80.0, updated=True), Outcome(outcomes.EARLIER, 2.1, 1.0, 70.0, updated=True)]
    tried.append(Outcome(outcomes.LOWER_LR, 2.0, 1.0, 9.0, updated=True))
    found = Replay({one.name: one for one in tried}, Usual(2.0, 0.1, 1.0), repeats=True, half=False)
    assert found.fault is Class.LEARNING_RATE
    assert {row[0]: row[-1] for row in found.report().rows}[outcomes.LOWER_LR] == "points to the learning rate"


def test_from_weights_that_are_lost_only_an_earlier_state_says_anything() -> None:
    made = lab("classes", "adam", 0)
    with torch.no_grad():
        next(made.model.parameters()).fill_(float("nan"))
    report = play(made).report()
    assert report.data["class"] == "state"
    assert "fp32" not in report.data
    assert {row[0] for row in report.rows if row[-1]} == {outcomes.AGAIN, outcomes.EARLIER}


def test_a_precision_that_the_machine_does_not_have_says_nothing_and_the_rest_is_judged() -> None:
    made = next(make for name, make in faults(1) if name == Class.DATA)()
    inner = made.loss_fn

    def loss(model: torch.nn.Module, batch: object) -> torch.Tensor:
        if torch.is_autocast_enabled("cpu") and torch.get_autocast_dtype("cpu") is torch.bfloat16:
            raise RuntimeError("could not create a primitive descriptor for the LSTM forward propagation primitive")
        return inner(model, batch)

    found = play(made._replace(loss_fn=loss))
    row = next(row for row in found.report().rows if row[0] == outcomes.BF16)
    assert row[1:] == ("", "", "", "could not be run", "")
    assert found.fault == Class.DATA
    assert not found.outcomes[outcomes.BF16].bad(found.usual)


def test_without_an_answer_in_fp32_there_is_none_about_it() -> None:
    tried = [Outcome(name, 9.0, 1.0) for name in (outcomes.AS_IT_WAS, outcomes.AGAIN)]
    tried.append(Outcome(outcomes.FP32, float("nan"), float("nan"), ran=False))
    found = Replay({outcome.name: outcome for outcome in tried}, Usual(2.0, 0.1, 1.0), repeats=True, half=True)
    assert found.fault is None
    assert "fp32" not in found.report().data


def test_the_step_is_clipped_as_it_was_in_the_run_though_its_configuration_names_no_clip() -> None:
    from support.runs import run as made

    from sismo.probes.case import Built, Case

    norms = [1.0, 3.0, 0.2, 4.0, 5.0]
    seen = made(loss=[2.0] * 5, norm=norms, more={"grad_norm/post": [min(norm, 0.5) for norm in norms]})
    model = torch.nn.Linear(2, 1)
    assert Case(Built(model, lambda model, batch: model(batch).mean()), seen).clip == 0.5


def test_a_looser_clip_than_the_one_in_force_is_not_tried() -> None:
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    tried = [
        outcomes.CLIP in replay(model, torch.ones(3, 2), lambda model, batch: model(batch).square().mean(), optimizer, clip=clip).outcomes
        for clip in (None, 1.0, 0.5, 0.1)
    ]
    assert tried == [True, True, False, False]


def test_what_is_usual_is_told_as_far_as_it_is_known() -> None:
    for usual, said in ((Usual(2.0, 0.1), "not known"), (Usual(2.0, 0.1, 1.5), "gradient norm 1.5")):
        notes = [
            str(note) for note in Replay({outcomes.AS_IT_WAS: Outcome(outcomes.AS_IT_WAS, 2.0, 1.0)}, usual, True, False).report().notes
        ]
        assert any(said in note for note in notes)
        assert not any("nan" in note.lower() for note in notes)


def test_a_sound_step_alone_is_not_said_to_be_usual() -> None:
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    batch = torch.ones(3, 2)

    def loss(model: torch.nn.Module, batch: torch.Tensor) -> torch.Tensor:
        return (model(batch) - 1).square().mean() + 1.0

    alone = replay(model, batch, loss, optimizer).report()
    assert (alone.found, alone.open, alone.verdict.code) == (False, True, "replay-alone")
    known = replay(model, batch, loss, optimizer, others=[batch]).report()
    assert (known.found, known.open, known.verdict.code) == (False, False, "replay-sound")
