"""S4: the loss rises slowly."""

from __future__ import annotations

from sismo.tree.types import Node

TREE = "stability"
ROOT = False
_S = "S4 Silent divergence"

NODES = (
    Node(
        id="S4.Q1",
        section=_S,
        asks="Has the loss risen over the last 200 steps, or lost what had been learnt?",
        why="No spike and no NaN, and yet the run gets worse.",
        signals=("loss-rising", "gain-lost", "loss-turns-and-climbs", "scores-fade"),
        yes=("S4.Q2", "by-design", "weight-decay-too-high", "S5.Q1"),
        no=("S4.Q5",),
        unknown=("S4.Q5",),
        confused_with="Rising step by step without a break never happens (the longest streak of any run was 9): a significant trend is the working form.",
        try_next="Look at the LR, the weight norms and the gradient norm over the same window.",
        references="stability tree Q4.1; measured on a reference model",
    ),
    Node(
        id="S4.Q2",
        section=_S,
        asks="Did the LR rise in the same window?",
        why="A cosine the wrong way round, or a warmup that never ends.",
        signals=("lr-rises-with-loss",),
        yes=("lr-inverted", "warmup-never-ends", "lr-too-high", "S4.Q3"),
        no=("S4.Q3",),
        unknown=("S4.Q3", "lr-inverted", "warmup-never-ends"),
        confused_with="A warm restart, which rises by design.",
        try_next="Plot the schedule alone over the whole run.",
        references="stability tree Q4.2",
    ),
    Node(
        id="S4.Q3",
        section=_S,
        asks="Did the weight norm of any group change more than 2× in 200 steps?",
        why="Up: weight decay too low. Down: too high.",
        signals=("weight-norm-doubles", "weight-norm-halves"),
        yes=("weight-decay-too-low", "weight-decay-too-high", "S4.Q4"),
        no=("S4.Q4",),
        unknown=("S4.Q4",),
        confused_with="The first 300 steps, in which healthy norms grow up to 6.6×.",
        try_next="Change the decay 2× and re-run from the checkpoint.",
        references="stability tree Q4.3; measured on a reference model",
    ),
    Node(
        id="S4.Q4",
        section=_S,
        asks="Is the moving mean of the gradient norm rising?",
        why="Yes: the run moves away from a minimum (bad data, drift of the initialisation, LR too high). No: a plateau, which is not divergence.",
        signals=("norm-rising",),
        yes=("silent-divergence", "missing-zero-grad", "labels-corrupted"),
        no=("silent-divergence", "plateau", "labels-corrupted"),
        unknown=("silent-divergence", "plateau", "missing-zero-grad", "labels-corrupted"),
        confused_with="An LR that rises lowers the norm while the loss climbs.",
        try_next="Halve the LR; on a plateau look at the validation loss, and stop if it stands too.",
        references="stability tree Q4.4; measured on a reference model",
    ),
    Node(
        id="S4.Q5",
        section=_S,
        asks="Does the loss end far above its start?",
        why="It rose before the last 200 steps and stands there: the run is worse off than untrained.",
        signals=("loss-ends-far-above-start",),
        yes=("lr-too-high", "silent-divergence", "S5.Q1"),
        no=("S5.Q1",),
        unknown=("S5.Q1",),
        confused_with="An objective whose loss may rise by design.",
        try_next="Go back to the checkpoint at the minimum of the loss, and halve the LR.",
        references="runs that explode without a NaN and are then logged for long",
    ),
)  # fmt: skip
