"""S5: the level that the loss settles at, and what the validation loss makes of it."""

from __future__ import annotations

from sismo.tree.types import Node

TREE = "stability"
ROOT = False
_S = "S5 Level and generalisation"

NODES = (
    Node(
        id="S5.Q1",
        section=_S,
        asks="Does the validation loss rise after a minimum while training falls?",
        why="That is overfitting, not divergence: the best checkpoint lies behind.",
        signals=("val-rises-after-minimum",),
        yes=("overfitting", "S5.Q2"),
        no=("S5.Q2",),
        unknown=("S5.Q2",),
        confused_with="Divergence, where the training loss rises too.",
        try_next="Take the checkpoint at the minimum.",
        references="catalogue; docs/sources.md, detector 24",
    ),
    Node(
        id="S5.Q2",
        section=_S,
        asks="Is the loss too good to be true?",
        why="Training and validation both near 0, or a language model far under what text allows: the answer is visible, or the examples are in both splits.",
        signals=("train-and-val-vanish", "language-loss-near-zero", "language-train-and-val-near-zero", "loss-collapses", "train-near-zero", "loss-under-entropy-floor"),
        yes=("causal-mask-broken", "target-in-input", "memorising", "entropy-floor-crossed", "train-val-overlap", "S5.Q3"),
        no=("S5.Q3", "train-val-overlap"),
        unknown=("S5.Q3", "train-val-overlap", "memorising"),
        confused_with="Memorising: training far under validation.",
        try_next="Run the causality probe: it never fails.",
        references="three-failures, failure 3; measured on a reference model",
    ),
    Node(
        id="S5.Q3",
        section=_S,
        asks="Is the training loss a multiple of the validation loss?",
        why="Dropout explains a little; a factor of 2.5 and more is a sum where a mean was meant.",
        signals=("train-multiple-of-val",),
        yes=("accumulation-not-averaged", "S5.Q4"),
        no=("S5.Q4",),
        unknown=("S5.Q4",),
        try_next="Compare one batch with accumulation 1.",
        references="catalogue",
    ),
    Node(
        id="S5.Q4",
        section=_S,
        asks="Does the loss stand where it started, or where it settled?",
        why="At the uniform guess nothing is learnt; later it is a plateau. Neither is divergence.",
        signals=("loss-at-chance", "loss-never-moves", "held-out-score-never-moves", "loss-flat", "loss-stands-late"),
        yes=("no-learning", "plateau", "clip-before-unscale", "S5.Q5"),
        no=("underfit-stopped-early", "S5.Q5"),
        unknown=("S5.Q5", "clip-before-unscale"),
        confused_with="A trend under noise, which needs 100 rows to show.",
        try_next="Overfit one batch; look at the LR.",
        references="catalogue; stability tree Q4.4",
    ),
    Node(
        id="S5.Q5",
        section=_S,
        asks="Is one term of the loss out of all proportion to the others?",
        why="It alone decides the gradient then.",
        signals=("terms-out-of-balance", "term-bursts"),
        yes=("term-imbalance", "by-design"),
        no=("by-design",),
        unknown=("by-design",),
        try_next="Weigh the terms to one size.",
        references="catalogue",
    ),
)  # fmt: skip
