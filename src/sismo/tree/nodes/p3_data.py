"""P3: is the data what it is taken for?"""

from __future__ import annotations

from sismo.tree.types import Node

TREE = "preflight"
ROOT = True
_S = "P3 Data"

NODES = (
    Node(
        id="P3.Q1",
        section=_S,
        asks="Does any batch have no token that carries loss, labels outside their range, or a single sample?",
        why="The loss is then 0, NaN or undefined, and nothing is learnt from it.",
        signals=("batch-without-labels", "warned-of-tokenization", "warned-of-labels", "warned-of-missing-labels", "warned-of-nonfinite-overlap", "warned-of-batch-of-one"),
        yes=("all-labels-masked", "tokenization-mismatch", "label-out-of-range", "batch-norm-batch-1", "P3.Q2"),
        no=("P3.Q2",),
        unknown=("P3.Q2", "tokenization-mismatch", "label-out-of-range"),
        proofs=(("batch-without-labels", "labels-carry-no-loss"),),
        references="preflight 3",
    ),
    Node(
        id="P3.Q2",
        section=_S,
        asks="Does any batch hold NaN or Inf?",
        why="No learning rate helps then.",
        signals=("input-nonfinite", "targets-nonfinite"),
        yes=("nonfinite-input", "P3.Q3"),
        no=("P3.Q3",),
        unknown=("P3.Q3",),
        references="preflight 3",
    ),
    Node(
        id="P3.Q3",
        section=_S,
        asks="Do batches repeat, or do the splits overlap?",
        why="A repeated batch looks like learning; an overlap makes the validation loss worthless.",
        signals=("batch-repeats", "learns-by-heart-at-once", "noise-stops", "few-batches-by-heart", "val-below-train", "loss-too-low-after-resume", "batches-again-after-resume"),
        proofs=(("batch-repeats", "examples-seen-before"), ("val-below-train", "splits-overlap")),
        suspicions=("val-below-train",),
        yes=("duplicate-batch", "train-val-overlap", "resume-repeats-data", "P3.Q4"),
        no=("P3.Q4",),
        unknown=("P3.Q4", "resume-repeats-data"),
        references="preflight 3",
    ),
    Node(
        id="P3.Q4",
        section=_S,
        asks="Is the validation loss under the entropy of the corpus?",
        why="No honest model gets there; training loss alone may, by memorising.",
        signals=("loss-under-entropy-floor",),
        yes=("entropy-floor-crossed", "causal-mask-broken", "P3.Q5"),
        no=("P3.Q5",),
        unknown=("P3.Q5",),
        references="preflight 3; three-failures, failure 3",
    ),
    Node(
        id="P3.Q5",
        section=_S,
        asks="Are the targets all the same, or the inputs themselves?",
        why="Then there is nothing to learn, however well the loss falls: a constant answers it, or a copy.",
        signals=("targets-all-equal", "targets-are-the-inputs"),
        proofs=(("targets-are-the-inputs", "labels-are-the-inputs"),),
        yes=("degenerate-targets", "target-in-input"),
        confused_with="A contrast whose partner always stands in the same place; a model that is to copy its input.",
        try_next="Look at one batch of inputs and targets, as the loss gets them.",
        references="preflight 3",
    ),
)  # fmt: skip
