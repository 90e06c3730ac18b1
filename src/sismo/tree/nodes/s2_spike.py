"""S2: the loss jumps."""

from __future__ import annotations

from sismo.tree.types import Node

TREE = "stability"
ROOT = False
_S = "S2 Loss spike"
_PATTERN = ("lr-too-high", "attention-logit-growth", "output-logit-drift", "healthy-noise", "term-imbalance", "missing-zero-grad")

NODES = (
    Node(
        id="S2.Q1",
        section=_S,
        asks="Does any step stand 3σ above the mean of the 100 steps before it?",
        why="A spike marks the step at which something came in: a batch, an LR, a bad update.",
        signals=("loss-spike", "spikes-accelerate", "loss-leaps-at-start", "loss-leaps-in-short-log", "loss-leaps-at-end", "lr-jumps-up"),
        yes=("S2.Q2", *_PATTERN),
        no=("S3.Q1", *_PATTERN),
        unknown=("S3.Q1", *_PATTERN),
        confused_with="Heavy-tailed noise: 3σ alone fires about once in 1,000 healthy steps, so a robust z over 5 has to confirm it.",
        try_next="Look at the gradient norm, the LR and the batch in the same step.",
        references="stability tree Q2.1; measured on a reference model",
    ),
    Node(
        id="S2.Q2",
        section=_S,
        asks="Is the loss back within 0.5σ of its mean inside 50 steps?",
        why="A spike that heals cost a few steps; one that does not left the optimizer or the weights worse.",
        signals=("spike-recovers",),
        yes=("S2.Q3", "S3.Q1"),
        no=("S2.Q4", "S2.Q3", "S3.Q1"),
        unknown=("S2.Q3", "S2.Q4", "S3.Q1"),
        try_next="Wait the 50 steps before restarting.",
        references="stability tree Q2.2; measured: a tail batch heals in 1 step, duplicates in 19 to 24, a bad matrix in 53 to 56",
    ),
    Node(
        id="S2.Q3",
        section=_S,
        asks="Did the gradient norm, the LR or the batch stand out in the same step?",
        why="Norm far over its mean: a batch from the long tail. LR discontinuous: the schedule. A batch seen before: the loader.",
        signals=("norm-at-spike", "lr-jump-at-spike", "lr-jumps-up", "batch-repeats"),
        yes=("long-tail-batch", "lr-jump", "duplicate-batch"),
        no=("long-tail-batch",),
        unknown=("long-tail-batch", "lr-jump", "duplicate-batch"),
        confused_with="30× is only reached by batches of wholly unseen tokens; 3× with a one-step spike is the working form.",
        try_next="Stratify the batches, mend the schedule or mend the loader; write the post-mortem.",
        references="stability tree Q2.3; measured on a reference model",
    ),
    Node(
        id="S2.Q4",
        section=_S,
        asks="Does the loss stay up after the spike?",
        why="The moments hold the bad step; waiting does not help.",
        signals=("spike-persists",),
        yes=("optimizer-state-corrupted", "labels-corrupted", "by-design", "resume-jumps-data", "resume-lost-optimizer"),
        no=(),
        unknown=("optimizer-state-corrupted",),
        confused_with="A change of data or LR at that step.",
        try_next="Reload the last checkpoint before the spike; clip at 0.5; stratify.",
        references="stability tree Q2.4",
    ),
)  # fmt: skip
