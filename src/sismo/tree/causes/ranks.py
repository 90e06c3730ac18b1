"""Causes in ranks and machines."""

from __future__ import annotations

from sismo.tree.types import Cause, Severity, Weight

_B = Severity.BROKEN

CAUSES = (
    Cause(
        id="rank-nonfinite",
        family="ranks",
        severity=_B,
        title="One rank is non-finite first",
        statement="One rank lost its loss before the others: its data, or its machine.",
        first_action="Take that rank's batch and run it on another machine: if it fails there, it is the data.",
        confirm="The batch fails on another rank as well.",
        counter="All ranks at the same step.",
        source="catalogue; docs/sources.md, detector 22",
        needs=("rank-nonfinite-first",),
        base=0.8,
        explains=("log-of-zero", "sqrt-at-zero", "zero-over-zero"),
    ),
    Cause(
        id="replica-drift",
        family="ranks",
        severity=_B,
        title="The replicas part",
        statement="The weights of the ranks differ: a gradient was not reduced, or a random number was not shared.",
        first_action="Compare checksums per parameter to find which part differs, and look at what is outside the reduction (find_unused, no_sync, buffers).",
        confirm="Per-parameter checksums differ from a step on.",
        counter="Equal checksums.",
        source="docs/sources.md, detector 19; TrainCheck on BLOOM",
        needs=("replicas-part",),
        base=0.85,
    ),
    Cause(
        id="communication-corruption",
        family="ranks",
        severity=_B,
        title="Overlapped reduction corrupts gradients",
        statement="The loss goes to 0.0 with a NaN norm from the first steps on: with ZeRO-2 and overlap_comm buffers are reused too early.",
        first_action="Set overlap_comm: false (or a larger bucket) and repeat the first steps.",
        confirm="Clean with overlap_comm: false.",
        counter="One GPU shows the same.",
        source="catalogue; DeepSpeed#5347",
        needs=("zero-loss-norm-nan",),
        base=0.4,
        supports=(Weight("warned-of-overlap", 0.4), Weight("lost-in-first-steps", 0.15)),
        against=(Weight("loss-runup", 0.2), Weight("loss-repeated-at-nan-norm", 0.15)),
        twins=("nan-hidden-by-logger",),
        decider="Repeat a few steps with overlap_comm: false, and once on a single GPU.",
    ),
    Cause(
        id="hardware-fault",
        family="ranks",
        severity=_B,
        title="A machine computes wrong",
        statement="The same step with the same seed gives another result.",
        first_action="Take the machine out and run its memory and compute tests.",
        confirm="A third run on another machine agrees with one of the two.",
        counter="Nondeterministic kernels, or code that counts its calls or draws at random by itself: repeat with deterministic algorithms on, and look for it.",
        source="docs/sources.md, detector 23 (Megatron's rerun)",
        needs_any=("replay-differs", "replay-parts-from-run", "matrix-jumps"),
        base=0.45,
        supports=(Weight("replay-differs", 0.25), Weight("replay-parts-from-run", 0.15), Weight("matrix-jumps", 0.25)),
        twins=("nonfinite-weight",),
        decider="Look for code that writes into weights outside of the step; without any, repeat the steps since the checkpoint on another machine.",
        explains=("long-tail-batch", "lr-too-high", "optimizer-state-corrupted", "labels-corrupted", "exploding-gradients"),
    ),
)  # fmt: skip
