"""Whether the steps leave anything of the weights that a run began with."""

from __future__ import annotations

import numpy as np
import pytest
from support.runs import alarms, cosine, falling, look, names, run, with_at
from support.trios import Trio, check, check_all, each

from sismo.judge import judge
from sismo.records.types import Run
from sismo.signals.detectors import magnitude
from sismo.signals.types import State

LEARNS = falling(600)
LOOKS = np.arange(0, 600, 40)
LOOKED = LOOKS.size
STEADY, BLOWN = np.linspace(1, 3, LOOKED), np.geomspace(1, 60, LOOKED)
SMALL = np.full(LOOKED, 0.02)


def recorded(updates: object = SMALL, norms: object = STEADY, spectra: object = STEADY, **more: object) -> Run:
    """Three blocks and their matrices, looked at every 40 steps."""
    seen = {f"update_ratio/{name}": (LOOKS, updates) for name in "abc"}
    seen |= {f"weight_norm/{name}": (LOOKS, norms) for name in "abc"}
    seen |= {f"spectral/{name}.weight": (LOOKS, spectra) for name in "abc"}
    return run(loss=LEARNS, more={**seen, **more})  # type: ignore[arg-type]


def rated(peak: float, optimizer: str = "AdamW", entries: int = 10_000, start: float = 1.0, **facts: object) -> Run:
    """A group of 10,000 weights of a size of 0.1, trained with a warmup to a peak."""
    more = {"weight_norm/0": {0: 10.0, 300: 40.0}, "spectral/a.weight": {0: start, 300: 2.0}, "update_ratio/0": {0: 1e-3, 300: 0.05}}
    known = {"optimizers": [optimizer], "groups": [{"entries": entries, "embedded": 0} | facts]}
    return run(loss=LEARNS, lr=cosine(600, peak, 60), more=more, config={"sismo": known})  # type: ignore[arg-type]


REPLACED = with_at(SMALL, 0, 4.0)
TRIOS = {
    "weights-replaced": Trio(recorded(REPLACED), recorded(with_at(SMALL, 0, 0.25)), run(loss=LEARNS)),
    "rate-over-weights": Trio(rated(1.0), rated(0.05), run(loss=LEARNS)),
    "weights-come-back": Trio(recorded(norms=np.full(LOOKED, 3.0)), recorded(), run(loss=LEARNS)),
    "weights-blown-up": Trio(recorded(norms=BLOWN, spectra=BLOWN), recorded(), run(loss=LEARNS)),
}


def test_every_signal_of_the_file_is_tried() -> None:
    check_all(magnitude, TRIOS)


@each(TRIOS)
def test_fires_stays_silent_and_does_not_know(signal: str, trio: Trio) -> None:
    check(signal, trio)


@pytest.mark.parametrize("start", [0.0, 1e-4, 0.02])
def test_weights_that_start_at_next_to_nothing_are_replaced_by_any_step(start: float) -> None:
    """A linear probe from zeros, or an initialisation too small: its growth says nothing of the rate."""
    grown = start + np.linspace(0, 40, LOOKED)
    made = recorded(with_at(SMALL, 0, 9.0), grown, grown)
    assert [look(made, signal).state for signal in ("weights-replaced", "weights-blown-up")] == [State.ABSENT, State.ABSENT]
    assert look(rated(1.0, start=start), "rate-over-weights").state is State.ABSENT


def test_one_block_that_starts_at_zero_says_nothing_of_the_others() -> None:
    fresh = np.where(LOOKS == 0, 1e-6, 3.0)
    made = recorded(**{"weight_norm/adapter": (LOOKS, fresh), "update_ratio/adapter": (LOOKS, np.where(LOOKS == 0, 50.0, 0.02))})
    assert alarms(made) == []


def test_norms_that_grow_while_the_spectra_stay_are_no_blow_up() -> None:
    assert look(recorded(norms=BLOWN), "weights-blown-up").state is State.ABSENT
    assert look(recorded(spectra=BLOWN), "weights-blown-up").state is State.ABSENT


def test_a_rate_that_replaces_the_weights_is_too_high_however_well_the_loss_falls() -> None:
    """Batch norm trains on whatever the weights are: a warning, and no more."""
    for made in (recorded(REPLACED), rated(1.0)):
        first = judge(made).findings[0]
        assert (first.cause.id, first.severity.value) == ("lr-too-high", "warning")


