"""Whether a weight matrix changes all at once."""

from __future__ import annotations

import numpy as np
from support.runs import alarms, event, falling, look, names, run
from support.trios import Trio, check, check_all, each

from sismo.records.types import Event, Run
from sismo.signals.detectors import matrices
from sismo.signals.types import State

LOOKS = np.arange(0, 400, 10)
GROWING = np.linspace(2.0, 3.0, LOOKS.size)
STRUCK = np.where(LOOKS >= 200, 50.0, GROWING)


def recorded(values: object, *events: Event, lr: object = None) -> Run:
    return run(loss=falling(400), lr=lr, more={"spectral/a": (LOOKS, values), "spectral/b": (LOOKS, GROWING)}, events=events)  # type: ignore[dict-item, arg-type]


def begins(size: float, loss: float = 27.0, **facts: object) -> Run:
    """Three matrices and an embedding, under a loss over twelve classes."""
    sizes = {"e.weight": 11.0, "a.weight": size, "b.weight": size, "c.weight": 1.3 * size}
    known = {"embeddings": ["e.weight"], **facts}
    more = {f"spectral/{name}": {0: at, 200: 40.0} for name, at in sizes.items()}
    return run(loss=falling(400, start=loss), norm=np.ones(400), more=more, vocab_size=12, config={"sismo": known})  # type: ignore[arg-type]


TRIOS = {
    "matrix-jumps": Trio(recorded(STRUCK), recorded(GROWING), run(loss=falling(400))),
    "matrices-start-tiny": Trio(
        run(more={f"spectral/{name}": (LOOKS, np.linspace(1e-4, 2.0, LOOKS.size)) for name in "abcd"}),
        run(more={"spectral/a": (LOOKS, np.linspace(0.0, 2.0, LOOKS.size)), "spectral/b": (LOOKS, GROWING)}),
        run(more={"spectral/a": (LOOKS + 100, np.linspace(1e-4, 2.0, LOOKS.size))}),
    ),
    "matrices-start-large": Trio(begins(30.0), begins(1.5), run(loss=falling(400))),
    "matrices-steady": Trio(recorded(GROWING), recorded(STRUCK), run(loss=falling(400))),
}


def test_every_signal_of_the_file_is_tried() -> None:
    check_all(matrices, TRIOS)


@each(TRIOS)
def test_fires_stays_silent_and_does_not_know(signal: str, trio: Trio) -> None:
    check(signal, trio)


def test_weights_that_were_loaded_or_follow_a_jump_of_the_lr_do_not_jump_by_themselves() -> None:
    assert look(recorded(STRUCK, event(195, "resume")), "matrix-jumps").state is State.ABSENT
    jumped = np.where(np.arange(400) < 195, 1e-3, 1e-1)
    assert look(recorded(STRUCK, lr=jumped), "matrix-jumps").state is State.ABSENT


def test_a_matrix_that_is_restless_by_itself_does_not_jump() -> None:
    restless = GROWING * np.where(np.arange(LOOKS.size) % 3 == 0, 4.0, 1.0)
    assert look(recorded(restless), "matrix-jumps").state is State.ABSENT


def test_what_grows_at_its_own_pace_between_two_distant_looks_does_not_jump() -> None:
    steps = np.concatenate([np.arange(0, 50), np.arange(250, 270)])
    rows = {"growing": 2.0 * 1.01 ** np.minimum(steps, 190.0), "struck": np.where(steps >= 250, 10.0, 2.0 * 1.001**steps)}
    found = {
        name: look(run(loss=falling(400), more={"spectral/a": (steps, values)}), "matrix-jumps").state for name, values in rows.items()
    }
    assert found == {"growing": State.ABSENT, "struck": State.PRESENT}


def test_what_grows_in_the_first_tenth_of_a_run_does_not_jump_however_few_looks_there_were() -> None:
    steps = np.array([0, 12, 34, *range(80, 500, 20)])
    for at, state in ((34, State.ABSENT), (240, State.PRESENT)):
        values = np.where(steps >= at, 10.0, 2.0)
        assert look(run(loss=falling(500), more={"spectral/a": (steps, values)}), "matrix-jumps").state is state


