"""What experiment trackers keep on disk: MLflow's folders and database, Trackio's database, a run of W&B that was never uploaded."""

from __future__ import annotations

import json
import math
import os
import pickle
import sqlite3
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest

from sismo.errors import MalformedLog, SourceError
from sismo.records.types import Run
from sismo.sources import load

LOSSES = [3 - at / 10 for at in range(12)]


def check(run: Run) -> None:
    loss = run.series["loss/train"]
    assert loss.steps.tolist() == [10 * at for at in range(12)]
    assert np.allclose(loss.values, LOSSES)


def test_a_run_of_mlflow_and_a_folder_of_them(tmp_path: Path) -> None:
    for name in ("a1", "b2"):
        run = tmp_path / "mlruns" / "0" / name
        (run / "metrics" / "train").mkdir(parents=True)
        (run / "params").mkdir()
        (run / "meta.yaml").write_text(f"run_id: {name}\n")
        (run / "metrics" / "train" / "loss").write_text("".join(f"17000000{at:02d} {loss} {10 * at}\n" for at, loss in enumerate(LOSSES)))
        (run / "metrics" / "lr").write_text("1700000000 0.001 0\n1700000001 nan 10\n")
        (run / "params" / "max_grad_norm").write_text("1.0")
    runs = load(tmp_path / "mlruns")
    assert len(runs) == 2
    for run in runs:
        check(run)
        assert run.header.clip == 1.0
        assert math.isnan(run.series["lr/0"].values[1])


def test_the_database_of_mlflow(tmp_path: Path) -> None:
    path = tmp_path / "mlflow.db"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE runs (run_uuid TEXT, name TEXT)")
        database.execute("CREATE TABLE params (key TEXT, value TEXT, run_uuid TEXT)")
        database.execute("CREATE TABLE metrics (key TEXT, value REAL, timestamp INTEGER, run_uuid TEXT, step INTEGER, is_nan BOOLEAN)")
        database.execute("INSERT INTO runs VALUES ('a1', 'calm'), ('b2', 'lost')")
        for at, loss in enumerate(LOSSES):
            database.execute("INSERT INTO metrics VALUES ('loss', ?, ?, 'a1', ?, 0)", (loss, at, 10 * at))
            database.execute("INSERT INTO metrics VALUES ('loss', 0.0, ?, 'b2', ?, 1)", (at, 10 * at))
    database.close()
    calm, lost = load(path)
    check(calm)
    assert lost.header.name == "lost"
    assert np.isnan(lost.series["loss/train"].values).all()


def test_the_database_of_trackio(tmp_path: Path) -> None:
    path = tmp_path / "project.db"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE metrics (id INTEGER PRIMARY KEY, timestamp TEXT, run_name TEXT, step INTEGER, metrics TEXT)")
        for at, loss in enumerate(LOSSES):
            row = json.dumps({"train/loss": loss, "lr": 1e-3})
            database.execute("INSERT INTO metrics (run_name, step, metrics) VALUES ('calm', ?, ?)", (10 * at, row))
    database.close()
    (run,) = load(path)
    check(run)


def test_another_database_is_refused_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "people.db"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE people (name TEXT)")
    database.close()
    with pytest.raises(Exception, match="binary data of no known kind"):
        load(path)


def varint(value: int) -> bytes:
    out = b""
    while value > 0x7F:
        out, value = out + bytes([value & 0x7F | 0x80]), value >> 7
    return out + bytes([value])


def field(number: int, body: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(body)) + body


def wandb_file(rows: list[dict[str, object]]) -> bytes:
    """A run as W&B writes it: a header of 7 bytes, then frames in blocks of 32 KiB."""
    out = b":W&B" + struct.pack("<HB", 0xBEE1, 0)
    for at, row in enumerate(rows):
        items = b"".join(field(1, field(2, key.encode()) + field(16, json.dumps(value).encode())) for key, value in row.items())
        rest, first = varint(1 << 3) + varint(at) + field(2, items), True
        while rest or first:
            left = 32768 - len(out) % 32768
            if left < 7:
                out += bytes(left)
                continue
            part, rest = rest[: left - 7], rest[left - 7 :]
            kind = (1 if not rest else 2) if first else (4 if not rest else 3)
            out, first = out + struct.pack("<IHB", 0, len(part), kind) + part, False
    return out


