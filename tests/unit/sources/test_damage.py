"""Files that are damaged, links that lead nowhere, headers and counters that no one expects: what can be read is read, and it is said."""

from __future__ import annotations

import gzip
import random
from pathlib import Path

import pytest

from sismo.errors import SourceError
from sismo.sources import load, sniff
from sismo.sources.content import StreamContent

ROWS = "".join(f'{{"step": {n}, "loss": {3 - n / 100}, "lr": 0.001}}\n' for n in range(60))


def noise(rows: int) -> bytes:
    draw = random.Random(7)
    return "".join(f"step {n} loss {draw.random():.12f} grad_norm {draw.random():.12f}\n" for n in range(rows)).encode()


def codes(path: Path) -> list[str]:
    return [note.code for run in load(path) for note in run.notes]


def test_a_damaged_gzip_gives_what_comes_before_the_damage(tmp_path: Path) -> None:
    packed = bytearray(gzip.compress(noise(4000)))
    middle = len(packed) // 2
    packed[middle : middle + 400] = b"\xff" * 400
    path = tmp_path / "train.log.gz"
    path.write_bytes(packed)
    (run,) = load(path)
    assert 1500 < len(run.series["loss/train"]) < 2500
    assert "damaged compressed file; what came before the damage was read" in [str(note) for note in run.notes]


@pytest.mark.parametrize("how", ["cut", "damaged"])
def test_a_damaged_zstd_gives_what_comes_before_the_damage(how: str, tmp_path: Path) -> None:
    zstandard = pytest.importorskip("zstandard")
    packed = bytearray(zstandard.ZstdCompressor(write_checksum=True).compress(noise(20_000)))
    middle = len(packed) // 2
    if how == "cut":
        del packed[middle:]
    else:
        packed[middle : middle + 4000] = b"\xff" * 4000
    path = tmp_path / "train.log.zst"
    path.write_bytes(packed)
    (run,) = load(path)
    assert 2000 < len(run.series["loss/train"]) < 12_000
    assert "partial-log" in [note.code for note in run.notes]


def test_a_damaged_zstd_of_a_single_block_is_refused_in_one_line(tmp_path: Path) -> None:
    zstandard = pytest.importorskip("zstandard")
    packed = bytearray(zstandard.compress(noise(200)))
    packed[12:60] = b"\xff" * 48
    path = tmp_path / "train.log.zst"
    path.write_bytes(packed)
    with pytest.raises(SourceError, match="damaged compressed file: nothing in it could be read") as refused:
        load(path)
    assert "\n" not in str(refused.value)


def test_logs_beyond_the_limit_of_a_folder_are_left_out_and_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sniff, "MAX_FILES", 3)
    for at in range(5):
        (tmp_path / f"run{at}").mkdir()
        (tmp_path / f"run{at}" / "log.jsonl").write_text(ROWS)
    runs = load(tmp_path)
    assert len(runs) == 3
    assert "2 logs beyond the first 3 were left out; name a subfolder" in [str(note) for note in runs[0].notes]


def test_zstd_frames_in_a_row_are_one_file(tmp_path: Path) -> None:
    zstandard = pytest.importorskip("zstandard")
    path = tmp_path / "train.jsonl.zst"
    half = len(ROWS) // 2
    path.write_bytes(zstandard.compress(ROWS[:half].encode()) + zstandard.compress(ROWS[half:].encode()))
    (run,) = load(path)
    assert len(run.series["loss/train"]) == 60
    assert "partial-log" not in [note.code for note in run.notes]


def test_links_that_lead_nowhere_are_skipped_and_said(tmp_path: Path) -> None:
    (tmp_path / "ok.jsonl").write_text(ROWS)
    (tmp_path / "gone.jsonl").symlink_to(tmp_path / "nowhere")
    (tmp_path / "circle.jsonl").symlink_to(tmp_path / "circle.jsonl")
    (tmp_path / "up").symlink_to(tmp_path)
    assert "skipped-files" in codes(tmp_path)
    with pytest.raises(SourceError):
        load(tmp_path / "circle.jsonl")


def test_what_may_not_be_read_is_refused_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.jsonl").write_text(ROWS)
    looked = StreamContent.head

    def head(self: StreamContent) -> bytes:
        if self.label.endswith("b.jsonl"):
            raise OSError(5, "Input/output error")
        return looked(self)

    monkeypatch.setattr(StreamContent, "head", head)
    (tmp_path / "b.jsonl").write_text(ROWS)
    refused: list[SourceError] = []
    assert len(load(tmp_path, refused=refused)) == 1
    assert [str(error) for error in refused] == [f"{tmp_path / 'b.jsonl'}: cannot be read (Input/output error)"]
    (tmp_path / "a.jsonl").unlink()
    with pytest.raises(SourceError, match="Input/output error"):
        load(tmp_path)


@pytest.mark.parametrize("header", ["step,loss,lr{0}", 'step,loss,grad_norm{rank="0"}', "step,train/{loss},lr=a", "step,loss,x [1]"])
def test_a_csv_may_call_its_columns_anything(header: str, tmp_path: Path) -> None:
    path = tmp_path / "metrics.csv"
    path.write_text(f"# made by hand\n{header}\n" + "".join(f"{n},{3 - n / 100},0.001\n" for n in range(60)))
    (run,) = load(path)
    assert run.series["loss/train"].steps.tolist() == list(range(60))


def test_steps_beyond_counting_are_said(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text("".join(f'{{"step": {2**60 + n}, "loss": {3 - n / 100}}}\n' for n in range(60)))
    assert "step-too-large" in codes(path)


def test_a_loss_that_goes_missing_is_said(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    late = "".join(f'{{"step": {n}, "loss": null, "lr": 0.001}}\n' for n in range(60, 100))
    path.write_text(ROWS + late)
    (run,) = load(path)
    (note,) = [note for note in run.notes if note.code == "loss-ends-early"]
    assert note.numbers == {"last": 59, "end": 99}


def test_a_loss_that_is_logged_rarely_is_not_missing(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    rows = (f'{{"step": {n}, "lr": 0.001' + (f', "loss": {3 - n / 1000}' if n % 100 == 0 else "") + "}\n" for n in range(1000))
    path.write_text("".join(rows))
    assert "loss-ends-early" not in codes(path)
