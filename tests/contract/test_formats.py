"""Every format and every kind of line: named, described, sure of its own sample and of no other's."""

from __future__ import annotations

from pathlib import Path

import pytest

from sismo.records.types import Header, Run
from sismo.records.writer import RunWriter
from sismo.sources.content import open_content, sample_of
from sismo.sources.formats.text import kinds
from sismo.sources.keys import is_loss
from sismo.sources.line import TextLog
from sismo.sources.sniff import best, formats, read

SAMPLES: dict[str, tuple[str, bytes]] = {
    "hf-trainer-state": ("trainer_state.json", b'{"epoch": 1, "log_history": [{"step": 1, "loss": 2.0}]}'),
    "json-document": ("history.json", b'[{"step": 1, "loss": 2.0},\n {"step": 2, "loss": 1.0}]'),
    "json-lines": ("log.jsonl", b'{"step": 1, "loss": 2.0}\n{"step": 2, "loss": NaN}\n'),
    "csv": ("metrics.csv", b"epoch,step,train_loss\n0,1,2.0\n0,2,1.0\n"),
    "tfevents": (
        "events.out.tfevents.1",
        b"\x18\0\0\0\0\0\0\0aaaa\x09\0\0\0\0\0\0\xf0\x3f\x1a\x0dbrain.Event:2bbbb"
        b"\x11\0\0\0\0\0\0\0aaaa\x10\x01\x2a\x0d\x0a\x0b\x0a\x04loss\x15\0\0\x80\x3fbbbb",
    ),
    "text": ("train.log", b"step 1 loss 2.0\nstep 2 loss 1.0\n"),
}

STORES = {"sismo-run", "mlflow-run", "mlflow-db", "torch-checkpoint", "trackio", "wandb-run"}
"""Formats whose sample is a folder, an archive or a database: see tests/unit/sources/test_stores.py."""


def test_every_format_is_described_and_sampled_here() -> None:
    names = {form.name for form in formats()}
    assert names == {*SAMPLES, *STORES}
    assert all(form.about and form.about == form.about.strip() for form in formats())


@pytest.mark.parametrize("name", SAMPLES)
def test_a_format_is_sure_of_its_own_sample_and_reads_it(name: str, tmp_path: Path) -> None:
    file, data = SAMPLES[name]
    path = tmp_path / file
    path.write_bytes(data)
    sample = sample_of(open_content(str(path)))
    scores = {form.name: form.score(sample) for form in formats()}
    assert all(0 <= score <= 100 for score in scores.values())
    assert max(scores, key=lambda one: scores[one]) == name
    chosen = best(sample)
    assert chosen is not None
    assert chosen.name == name
    assert read(str(path))


@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample_without_its_name_is_still_recognised(name: str, tmp_path: Path) -> None:
    path = tmp_path / "output"
    path.write_bytes(SAMPLES[name][1])
    chosen = best(sample_of(open_content(str(path))))
    assert chosen is not None
    assert chosen.name == name


def test_a_run_folder_is_a_sismo_run(tmp_path: Path) -> None:
    with RunWriter(tmp_path / "run", Header("sismo-run", name="a")) as writer:
        writer.row(1, {"loss/train": 2.0})
    (run,) = read(str(tmp_path / "run"))
    assert isinstance(run, Run)
    assert run.header.name == "a"


MARKS = {
    "crash": "Traceback (most recent call last):",
    "gap": "[... 300 lines truncated ...]",
    "overflow": "OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 64, reducing to 32",
    "resume": "Resuming from checkpoint",
    "run-start": "Fold 2/5",
    "warning": "WARNING: tokenization mismatch: 47 vs. 48. (ignored)",
}


@pytest.mark.parametrize("kind", kinds(), ids=lambda kind: kind.name)
def test_every_kind_of_line_takes_its_own_example_and_no_prose(kind) -> None:
    assert kind.hints
    assert all(hint == hint.lower() and not any(char.isdigit() for char in hint) for hint in kind.hints)
    example = MARKS.get(kind.name, kind.about)
    if kind.marker:
        assert kind.take(example, TextLog("text")) or kind.name == "progress-bar"
    else:
        log = TextLog("text")
        parts = example.replace(" then ", "\n").split("\n")
        log.epoch = 1.0 if kind.name == "keras" else None
        taken = [kind.take(part, log) for part in parts]
        assert any(taken)
        assert any(is_loss(key) for key in log.rows.keys())  # noqa: SIM118 - a method of the rows
    assert not kind.take("The weather was fine, and nobody trained anything.", TextLog("text"))


def test_kinds_are_named_once_and_ordered() -> None:
    names = [kind.name for kind in kinds()]
    assert len(set(names)) == len(names)
    assert [kind.order for kind in kinds()] == sorted(kind.order for kind in kinds())
