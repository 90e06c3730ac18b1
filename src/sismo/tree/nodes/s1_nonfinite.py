"""S1: the loss is not a number."""

from __future__ import annotations

from sismo.tree.types import Node

TREE = "stability"
ROOT = True
_S = "S1 Non-finite loss"
_CAUSES = (
    "log-of-zero", "zero-over-zero", "sqrt-at-zero", "all-keys-masked", "nonfinite-input", "nonfinite-weight", "exploding-gradients",
    "embedding-gradient-infinite", "label-out-of-range", "loss-term-unbounded", "inf-into-optimizer", "batch-norm-batch-1", "batch-too-small",
    "nonfinite-operation", "rank-nonfinite", "hardware-fault", "lr-too-high", "resume-lost-optimizer", "fp16-overflow", "term-imbalance",
    "lost-before-log",
)  # fmt: skip

NODES = (
    Node(
        id="S1.Q1",
        section=_S,
        asks="Is the loss NaN or infinite at any logged step?",
        why="It is the quickest check, and nothing else counts while it holds: an update has destroyed something.",
        signals=("loss-nonfinite",),
        yes=("S1.Q2", "S1.Q7"),
        no=("S1.Q5", "S2.Q1"),
        unknown=("S1.Q5", "S2.Q1"),
        confused_with="A metric that is NaN (an empty class): only the loss counts.",
        try_next="Find the first non-finite row and what stood in the rows before it.",
        references="stability tree Q1.1",
    ),
    Node(
        id="S1.Q2",
        section=_S,
        asks="Was the run in fp16?",
        why="In fp16 an activation past 65504 is the usual cause; in fp32 it is log(0) or 0/0; bf16 is as fp32, though a gradient may pass 1e38 (8 significand bits, about 1 % noise an operation).",
        signals=("dtype-fp16",),
        yes=("S3.Q1", "S1.Q3"),
        no=("S1.Q3", *_CAUSES),
        unknown=("S1.Q3", "S3.Q1", *_CAUSES),
        confused_with="bf16, which is not immune: an infinite gradient reaches Adam without a scaler to stop it.",
        try_next="Re-run one step in fp32 on the same data.",
        references="stability tree Q1.2",
    ),
    Node(
        id="S1.Q3",
        section=_S,
        asks="Is the layer or operation known where it started?",
        why="The first output that is non-finite with finite inputs is the culprit; everything after it is a symptom. Check: embedding output, each block's attention and MLP output, final norm, logits, softmax, log-softmax, the loss reduction.",
        signals=("origin-found",),
        yes=("S1.Q4", *_CAUSES),
        no=("S1.Q4", *_CAUSES),
        unknown=("S1.Q4", *_CAUSES),
        confused_with="The last layer, where it is noticed.",
        try_next="Reload the last finite checkpoint and run one batch with finite checks after every layer.",
        references="stability tree Q1.3; docs/sources.md, detector 5",
    ),
    Node(
        id="S1.Q4",
        section=_S,
        asks="Is it still lost after the fix?",
        why="If the usual fixes (log_softmax or an epsilon, clip by value at ±100 beside clip by norm, loss scaling or bf16) do not hold, the fault is structural.",
        signals=("fix-failed",),
        yes=("P5.Q1",),
        references="stability tree Q1.4",
        try_next="Walk preflight 5 (architecture).",
    ),
    Node(
        id="S1.Q5",
        section=_S,
        asks="Does the log hide a NaN, tell of one in words, or stand at exactly 0?",
        why="Some loggers filter NaN away: the norm is NaN while the loss looks fine, repeats itself, or reads 0.0.",
        signals=("zero-loss-norm-nan", "norm-nan-loss-finite", "loss-repeated-at-nan-norm", "loss-exactly-zero", "loss-zero-later", "note-loss-ends-early", "warned-of-nonfinite-loss", "crashed-of-nonfinite", "warned-of-ctc"),
        yes=("nan-hidden-by-logger", "loss-stops-being-logged", "nonfinite-loss-in-words", "ctc-target-too-long", "log-of-zero", "zero-over-zero", "sqrt-at-zero", "nonfinite-operation", "communication-corruption", "all-labels-masked", "tokenization-mismatch", "degenerate-targets", "exploding-gradients", "batch-too-small", "S1.Q6"),
        no=("S1.Q6",),
        unknown=("S1.Q6", "all-labels-masked", "nan-hidden-by-logger", "tokenization-mismatch", "label-out-of-range"),
        confused_with="An on-policy RL loss, which is 0 by definition while its gradient is not.",
        try_next="Log the raw loss and the number of labels per batch.",
        references="reports: trl#6702, trl#6668; docs/sources.md, detector 21",
    ),
    Node(
        id="S1.Q6",
        section=_S,
        asks="Is only the validation loss not finite?",
        why="The training is fine then; evaluation rows without labels or a half-precision evaluation are not.",
        signals=("val-nonfinite-throughout", "val-nonfinite-briefly"),
        yes=("eval-nonfinite", "all-labels-masked", "lr-too-high"),
        unknown=(),
        try_next="Evaluate one batch in fp32 and count its labels.",
        references="trl#1053; public Ultralytics logs",
    ),
    Node(
        id="S1.Q7",
        section=_S,
        asks="Did the run go on with finite losses?",
        why="Then the weights survived, and what came before or after may have a cause of its own.",
        signals=("loss-nonfinite-isolated",),
        yes=("S1.Q5", "S2.Q1"),
        no=("S1.Q5",),
        references="catalogue",
    ),
)  # fmt: skip
