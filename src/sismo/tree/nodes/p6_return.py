"""P6: will the run be able to come back?"""

from __future__ import annotations

from sismo.tree.types import Node

TREE = "preflight"
ROOT = True
_S = "P6 Return"

NODES = (
    Node(
        id="P6.Q1",
        section=_S,
        asks="Is a checkpoint written at least every 200 steps?",
        why="Without one before the spike the cost of a persistent elevation is the whole re-training. It should hold optimizer, scheduler, scaler, RNG and data position.",
        signals=("checkpoints-often-enough",),
        yes=("P6.Q2",),
        no=("P6.Q2",),
        unknown=("P6.Q2",),
        references="preflight 6; stability tree Q2.4",
    ),
    Node(
        id="P6.Q2",
        section=_S,
        asks="Was the run resumed?",
        why="A seam can lose the optimizer, the schedule or the place in the data.",
        signals=("resumed", "summary-loss-too-low"),
        yes=("P6.Q3", "resumed", "train-loss-artefact-after-resume"),
        unknown=("P6.Q3",),
        references="catalogue",
    ),
    Node(
        id="P6.Q3",
        section=_S,
        asks="Does anything break at the seam?",
        why="The LR starting over is the scheduler; a loss that jumps at once is the data; one that climbs after is the optimizer; one too low is repeated data.",
        signals=("lr-starts-over-at-resume", "loss-jumps-at-resume", "loss-climbs-after-resume", "loss-too-low-after-resume", "batches-again-after-resume", "moments-start-over-at-resume", "loss-nonfinite-after-resume"),
        yes=("scheduler-not-restored", "resume-jumps-data", "resume-lost-optimizer", "resume-repeats-data"),
        references="catalogue",
    ),
)  # fmt: skip