def test_a_run_of_wandb_that_was_never_uploaded(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [
        {"train/loss": loss, "train/global_step": 10 * at, "note": "x" * 9000, "_step": at} for at, loss in enumerate(LOSSES)
    ]
    folder = tmp_path / "offline-run-20240101_000000-abc"
    folder.mkdir()
    path = folder / "run-abc.wandb"
    path.write_bytes(wandb_file(rows))
    for place in (path, folder, tmp_path):
        (run,) = load(place)
        check(run)
    path.write_bytes(wandb_file(rows)[:-200])
    (run,) = load(path)
    assert "partial-log" in [note.code for note in run.notes]
    path.write_bytes(wandb_file([]))
    with pytest.raises(MalformedLog, match="no history"):
        load(path)


def test_the_configuration_that_a_run_of_wandb_started_with_is_its_header(tmp_path: Path) -> None:
    items = {"max_grad_norm": 1.0, "train": {"warmup_steps": 100}, "tags": ["a"]}
    config = b"".join(field(1, field(1, key.encode()) + field(16, json.dumps(value).encode())) for key, value in items.items())
    record = field(17, field(1, b"abc") + field(4, config))
    body = wandb_file([{"train/loss": loss, "train/global_step": 10 * at} for at, loss in enumerate(LOSSES)])
    path = tmp_path / "run-abc.wandb"
    path.write_bytes(body[:7] + struct.pack("<IHB", 0, len(record), 1) + record + body[7:])
    (run,) = load(path)
    check(run)
    assert (run.header.clip, run.header.warmup_steps) == (1.0, 100)


@pytest.mark.parametrize(
    "document",
    [
        {"history": {"loss": LOSSES, "step": [10 * at for at in range(12)]}, "epoch": 12},
        {"log": [{"step": 10 * at, "loss": loss} for at, loss in enumerate(LOSSES)]},
        {"train_losses": [np.float64(loss) for loss in LOSSES], "step": list(range(0, 120, 10))},
    ],
)
def test_the_plain_history_of_a_checkpoint(document: dict[str, object], tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    model = torch.nn.Linear(2, 2)
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.ones(2)).sum().backward()
    optimizer.step()
    path = tmp_path / "last.pt"
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), **document}, path)
    (run,) = load(path)
    check(run)


def test_a_checkpoint_without_a_history_is_refused_and_nothing_in_it_runs(tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> object:
            return os.system, (f"touch {tmp_path / 'sprung'}",)

    path = tmp_path / "last.ckpt"
    for content in (Trap(), {"losses": [Trap(), Trap()]}, {"epoch": 3, "loss": 2.5}):
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("last/data.pkl", pickle.dumps(content, protocol=2))
        with pytest.raises(SourceError):
            load(path)
    assert not (tmp_path / "sprung").exists()
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("last/data.pkl", pickle.dumps({"loss": LOSSES})[:-9])
    with pytest.raises(MalformedLog, match="cannot be unpickled"):
        load(path)


def test_a_malformed_log_beside_a_good_one_is_named_and_what_is_no_log_is_not(tmp_path: Path) -> None:
    (tmp_path / "good.jsonl").write_text("".join(json.dumps({"step": at, "loss": loss}) + "\n" for at, loss in enumerate(LOSSES)))
    (tmp_path / "broken.json").write_text('{"log_history": 3}')
    (tmp_path / "notes.txt").write_text("remember the milk\n")
    refused: list[Exception] = []
    assert len(load(tmp_path, None, refused)) == 1  # pyright: ignore[reportArgumentType]
    assert [Path(str(error).partition(":")[0]).name for error in refused] == ["broken.json"]


def test_a_checkpoint_that_names_one_list_in_itself_again_and_again_is_refused(tmp_path: Path) -> None:
    grown: list[object] = [0.5, 0.4]
    for _ in range(60):
        grown = [grown, grown]
    path = tmp_path / "grown.pt"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("grown/data.pkl", pickle.dumps({"history": {"loss": LOSSES, "more": grown}}, protocol=2))
    with pytest.raises(MalformedLog, match="cannot be unpickled"):
        load(path)
