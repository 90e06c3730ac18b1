"""Two ranks under DDP and FSDP2, over gloo."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from sismo.records.reader import read_run

pytestmark = pytest.mark.slow

PROGRAM = """
import math, sys
sys.path.insert(0, sys.argv[2])
import torch, torch.distributed as dist
from torch import nn
from sismo.recorder import Recorder

dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
if sys.argv[3] == "ddp":
    model = nn.parallel.DistributedDataParallel(model)
else:
    from torch.distributed.fsdp import fully_shard
    from torch.distributed.device_mesh import init_device_mesh
    fully_shard(model, mesh=init_device_mesh("cpu", (2,)))
optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
generator = torch.Generator().manual_seed(rank)
with Recorder(model, optimizer, sys.argv[1], checksum_every=5) as recorder:
    for step in range(12):
        loss = model(torch.randn(6, 8, generator=generator)).square().mean()
        loss.backward()
        norms = [p.grad.full_tensor() if hasattr(p.grad, "full_tensor") else p.grad for p in model.parameters()]
        total = math.sqrt(sum(float(g.double().square().sum()) for g in norms))
        if rank == 0:
            print(total, flush=True)
        optimizer.step()
        optimizer.zero_grad()
        recorder.step(loss * math.nan if rank == 1 and step >= 8 else loss)
    assert recorder.recording
dist.barrier()
dist.destroy_process_group()
"""


@pytest.mark.parametrize("kind", ["ddp", "fsdp"])
def test_two_ranks(tmp_path: Path, kind: str) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", str(program)]
    done = subprocess.run(
        [*command, str(tmp_path / "run"), str(Path(__file__).parents[1]), kind],
        capture_output=True, text=True, timeout=240, check=False, env={**os.environ, "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    run = read_run(tmp_path / "run")
    assert run.series["loss/train"].steps.tolist() == list(range(12))
    other = run.series["loss_rank/1"].values
    assert np.isfinite(run.series["loss_rank/0"].values).all()
    assert np.isfinite(other[:8]).all()
    assert np.isnan(other[8:]).all()
    totals = [float(line) for line in done.stdout.split()]
    norms = run.series["grad_norm/pre"]
    np.testing.assert_allclose(norms.values, [totals[step] for step in norms.steps.tolist()], rtol=1e-4)
    if kind == "ddp":
        assert {event.data["replicas"] for event in run.events_of("probe")} == {"agree"}
