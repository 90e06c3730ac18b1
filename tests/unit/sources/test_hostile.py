"""Input that is broken, empty, binary or huge: one clear line, never another kind of error, never an empty list."""

# ruff: noqa: E501 - lines of logs are as long as they are
from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sismo.errors import SourceError, UnrecognisedLog
from sismo.sources import load

SETTINGS = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


def refusal(path: Path) -> str:
    with pytest.raises(SourceError) as caught:
        load(path)
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(str(path))
    return message


@pytest.mark.parametrize(
    ("name", "data", "says"),
    [
        ("empty.log", b"", "empty"),
        ("blank.log", b"\n \n\t\n", "training log"),
        ("junk.bin", bytes(range(256)) * 40, "binary"),
        ("prose.txt", b"Dear all,\nthe loss of our cat is a pity. We saw 3 of them.\n", "no loss found"),
        ("people.csv", b"name,city\nana,madrid\nbob,paris\n", "no loss found"),
        ("scores.csv", b"step,acc\n1,0.2\n2,0.3\n", "columns seen: step, acc"),
        ("state.json", b'{"best_metric": null, "log_', "cut off"),
        ("state.json", b'{"log_history": 3}', "log_history"),
        ("empty.json", b"{}", "no loss found"),
        ("list.json", b"[]", "no loss found"),
        ("deep.json", b"[" * 100_000, "cut off"),
        ("torn.gz", gzip.compress(b"step 1 loss 2.0\n" * 100)[:10], "damaged"),
        ("nul.log", b"\x00" * 4096, "binary"),
    ],
)
def test_bad_files_are_refused_with_one_line(name: str, data: bytes, says: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    assert says in refusal(path)


def test_missing_files_and_junk_folders(tmp_path: Path) -> None:
    assert "no such file" in refusal(tmp_path / "nowhere.log")
    assert "no training log" in refusal(tmp_path)
    (tmp_path / "a.bin").write_bytes(os.urandom(300))
    (tmp_path / "readme.txt").write_text("hello")
    assert "no" in refusal(tmp_path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_permission_denied(tmp_path: Path) -> None:
    path = tmp_path / "secret.log"
    path.write_text("step 1 loss 2.0\n")
    path.chmod(0)
    assert "permission denied" in refusal(path)


def test_a_line_of_many_megabytes_is_skipped_and_noted(tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    path.write_bytes(b"step 1 loss 2.0\n" + b"x 1 " * 1_000_000 + b"\nstep 2 loss 1.9\n")
    (run,) = load(path)
    assert run.series["loss/train"].steps.tolist() == [1, 2]
    assert "skipped-lines" in [note.code for note in run.notes]


def test_one_endless_line_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    path.write_bytes(b"loss " * 1_000_000)
    assert "no loss found" in refusal(path)


def test_a_compressed_log_that_breaks_off_is_read_up_to_there(tmp_path: Path) -> None:
    path = tmp_path / "train.log.gz"
    path.write_bytes(gzip.compress(b"".join(b"step %d loss 2.5\n" % step for step in range(5000)))[:-40])
    (run,) = load(path)
    assert "partial-log" in [note.code for note in run.notes]


def test_more_keys_than_rows_does_not_exhaust_memory(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text("".join(f'{{"step": {row}, "loss": 1.0, "k{row}": 1}}\n' for row in range(5000)))
    (run,) = load(path)
    assert len(run.series["loss/train"]) == 5000
    assert "skipped-keys" in [note.code for note in run.notes]


def attempt(path: Path) -> None:
    """Reads it or is refused; any other exception fails the test."""
    message, runs = "", [None]
    try:
        runs = load(path)
    except SourceError as error:
        message = str(error)
    assert runs
    assert "\n" not in message


@SETTINGS
@given(
    data=st.binary(max_size=400),
    name=st.sampled_from(["a.log", "a.csv", "a.json", "a.jsonl", "trainer_state.json", "events.out.tfevents.1"]),
)
def test_any_bytes_are_read_or_refused(data: bytes, name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    attempt(path)


PIECES = st.sampled_from(
    ["step", "epoch", "loss", "train_loss", "val_loss", ":", "=", ",", "|", "[", "]", "{", "}", "'", '"', "1", "0", "-3", "nan", "inf", "1e400", "1e-3",
     "99999999999999999999", "12/20", "100%|##| 3/4 [00:00<00:00, 1.0it/s, loss=2]", "iteration 3/ 10 |", "\r", "\n", "\n", " ", "  ", "\t", "null",
     "Epoch(train) [1][2/6]", "Fold 2/5", "Resuming from checkpoint", "Traceback (most recent call last):", "lr", "grad_norm", "s:1 trl:2.0",
     "overflow detected, setting loss scale to: 0.25", "12/12 [===] - 1s - loss: 0.3", "[step=1/5]", "    a/b=3"]
)  # fmt: skip


@SETTINGS
@given(pieces=st.lists(PIECES, max_size=60), name=st.sampled_from(["a.log", "a.csv", "a.json", "a.jsonl"]))
def test_any_mixture_of_what_logs_hold_is_read_or_refused(pieces: list[str], name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(" ".join(pieces))
    attempt(path)


@SETTINGS
@given(data=st.binary(min_size=1, max_size=30), at=st.integers(0, 4000), kind=st.sampled_from(["state", "events", "csv"]))
def test_damage_anywhere_is_read_or_refused(data: bytes, at: int, kind: str, tmp_path: Path) -> None:
    good = {
        "state": b'{"log_history": [' + b", ".join(b'{"step": %d, "loss": 1.5}' % step for step in range(40)) + b'], "max_steps": 40}',
        "events": b'\x18\x00\x00\x00\x00\x00\x00\x00\xa3\x7fK"\t\x00\x00\x00\x00\x00\x00\xf0?\x1a\rbrain.Event:2\x00\x00\x00\x00' * 3,
        "csv": b"step,loss,lr\n" + b"".join(b"%d,1.5,0.1\n" % step for step in range(40)),
    }[kind]
    at %= len(good)
    path = tmp_path / {"state": "trainer_state.json", "events": "events.out.tfevents.1", "csv": "metrics.csv"}[kind]
    path.write_bytes(good[:at] + data + good[at + len(data) :])
    attempt(path)


def test_refusal_is_unrecognised_when_there_is_no_loss(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("step,acc\n1,0.5\n")
    with pytest.raises(UnrecognisedLog):
        load(path)
