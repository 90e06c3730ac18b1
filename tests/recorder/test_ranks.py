"""Ranks over gloo under DDP, FSDP2 and hybrid sharding, a recorder on one of them alone, and a rank that is killed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import sismo
from sismo.records.reader import read_run

pytestmark = pytest.mark.slow

PROGRAM = """
import json, math, sys
sys.path.insert(0, sys.argv[2])
import torch, torch.distributed as dist
from torch import nn
from sismo.recorder import Recorder

def whole(tensor):
    return (tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor).detach().double().clone()

def norm(tensors):
    return math.sqrt(sum(float(tensor.square().sum()) for tensor in tensors))

dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 17), nn.ReLU(), nn.Linear(17, 5))
if sys.argv[3] == "ddp":
    model = nn.parallel.DistributedDataParallel(model)
else:
    from torch.distributed.fsdp import fully_shard
    from torch.distributed.device_mesh import init_device_mesh
    shape, names = ((2,), ("shard",)) if sys.argv[3] == "fsdp" else ((2, 1), ("replicate", "shard"))
    fully_shard(model, mesh=init_device_mesh("cpu", shape, mesh_dim_names=names))
optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
generator = torch.Generator().manual_seed(rank)
with Recorder(model, optimizer, sys.argv[1], checksum_every=5) as recorder:
    for step in range(12):
        loss = model(torch.randn(6, 8, generator=generator)).square().mean()
        loss.backward()
        gradients = norm([whole(one.grad) for one in model.parameters()])
        before = [whole(one) for one in model.parameters()]
        optimizer.step()
        update = norm([whole(one) - old for one, old in zip(model.parameters(), before)])
        if rank == 0:
            ratio = update / norm(before)
            print(json.dumps({"grad_norm/pre": gradients, "weight_norm/0": norm(before), "update_ratio/0": ratio}), flush=True)
        optimizer.zero_grad()
        if rank == 1 and step == 9 and sys.argv[3] == "ddp":
            with torch.no_grad():
                next(model.parameters()).view(-1)[0] += 1e-4
        recorder.step(loss * math.nan if rank == 1 and step >= 8 else loss)
    assert recorder.recording
dist.barrier()
dist.destroy_process_group()
"""

ALONE = """
import sys
sys.path.insert(0, sys.argv[2])
import torch, torch.distributed as dist
from recorder.loops import build
from sismo.recorder import Recorder

dist.init_process_group("gloo")
rank = dist.get_rank()
if rank == 0:
    model, optimizer = build()
    with Recorder(model, optimizer, sys.argv[1]) as recorder:
        for step in range(60):
            recorder.step(float(step))
            dist.all_reduce(torch.ones(1))
        assert recorder.recording
else:
    for step in range(60):
        dist.all_reduce(torch.ones(1))
dist.destroy_process_group()
"""


CUT = """
import sys, warnings
warnings.simplefilter("ignore")
import torch, torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import FullyShardedDataParallel
from sismo.recorder import Recorder

dist.init_process_group("gloo")
torch.manual_seed(0)
inner = nn.Sequential(nn.Linear(8, 5), nn.ReLU(), nn.Linear(5, 2))
model = FullyShardedDataParallel(inner, use_orig_params=sys.argv[3] == "original", device_id=torch.device("cpu"))
optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
with Recorder(model, optimizer, sys.argv[1], budget=None) as recorder:
    for step in range(12):
        loss = model(torch.randn(6, 8)).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        recorder.step(loss)
    assert recorder.recording
dist.barrier()
dist.destroy_process_group()
"""

KILLED = """
import os, signal, sys
sys.path.insert(0, sys.argv[2])
import torch, torch.distributed as dist
from torch import nn
from sismo.recorder import Recorder

dist.init_process_group("gloo")
model = nn.parallel.DistributedDataParallel(nn.Linear(8, 5))
optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
with Recorder(model, optimizer, sys.argv[1]) as recorder:
    for step in range(40):
        if dist.get_rank() == int(sys.argv[3]) and step == 25:
            os.kill(os.getpid(), signal.SIGKILL)
        loss = model(torch.randn(6, 8)).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        recorder.step(loss)
"""


def run_two(tmp_path: Path, program: str, *arguments: str, code: int = 0) -> str:
    """What two ranks print."""
    file = tmp_path / "program.py"
    file.write_text(program)
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", str(file)]
    done = subprocess.run(
        [*command, str(tmp_path / "run"), str(Path(__file__).parents[1]), *arguments],
        capture_output=True, text=True, timeout=240, check=False, env={**os.environ, "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert done.returncode == code, done.stderr[-3000:]
    return done.stdout


@pytest.mark.parametrize("kind", ["ddp", "fsdp", "hybrid"])
def test_two_ranks(tmp_path: Path, kind: str) -> None:
    expected = [json.loads(line) for line in run_two(tmp_path, PROGRAM, kind).splitlines()]
    run = read_run(tmp_path / "run")
    assert run.series["loss/train"].steps.tolist() == list(range(12))
    other = run.series["loss_rank/1"].values
    assert np.isfinite(run.series["loss_rank/0"].values).all()
    assert np.isfinite(other[:8]).all()
    assert np.isnan(other[8:]).all()
    for channel in ("grad_norm/pre", "weight_norm/0", "update_ratio/0"):
        series = run.series[channel]
        np.testing.assert_allclose(series.values, [expected[step][channel] for step in series.steps.tolist()], rtol=1e-4)
    report = sismo.diagnose(run)
    said = {str(item.text) for cause in report.causes for item in cause.evidence if item.signal == "rank-nonfinite-first"}
    assert said == {"rank 1 is non-finite first, at step 8 [panel 1, loss]"}
    if kind == "ddp":
        assert [event.data["replicas"] for event in run.events_of("probe")] == ["agree", "agree", "differ"]


def test_a_recorder_on_one_rank_only_neither_waits_nor_disturbs(tmp_path: Path) -> None:
    run_two(tmp_path, ALONE)
    run = read_run(tmp_path / "run")
    assert run.series["loss/train"].values.tolist() == list(range(60))
    assert run.header.status == "completed"


@pytest.mark.parametrize("rank", [0, 1])
def test_a_rank_that_is_killed_leaves_a_readable_run_of_all_that_came_before(tmp_path: Path, rank: int) -> None:
    run_two(tmp_path, KILLED, str(rank), code=1)
    run = read_run(tmp_path / "run")
    kept = run.series["loss/train"].steps.tolist()
    assert kept == list(range(len(kept)))
    assert 25 - len(kept) <= (1 if rank else 2), "when rank 0 dies, what rank 1 has not told yet is lost as well"
    assert run.header.status == "crashed"
    assert np.isfinite(run.series["loss_rank/1"].values).all()
    sismo.diagnose(run)


@pytest.mark.parametrize("weights", ["original", "flat"])
def test_weights_that_fsdp1_cuts_up_are_left_alone(tmp_path: Path, weights: str) -> None:
    """Nothing of them is measured, as a rank has pieces that do not say so; and nothing is kept of them, as their sizes change."""
    run_two(tmp_path, CUT, weights)
    run = read_run(tmp_path / "run")
    assert len(run.series["loss/train"]) == 12
    assert not [name for name in run.series if name.startswith(("grad_", "weight_", "update_", "spectral"))]
    assert not [event for event in run.events_of("probe") if event.data.get("replicas") == "differ"]
    about = run.header.config["sismo"]
    assert isinstance(about, dict)
    assert about["off"] == ["gradients", "weights", "spectral"]
    assert about["unheld"] == []