def test_what_matrices_grow_to_after_the_rate_jumps_says_nothing_of_how_they_start() -> None:
    jumped = np.where(np.arange(400) < 195, 1e-3, 0.5)
    blown = np.where(LOOKS >= 200, 500.0, GROWING)
    tiny = np.where(LOOKS >= 200, 500.0, np.linspace(1e-4, 2.0, LOOKS.size))
    for values, state in ((blown, State.ABSENT), (tiny, State.PRESENT)):
        seen = run(loss=falling(400), lr=jumped, more={f"spectral/{name}": (LOOKS, values) for name in "abcd"})
        assert look(seen, "matrices-start-tiny").state is state
    resumed = run(loss=falling(400), more={f"spectral/{name}": (LOOKS, blown) for name in "abcd"}, events=[event(195, "resume")])
    assert look(resumed, "matrices-start-tiny").state is State.ABSENT


def test_matrices_that_a_far_too_high_rate_has_blown_up_did_not_start_tiny() -> None:
    for first, state in ((1.0, State.ABSENT), (0.005, State.PRESENT)):
        blown = np.geomspace(first, 1000 * first, LOOKS.size)
        made = run(loss=falling(400), more={f"spectral/{name}": (LOOKS, blown) for name in "abcd"})
        assert look(made, "matrices-start-tiny").state is state


def test_a_matrix_that_starts_at_next_to_nothing_is_multiplied_by_any_step() -> None:
    steps = np.arange(0, 600, 20)
    grows = {f"spectral/{name}": (steps, np.where(steps < 100, start, 30 * start)) for name, start in (("a", 1e-3), ("b", 1.0))}
    for name, expected in (("a", State.ABSENT), ("b", State.PRESENT)):
        assert look(run(more={f"spectral/{name}": grows[f"spectral/{name}"]}), "matrix-jumps").state is expected


def test_matrices_that_start_far_too_large_are_the_initialisation_however_small_the_gradient_is() -> None:
    """What saturates has a gradient of a usual size, and layers of a usual one too."""
    assert alarms(begins(30.0))[0] == "init-too-large"
    trained = begins(30.0, parameters=1000, trained=40)
    for honest in (begins(30.0, loss=2.0), trained, begins(1.5)):
        assert "init-too-large" not in names(honest)


def test_a_matrix_that_adam_drives_to_huge_targets_grows_by_the_same_in_each_step() -> None:
    """Looks lie ever farther apart, so that the same pace makes it many times as large from one to the next."""
    steps = np.array([0, 9, 21, 68, 268, 369, 441, 559])
    driven = np.array([1.1, 4.1, 8.0, 33.0, 168.0, 180.0, 181.0, 181.5])
    struck = np.array([1.1, 1.2, 1.25, 1.3, 40.0, 40.2, 40.1, 40.3])
    for values, state in ((driven, State.ABSENT), (struck, State.PRESENT)):
        assert look(run(loss=falling(600), more={"spectral/a": (steps, values)}), "matrix-jumps").state is state


def test_a_matrix_that_grows_after_a_gradient_was_lost_was_thrown_by_an_update() -> None:
    norm = np.where(np.arange(400) == 150, np.inf, 1.0)
    seen = {"spectral/a": (LOOKS, STRUCK), "spectral/b": (LOOKS, GROWING)}
    assert look(run(loss=falling(400), norm=norm, more=seen), "matrix-jumps").state is State.ABSENT  # type: ignore[arg-type]
    late = np.where(np.arange(400) == 198, np.inf, 1.0)  # between the two looks: what struck the matrix may have lost it
    assert look(run(loss=falling(400), norm=late, more=seen), "matrix-jumps").state is State.PRESENT  # type: ignore[arg-type]


def test_updates_as_large_as_they_were_recorded_may_make_a_matrix_many_times_as_large_between_two_looks() -> None:
    steps = np.array([0, 11, 90, *range(91, 110)])
    values = np.array([1.8, 2.4, 63.0, *np.linspace(63.0, 70.0, 19)])
    for ratio, between, state in ((0.05, 0.05, State.ABSENT), (1e-3, 0.14, State.ABSENT), (1e-3, 1e-3, State.PRESENT)):
        ratios = (np.append(steps, 50), np.append(np.full(steps.size, ratio), between))
        seen = {"spectral/a": (steps, values), "update_ratio/0": dict(sorted(zip(*ratios, strict=True)))}
        assert look(run(loss=falling(110), more=seen), "matrix-jumps").state is state  # type: ignore[arg-type]
