"""What looks like a loss and is none: prose, a cost in seconds, a mean over no boxes, the words of an early stopping."""

# ruff: noqa: E501 - lines of logs are as long as they are
from __future__ import annotations

from pathlib import Path

import pytest

from sismo.errors import UnrecognisedLog
from sismo.records.types import Run
from sismo.sources import load


def read(tmp_path: Path, text: str) -> Run:
    path = tmp_path / "some.log"
    path.write_text(text)
    (run,) = load(path)
    return run


PROSE = (
    "After 40 epochs on two cards the small model reaches a loss of 0.37 and an accuracy of 88.1 % on the held-out pages.",
    "You should see the validation loss go down to about 1.5 after ten minutes, and if it does not then lower the rate.",
    "I trained with lr=3e-4 and after 9000 steps (1 epoch = 4500 steps) the loss stays where it was; what did I do wrong here?",
)


@pytest.mark.parametrize("line", PROSE)
def test_a_page_that_tells_of_a_run_is_no_log(line: str, tmp_path: Path) -> None:
    path = tmp_path / "README.md"
    path.write_text(f"# A model\n\nInstall it and run `train.py`.\n\n{line}\n\n## License\n\nMIT\n")
    with pytest.raises(UnrecognisedLog, match="nothing in it looks like a training log"):
        load(path)


@pytest.mark.parametrize("line", PROSE)
def test_a_few_measurements_in_a_question_are_read_without_its_sentences(line: str, tmp_path: Path) -> None:
    run = read(tmp_path, f"{line}\nstep 10 loss 2.5\nstep 20 loss 2.25\n")
    assert list(run.series["loss/train"].values) == [2.5, 2.25]


def test_long_lines_that_are_all_measurements_and_sentences_that_come_again_are_rows(tmp_path: Path) -> None:
    names = ("alpha beta", "gamma delta", "epsilon zeta", "eta theta", "iota kappa", "lambda mu")
    line = "epoch {0} train loss {1} " + " ".join(f"{name} {number}" for number, name in enumerate(names))
    assert len(read(tmp_path, f"{line.format(1, 2.5)}\n{line.format(2, 2.25)}\n").series["loss/train"]) == 2
    said = "so far the mean of the loss over all of the batches that this worker has seen is a loss of {0}\n"
    assert list(read(tmp_path, said.format(2.5) + said.format(2.25)).series["loss/train"].values) == [2.5, 2.25]


@pytest.mark.parametrize("unit", ["s", "ms", " s", "min"])
def test_a_cost_in_time_is_no_loss(unit: str, tmp_path: Path) -> None:
    row = "Iteration {0:05d}, Cost {1}" + unit + ", triplet_loss={2}, softmax_loss={3}\n"
    run = read(tmp_path, row.format(100, 98.5, 0.5, 4.5) + row.format(200, 97.25, 0.25, 4.25))
    assert list(run.series["loss/train"].values) == [5.0, 4.5]


@pytest.mark.parametrize("behind", [" min 0.1 max 0.9", " s: 3", ", time 3 s", " steps 4", " m 2"])
def test_a_loss_before_a_word_that_could_be_a_unit_is_one(behind: str, tmp_path: Path) -> None:
    run = read(tmp_path, f"step 1 loss 2.5{behind}\nstep 2 loss 2.25{behind}\n")
    assert list(run.series["loss/train"].values) == [2.5, 2.25]


def test_the_word_for_validation_that_forecasters_use_comes_before_the_test_set(tmp_path: Path) -> None:
    row = "Epoch: {0}, Steps: 225 | Train Loss: {1} Vali Loss: {2} Test Loss: {3}\nValidation loss decreased ({4} --> {2}).  Saving model ...\n"
    run = read(tmp_path, row.format(1, 0.5, 0.4, 0.7, "inf") + row.format(2, 0.4, 0.35, 0.9, 0.4) + row.format(3, 0.3, 0.3, 1.1, 0.35))
    assert list(run.series["loss/val"].values) == [0.4, 0.35, 0.3]
    assert not [name for name in run.series if name.startswith("loss_val/")]


_REGION = "Region {0} Avg IOU: {1}, Class: {1}, Obj: {1}, No Obj: 0.0004, .5R: {1}, .75R: {1},  count: {2}\n"


@pytest.mark.parametrize(
    ("layers", "warned"),
    [
        ([("-nan", 0), ("0.41", 19), ("0.35", 113)], False),
        ([("0.41", 19), ("-nan", 0), ("-nan", 0)], False),
        ([("-nan", 0), ("-nan", 0), ("-nan", 0)], True),
        ([("0.41", 19), ("-nan", 7), ("0.35", 113)], True),
    ],
)
def test_a_layer_without_a_box_says_nothing_unless_no_layer_ever_has_one(
    layers: list[tuple[str, int]], warned: bool, tmp_path: Path
) -> None:
    text = ""
    for step in range(100, 104):
        text += "".join(_REGION.format(82 + 12 * at, iou, count) for at, (iou, count) in enumerate(layers))
        text += f" {step}: {4.0 - step / 100}, 4.2 avg loss, 0.001000 rate, 17.8 seconds, {64 * step} images\n"
    run = read(tmp_path, text)
    assert bool(run.events_of("warning")) is warned
    assert len(run.series["loss/train"]) == 4


def test_a_number_that_lines_begin_with_counts_with_the_steps_that_evaluations_name(tmp_path: Path) -> None:
    rows: list[str] = []
    for step in range(400, 620, 10):
        if step % 100 == 0:
            rows.append(f"step {step}: train loss {5.1 - step / 1000}, val loss {5.2 - step / 1000}")
        rows.append(f"{step} | loss {5 - step / 1000} | lr 9.000000e-04 | 7367.57ms")
    run = read(tmp_path, "\n".join(rows))
    assert run.series["loss/train"].steps.tolist() == list(range(400, 620, 10))
    assert run.series["loss/val"].steps.tolist() == [400, 500, 600]
    assert run.series["lr/0"].steps.tolist() == list(range(400, 620, 10))