def test_a_rate_that_no_warmup_helps_comes_before_the_warmup_that_is_not_there() -> None:
    """The first steps throw the loss up, and it gets over them."""
    thrown = with_at(falling(600, start=4.0), 4, 9.0, 12.0, 11.0, 9.0, 7.0)
    norm = with_at(np.ones(600), 3, 20.0, 30.0, 12.0)
    more = {"weight_norm/0": {0: 10.0, 300: 40.0}, "spectral/a.weight": {0: 1.0, 300: 2.0}}
    for peak, expected in ((1.0, "lr-too-high"), (0.05, "missing-warmup")):
        known = {"optimizers": ["AdamW"], "groups": [{"entries": 10_000, "embedded": 0}]}
        made = run(loss=thrown, norm=norm, lr=cosine(600, peak, 1), more=more, config={"sismo": known})  # type: ignore[arg-type]
        assert alarms(made)[0] == expected


def test_what_grows_and_dies_with_the_weights_is_a_consequence_of_the_rate() -> None:
    heads = {f"head_entropy/{block}.0": (LOOKS, np.where(LOOKS > 100, 1e-3, 0.9)) for block in "abcd"}
    logits = {f"head_max_logit/{block}.0": (LOOKS, np.where(LOOKS > 100, 5e3, 0.9)) for block in "abcd"}
    made = recorded(REPLACED, BLOWN, BLOWN, **heads, **logits)
    assert alarms(made)[0] == "lr-too-high"
    assert {f.consequence_of for f in judge(made).findings if f.cause.id in ("attention-logit-growth", "dead-heads")} == {"lr-too-high"}
    assert alarms(recorded(**heads, **logits))[0] == "attention-logit-growth"


def test_weights_that_pile_up_with_their_gradients_are_no_matter_of_the_rate() -> None:
    carried = {"grad_carried": (LOOKS, np.where(LOOKS == 0, 0.0, 1.0))}
    assert alarms(recorded(REPLACED, BLOWN, BLOWN, **carried))[0] == "missing-zero-grad"


def test_a_matrix_that_is_blown_up_alone_is_another_failure() -> None:
    flipped = np.where(LOOKS > 300, 900.0, 1.0)
    assert "lr-too-high" not in names(recorded(**{"spectral/d.weight": (LOOKS, flipped), "weight_norm/d": (LOOKS, flipped)}))


def test_weights_that_grow_by_learning_are_no_matter_of_the_rate() -> None:
    """A regression to numbers in the hundred thousands has to grow its weights, at a rate that is small against them."""
    assert alarms(recorded(norms=BLOWN, spectra=BLOWN)) == []


@pytest.mark.parametrize(
    ("made", "state"),
    [
        (rated(1.0, "SGD"), State.ABSENT),  # its steps are as large as the gradient
        (rated(1.0, "Lion"), State.PRESENT),
        (rated(0.1, entries=100), State.ABSENT),
        (rated(1.0, embedded=9_000), State.ABSENT),
        (rated(1.0, entries=0), State.UNKNOWN),
    ],
)
def test_a_rate_is_held_against_the_weights_that_it_moves(made: Run, state: State) -> None:
    assert look(made, "rate-over-weights").state is state


def test_embeddings_may_begin_at_any_size() -> None:
    seen = {
        f"{family}/u{end}": (LOOKS, values)
        for family, end, values in (("weight_norm", "", BLOWN), ("update_ratio", "", REPLACED), ("spectral", ".weight", BLOWN))
    }
    for listed, states in ((["u.weight"], {State.UNKNOWN}), ([], {State.PRESENT})):
        made = run(loss=LEARNS, more=seen, config={"sismo": {"embeddings": listed}})  # type: ignore[arg-type]
        assert {look(made, signal).state for signal in ("weights-replaced", "weights-blown-up")} == states


def test_weights_that_are_put_back_after_each_step_are_not_trained() -> None:
    """As by an average of the weights that is swapped in and never out again."""
    assert alarms(recorded(norms=np.full(LOOKED, 3.0))) == ["update-changes-nothing"]
    normalised = 3.0 + 1e-7 * np.sin(LOOKS)
    frozen = np.zeros(LOOKED)
    for made in (recorded(norms=normalised), recorded(frozen + 1e-9, np.full(LOOKED, 3.0))):
        assert "update-changes-nothing" not in alarms(made)
