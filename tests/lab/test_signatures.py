"""Each failure's signature: which panel cries first, and by what factor."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sismo.bench.signatures import PAGE, runs
from sismo.dashboard.alarms import alarms
from sismo.dashboard.registry import panels
from sismo.judge import diagnose
from sismo.lab import single
from sismo.lab.claims import CLAIMS, Claim, Trial, lost
from sismo.lab.exam import FAILURES, Options
from sismo.lab.train import train
from sismo.records.types import Run

pytestmark = pytest.mark.slow


PLAIN = ("init × 100", "warmup 0", "mask of ones")
"""Claims that are tried on the failures as the exam has them."""


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Run, Run]]:
    folder: Path = tmp_path_factory.mktemp("signatures")
    return {name: runs(Trial(name, Options(steps=300), name), 3, folder) for name in FAILURES}


def value(trained: dict[str, tuple[Run, Run]], failure: str, says: str) -> float:
    claim: Claim = next(claim for claim in CLAIMS if claim.trial.failure == failure and says in claim.says)
    return claim.measure(*trained[failure])


def test_a_bad_initialisation_cries_on_panel_4_at_step_0(trained: dict[str, tuple[Run, Run]]) -> None:
    document = diagnose(trained["bad-init"][0])
    assert document.causes[0].id == "init-too-large"
    assert next(iter(alarms(document, panels()).items())) == ("activations", 0)
    assert value(trained, "bad-init", "embedding") == pytest.approx(100, rel=0.01)
    assert value(trained, "bad-init", "attention of layer 0") > 1e3
    assert value(trained, "bad-init", "all heads") >= 7


def test_a_missing_warmup_shows_on_panel_2_at_step_0(trained: dict[str, tuple[Run, Run]]) -> None:
    document = diagnose(trained["no-warmup"][0])
    assert document.causes[0].id == "missing-warmup"
    assert alarms(document, panels()) == {"learning-rate": 0}
    assert value(trained, "no-warmup", "at its maximum") == 1


def test_a_broken_mask_cries_on_panel_1_or_6_and_is_too_good_to_be_true(trained: dict[str, tuple[Run, Run]]) -> None:
    document = diagnose(trained["broken-mask"][0])
    assert document.causes[0].id == "causal-mask-broken"
    cried = alarms(document, panels())
    assert "loss" in cried
    assert cried.keys() <= {"loss", "dead"}
    assert value(trained, "broken-mask", "under the entropy") < 0.3
    assert 0.5 < value(trained, "broken-mask", "goes along") < 1.5


def test_log_of_softmax_shows_the_nan_that_log_softmax_hides(tmp_path: Path) -> None:
    naive = Options(steps=20, naive_loss=True)
    broken, healthy = runs(Trial("bad-init", naive, "naive loss"), 0, tmp_path)
    assert lost(broken, healthy) <= 5
    assert lost(healthy, healthy) == np.inf
    assert lost(*runs(Trial("bad-init", replace(naive, naive_loss=False), "log-softmax"), 0, tmp_path)) == np.inf


@pytest.mark.parametrize("claim", [claim for claim in CLAIMS if claim.trial.about in PLAIN], ids=lambda claim: claim.says)
def test_the_page_says_of_a_claim_what_a_run_shows(claim: Claim, trained: dict[str, tuple[Run, Run]]) -> None:
    held = claim.holds(claim.measure(*trained[claim.trial.failure]))
    said = next(
        line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith(f"| {claim.says} | {claim.trial.about} |")
    )
    assert said.split(" | ")[2] in ("at times", "yes" if held else "no")


def test_the_healthy_run_beside_them_cries_nowhere(trained: dict[str, tuple[Run, Run]]) -> None:
    run = trained["bad-init"][1]
    document = diagnose(run)
    assert document.healthy is True
    assert not alarms(document, panels())
    assert value(trained, "broken-mask", "healthy validation loss is not") > 1
    assert np.isfinite(run.series["loss/train"].values).all()


def test_validation_follows_training_to_the_end_of_the_healthy_run(trained: dict[str, tuple[Run, Run]]) -> None:
    run = trained["bad-init"][1]
    losses, val = run.series["loss/train"].values, run.series["loss/val"].values
    assert val[-1] == val.min()
    assert val[-1] / losses[-20:].mean() == pytest.approx(1, abs=0.1)


def test_training_past_convergence_opens_the_gap_and_is_overfitting_and_no_divergence(tmp_path: Path) -> None:
    run = train(single.find("past-convergence", "mini-gpt", 0, 600).setup, tmp_path / "run")
    document = diagnose(run)
    assert [cause.id for cause in document.causes] == ["overfitting"]
    val = run.series["loss/val"]
    assert document.causes[0].step == val.steps[np.argmin(val.values)]
    assert val.values[-1] > 1.1 * val.values.min()
    assert run.series["loss/train"].values[-20:].mean() < 0.6 * val.values[-1]
