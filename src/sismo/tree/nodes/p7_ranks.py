"""P7: do ranks and machines agree, and does the log say what it seems to say?"""

from __future__ import annotations

from sismo.tree.types import Node

TREE = "preflight"
ROOT = True
_S = "P7 Ranks and the log itself"

NODES = (
    Node(
        id="P7.Q1",
        section=_S,
        asks="Do ranks or repeated steps disagree, or does a matrix change by itself?",
        why="A replica that drifts or a machine that computes wrong looks like a bad run.",
        signals=("replicas-part", "replay-differs", "replay-parts-from-run", "matrix-jumps", "rank-nonfinite-first"),
        yes=("replica-drift", "hardware-fault", "rank-nonfinite", "P7.Q2"),
        no=("P7.Q2",),
        unknown=("P7.Q2",),
        references="docs/sources.md, detector 19 and 23",
    ),
    Node(
        id="P7.Q2",
        section=_S,
        asks="Does the log itself mislead?",
        why="Several runs in a file, two writers, placeholders, rounding and smoothing look like faults and are none.",
        signals=("few-rows", "note-several-runs", "note-two-writers", "note-placeholder-values", "note-metric-nan-only", "note-rounded-values", "note-smoothed-loss", "norm-is-the-loss-scale", "log-ends-in-a-crash"),
        yes=("too-few-points", "several-runs", "two-writers", "placeholder-values", "metric-nan-only", "rounded-values", "smoothed-loss", "scaled-grad-norm", "ends-in-a-crash"),
        references="catalogue: notes on the log",
    ),
)  # fmt: skip
