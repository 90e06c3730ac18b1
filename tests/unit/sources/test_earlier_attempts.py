"""Words about trouble that are no trouble of this run: prose, comments, and what an attempt said before it was taken up again."""

from __future__ import annotations

from pathlib import Path

import pytest

from sismo.records.types import Run
from sismo.sources import load


def read(tmp_path: Path, lines: list[str]) -> Run:
    path = tmp_path / "train.log"
    path.write_text("\n".join(lines) + "\n")
    (run,) = load(path)
    return run


def rows(first: int, last: int) -> list[str]:
    return [f"step {n} loss {3 - n / 200:.4f} lr 1e-3" for n in range(first, last)]


CRASH = ["Traceback (most recent call last):", "RuntimeError: CUDA error: device-side assert triggered"]


@pytest.mark.parametrize(
    "line",
    [
        "# assert labels are fine, else: CUDA error: device-side assert triggered",
        "if you see 'CUDA error: device-side assert triggered' set CUDA_LAUNCH_BLOCKING=1",
        "device-side assertions are enabled",
        "training will stop if the loss is nan",
        "Warning: found NaN/Inf in 0 of 12 batches",
    ],
)
def test_talk_of_trouble_is_no_trouble(line: str, tmp_path: Path) -> None:
    assert read(tmp_path, [*rows(0, 40), line, *rows(40, 80)]).events_of("warning") == ()


def test_warnings_of_an_attempt_that_was_taken_up_again_are_counted_not_kept(tmp_path: Path) -> None:
    run = read(tmp_path, [*rows(0, 60), *CRASH, "Resuming from checkpoint ckpt/step-40", *rows(40, 120)])
    assert [event.kind for event in run.events] == ["resume"]
    assert "earlier-attempts" in [note.code for note in run.notes]


def test_warnings_after_the_resume_stay(tmp_path: Path) -> None:
    again = ["Resuming from checkpoint ckpt/step-40", "WARNING: tokenization mismatch: 47 vs. 48. (ignored)"]
    run = read(tmp_path, [*rows(0, 60), *CRASH, *again, *rows(40, 120), *CRASH])
    assert [event.data["tag"] for event in run.events_of("warning")] == ["tokenization-mismatch", "device-assert"]
