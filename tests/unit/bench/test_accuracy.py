"""The yardstick of accuracy: what counts as right, what is not scored, what is split from what, and a slice of the real thing."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sismo.bench import peers
from sismo.bench.accuracy.answers import Answer, Examined, until
from sismo.bench.accuracy.bench import Asked, measure
from sismo.bench.accuracy.plan import PLAIN, Trial, plan
from sismo.bench.accuracy.scores import classify, false_alarms, is_unknown, score, without_effect
from sismo.bench.accuracy.training import Order
from sismo.bench.accuracy.visible import outstanding, shape
from sismo.bench.verdicts import Named, Verdict
from sismo.errors import UsageError
from sismo.lab.catalogue import faults
from sismo.records.types import Event, Header, Run, Series
from sismo.tree.catalogue import causes
from sismo.workers import hire

TRUTH = ("init-too-large",)


def said(*names: str, confidence: float = 0.8, severity: str = "broken", twins: tuple[str, ...] = (), step: int = 0) -> Verdict:
    """A verdict that names these causes, the first one first."""
    named = tuple(Named(name, severity, confidence, step, twins if at == 0 else ()) for at, name in enumerate(names))
    return Verdict(named, healthy=not names)


def examined(name: str, verdict: Verdict, *, seed: int = 0, end: float = 1.0) -> Examined:
    """A trial whose loss falls to ``end``, with this verdict at every level."""
    trial = Trial(name, "mini-gpt", seed, 200)
    values = end + 4 * np.exp(-np.arange(200) / 20)
    answers = {level: Answer(verdict, verdict) for level in ("log", "recorded", "probed")}
    loss = Series("loss/train", np.arange(200), values)
    return Examined(trial, answers, (end, end), loss, shape(Run(name, Header("made"), {"loss/train": loss})))


@pytest.mark.parametrize(
    ("verdict", "result"),
    [
        (said("init-too-large", confidence=0.3), "right"),
        (said("lr-jump", twins=TRUTH), "pair"),
        (said("lr-jump", "init-too-large", confidence=0.74), "wrong"),
        (said("lr-jump", confidence=0.75), "confidently wrong"),
        (said("plateau", severity="warning"), "unknown"),
        (said(), "missed"),
        (Verdict(healthy=None), "unknown"),
        (said("resumed", severity="note"), "unknown"),
    ],
)
def test_what_a_verdict_amounts_to(verdict: Verdict, result: str) -> None:
    assert classify(verdict, TRUTH) == result


def test_a_fault_that_ends_as_its_twin_is_listed_and_not_scored() -> None:
    calm = [examined(PLAIN, said(), seed=seed, end=1 + 0.01 * seed) for seed in range(3)]
    idle, hurt = examined("bad-init", said(), end=1.01), examined("bad-init", said("init-too-large"), seed=1, end=3.0)
    lost = examined("bad-init", said("lr-jump"), seed=2, end=math.nan)
    every = [*calm, idle, hurt, lost]
    assert without_effect(every) == [idle]
    found = score(every, "log")
    assert (found.total, found.results["right"], found.results["confidently wrong"]) == (2, 1, 1)
    assert found.confusions == {("init-too-large", "init-too-large"): 1, ("init-too-large", "lr-jump"): 1}
    assert found.stated[4] == (0.8, 0.9, 2, 1)


def log(seed: int, scale: float = 1.0, lost: int | None = None) -> Run:
    """A healthy log, or one whose loss is larger by a factor or lost from a row on."""
    rng = np.random.default_rng(seed)
    rows = np.arange(200)
    loss = scale * (1 + 4 * np.exp(-rows / 30) + 0.05 * rng.standard_normal(200))
    if lost is not None:
        loss[lost:] = np.nan
    series = {"loss/train": loss, "grad_norm/pre": np.exp(0.2 * rng.standard_normal(200))}
    return Run("made", Header("made"), {name: Series(name, rows, values) for name, values in series.items()})


def test_the_log_shows_what_stands_further_out_than_any_healthy_log() -> None:
    calm = [shape(log(seed)) for seed in range(30)]
    for seed in range(30, 50):
        faulty = {"same": shape(log(seed)), "doubled": shape(log(seed, 2.0)), "lost": shape(log(seed, lost=150))}
        found = outstanding(faulty, calm)
        assert {"doubled", "lost"} <= found
    strays = [seed for seed in range(100, 200) if outstanding({"same": shape(log(seed))}, calm)]
    assert len(strays) <= 10, "about one healthy log in thirty-one stands further out than thirty others"
    assert outstanding({"same": calm[0]}, calm[:2]) == {"same"}, "with nothing to compare, nothing is waved through"


def test_the_report_scores_what_the_log_shows_beside_the_whole() -> None:
    calm = [examined(PLAIN, said(), seed=seed, end=1 + 0.01 * seed) for seed in range(8)]
    hurt, hidden = examined("bad-init", said(*TRUTH), end=3.0), examined("bad-init", said(), seed=1, end=1.04)
    found = score([*calm, hurt, replace(hidden, ends=(2.0, 2.0))], "log")
    assert found.total == 2
    assert found.visible == (1, 1, 1)


def test_an_alarm_on_a_healthy_run_is_false_whatever_it_says() -> None:
    verdicts = [said(), said("lr-jump", severity="warning"), said("resumed", severity="note")]
    every = [examined(PLAIN, verdict, seed=seed) for seed, verdict in enumerate(verdicts)]
    assert [one.trial.seed for one in false_alarms(every, "log")] == [1]


def test_what_is_unknown_when_the_true_family_is_hidden() -> None:
    assert is_unknown(said())
    assert is_unknown(said("lr-jump", confidence=0.49))
    assert not is_unknown(said("lr-jump", confidence=0.5))


def test_the_halves_share_no_model_with_its_seed() -> None:
    trials = plan([], [], 4, 200)
    tuned = {(trial.task, trial.seed) for trial in trials if trial.half == "tune"}
    reported = {(trial.task, trial.seed) for trial in trials if trial.half == "report"}
    assert tuned
    assert reported
    assert not tuned & reported
    assert "conv-net" not in {task for task, _ in tuned}


def test_what_is_trained_is_known_by_its_code_seed_and_steps() -> None:
    one = Trial("bad-init", "mini-gpt", 0, 200)
    assert one.key() == Trial("bad-init", "mini-gpt", 0, 200).key()
    others = [Trial("bad-init", "mini-gpt", 1, 200), Trial("bad-init", "mini-gpt", 0, 300), Trial("broken-mask", "mini-gpt", 0, 200)]
    assert len({one.key(), *(other.key() for other in others)}) == 4


def test_healthy_kinds_may_have_more_seeds_than_faults() -> None:
    trials = plan([], ["mlp"], 1, 100, calm=3)
    assert {trial.seed for trial in trials if trial.truth} == {0}
    assert {trial.seed for trial in trials if not trial.truth} == {0, 1, 2}
    assert {trial.twin for trial in trials} <= set(trials)


def test_only_the_half_that_is_asked_for_is_trained(tmp_path: Path) -> None:
    asked: list[Trial] = []

    class Nobody:
        def map(self, call: object, tasks: Sequence[Order]) -> Iterator[object]:
            asked.extend(task.trial for task in tasks)
            return iter(())

    measure(Asked([], ["mlp"], seeds=2, steps=100, half="report"), tmp_path, Nobody(), lambda name, total: None)  # type: ignore[arg-type]
    assert {trial.seed for trial in asked if trial.name != PLAIN} == {1}
    assert {trial.seed for trial in asked if trial.name == PLAIN} == {0, 1}


def test_names_that_are_not_there_are_told() -> None:
    for names, models in ((["no-such-fault"], []), ([], ["no-such-model"])):
        with pytest.raises(UsageError, match="no-such"):
            plan(names, models, 1, 200)


def test_a_run_as_it_was_known_at_a_step() -> None:
    series = Series("loss/train", np.arange(10), np.arange(10.0))
    late = Series("loss/val", np.array([8]), np.array([1.0]))
    run = Run("made", Header("made"), {"loss/train": series, "loss/val": late}, (Event(2, "resume"), Event(7, "crash")))
    cut = until(run, 5)
    assert list(cut.series) == ["loss/train"]
    assert cut.series["loss/train"].steps.tolist() == [0, 1, 2, 3, 4, 5]
    assert [event.kind for event in cut.events] == ["resume"]


def test_every_word_of_a_peer_stands_for_causes_that_there_are() -> None:
    for name in peers.PEERS:
        assert peers.words(name)
        assert {cause for some in peers.words(name).values() for cause in some} <= set(causes())


def test_a_peer_is_right_when_its_first_word_may_stand_for_the_cause() -> None:
    assert peers.is_right("losslint", peers.PeerVerdict(("nan_inf", "divergence")), ["log-of-zero"])
    assert not peers.is_right("losslint", peers.PeerVerdict(("overfit_onset", "nan_inf")), ["log-of-zero"])
    assert not peers.is_right("losslint", peers.PeerVerdict(), ["log-of-zero"])


def test_every_truth_of_the_lab_is_a_cause() -> None:
    assert {cause for fault in faults().values() for cause in fault.truth} <= set(causes())


@pytest.mark.slow
def test_the_bars_hold_on_a_slice(tmp_path: Path) -> None:
    """Of each family a fault that ruins the run, and healthy kinds that look odd: judged from the recording, all of them right."""
    faults = ["lr-too-high", "lr-zero", "missing-zero-grad", "labels-wrong", "input-nan", "weight-nan", "layer-frozen", "dead-relus"]
    asked = Asked([*faults, "heavy-tails", "high-lr", "no-clip"], ["mlp"], seeds=1, steps=600)
    made = measure(asked, tmp_path, hire(2), lambda name, total: None)
    measures = {row[0]: row[1:] for row in next(section for section in made.sections if section.title == "Right cause first").rows}
    _, recorded, probed = measures["right cause first"]
    assert recorded.startswith("8 of 8"), made.sections
    assert probed.startswith("8 of 8"), made.sections
    assert all(level.startswith("0 of 8") for level in measures["confidently wrong"])
    assert all(level.startswith("0 of 4") for level in measures["false alarms on healthy runs"])


@pytest.mark.slow
def test_a_slice_of_the_real_thing(tmp_path: Path) -> None:
    asked = Asked(["bad-init", "broken-mask"], ["mini-gpt"], seeds=1, steps=300)
    began: list[str] = []
    made = measure(asked, tmp_path, hire(2), lambda name, total: began.append(name))
    assert sorted(began) == ["mini-gpt.bad-init.0", "mini-gpt.broken-mask.0", "mini-gpt.plain.0"]
    tables = {section["title"]: section["rows"] for section in json.loads((tmp_path / "accuracy.json").read_text())["sections"]}
    measures = {row["measure"]: row for row in tables["Right cause first"]}
    assert measures["right cause first"]["with probes"].startswith("2 of 2")
    for level in ("log only", "recorded run", "with probes"):
        assert measures["confidently wrong"][level].startswith("0 of 2")
        assert measures["false alarms on healthy runs"][level].startswith("0 of 1")
    assert "# Accuracy" in (tmp_path / "accuracy.md").read_text()
    assert "<table>" in (tmp_path / "accuracy.html").read_text()
    trained = {folder: (folder / "outcome.json").stat().st_mtime_ns for folder in (tmp_path / "runs").iterdir()}
    again = measure(asked, tmp_path, hire(1), lambda name, total: None)
    assert again.sections == made.sections
    assert {folder: (folder / "outcome.json").stat().st_mtime_ns for folder in (tmp_path / "runs").iterdir()} == trained


ON_RAY = """
import sys
from pathlib import Path
from sismo.bench.accuracy.answers import examine
from sismo.bench.accuracy.plan import Trial
from sismo.bench.accuracy.training import Order
from sismo.workers import hire
order = [Order(Trial("plain", "mini-gpt", seed, 100), Path(sys.argv[1]) / where) for where in ("a", "b") for seed in (0, 1)]
far = {done.task.trial.seed: done.result for done in hire(2, "local").map(examine, order[:2])}
near = {done.task.trial.seed: done.result for done in hire(1).map(examine, order[2:])}
assert all(far[seed].loss.values.tobytes() == near[seed].loss.values.tobytes() for seed in (0, 1))
print("the same bits")
"""


@pytest.mark.slow
def test_ray_trains_the_same_bits(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    done = subprocess.run([sys.executable, "-c", ON_RAY, str(tmp_path)], capture_output=True, text=True, check=False, timeout=300)
    assert "the same bits" in done.stdout, done.stderr[-2000:]
