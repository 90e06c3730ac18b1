"""P2: does the learning-rate schedule apply?"""

from __future__ import annotations

from sismo.tree.types import Node

TREE = "preflight"
ROOT = True
_S = "P2 Schedule"

NODES = (
    Node(
        id="P2.Q1",
        section=_S,
        asks="Is the LR 0, or too small to move anything?",
        why="Nothing can move then, and the loss only shows noise.",
        signals=("lr-all-zero", "lr-tiny"),
        yes=("lr-zero", "lr-too-low", "bf16-update-rounding", "P2.Q2"),
        no=("P2.Q2",),
        unknown=("P2.Q2",),
        references="preflight 2",
    ),
    Node(
        id="P2.Q2",
        section=_S,
        asks="Does the LR start at over half of its maximum?",
        why="Then there is no warmup: with fresh moments the first updates are as large as they can be.",
        signals=("lr-starts-high", "lr-first-step-full"),
        yes=("missing-warmup", "lr-jump", "P2.Q3"),
        no=("P2.Q3",),
        unknown=("P2.Q3",),
        confused_with="Fine-tuning at a low LR, which often does without.",
        try_next="Look at the gradient norm of steps 1 to 20.",
        references="preflight 2; three-failures, failure 2",
    ),
    Node(
        id="P2.Q3",
        section=_S,
        asks="Is the whole log inside the warmup?",
        why="The LR never got to a useful value, or warmup is longer than the run; or it is swept over decades to find one.",
        signals=("lr-only-rises", "lr-is-swept", "warmup-longer-than-run", "warmup-overrun"),
        yes=("lr-too-low", "warmup-never-ends", "lr-range-test", "P2.Q4"),
        no=("P2.Q4",),
        unknown=("P2.Q4",),
        references="preflight 2",
    ),
    Node(
        id="P2.Q4",
        section=_S,
        asks="Does the LR jump, or start over at a resume?",
        why="A jump is a second scheduler, a rebuilt optimizer, or a state that was not restored.",
        signals=("lr-jumps-up", "lr-first-step-full", "lr-starts-over-at-resume", "lr-repeats-its-start"),
        yes=("lr-jump", "scheduler-not-restored", "P2.Q5"),
        no=("P2.Q5",),
        unknown=("P2.Q5",),
        confused_with="Warm restarts at even periods.",
        references="preflight 2; stability tree Q2.3",
    ),
    Node(
        id="P2.Q5",
        section=_S,
        asks="Is the decay over too early, upside down, or missing?",
        why="Stepped several times per update it ends at 1/N of the run; inverted it rises; never stepped it stays.",
        signals=("lr-floor-early", "lr-floor-held", "schedule-ends-early", "lr-climbs-again", "lr-warms-up-in-stairs", "lr-rises-late", "lr-upside-down", "lr-constant-against-config", "lr-staircase", "lr-stairs-against-config"),
        yes=("scheduler-stepped-too-often", "lr-inverted", "scheduler-never-stepped", "scheduler-stepped-per-epoch"),
        no=(),
        unknown=("scheduler-stepped-too-often", "lr-inverted", "scheduler-stepped-per-epoch"),
        references="preflight 2",
    ),
)  # fmt: skip
