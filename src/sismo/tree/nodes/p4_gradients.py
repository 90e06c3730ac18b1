"""P4: do gradients reach everything?"""

from __future__ import annotations

from sismo.tree.types import Node

TREE = "preflight"
ROOT = True
_S = "P4 Gradients"

NODES = (
    Node(
        id="P4.Q1",
        section=_S,
        asks="Is any part of the model never changed?",
        why="It gets no gradient, no optimizer holds it, or the update changes nothing.",
        signals=("update-is-zero", "weights-unheld", "group-never-stepped", "weights-frozen", "losses-come-again", "gradient-zero-though-rewards-differ", "gradient-is-nowhere", "gradient-never-arrives", "weights-come-back"),
        proofs=(("update-is-zero", "step-changes-nothing"), ("weights-unheld", "weights-not-held"), ("weights-frozen", "gradient-cut-off")),
        yes=("parameter-not-in-optimizer", "frozen-by-mistake", "update-changes-nothing", "P4.Q2"),
        no=("P4.Q2",),
        unknown=("P4.Q2",),
        references="preflight 4",
    ),
    Node(
        id="P4.Q2",
        section=_S,
        asks="Do gradients pile up?",
        why="Without zero_grad every step carries all the steps before it.",
        signals=("norm-piles-up", "loss-turns-and-climbs", "gradients-carried-over"),
        proofs=(
            ("norm-piles-up", "gradients-pile-up"), ("loss-turns-and-climbs", "gradients-pile-up"), ("gradients-carried-over", "gradients-pile-up"),
        ),
        suspicions=("norm-piles-up", "loss-turns-and-climbs"),
        yes=("missing-zero-grad", "P4.Q3"),
        no=("missing-zero-grad", "P4.Q3"),
        unknown=("missing-zero-grad", "P4.Q3"),
        references="preflight 4",
    ),
    Node(
        id="P4.Q3",
        section=_S,
        asks="Is clipping done on scaled gradients, or accumulation not averaged?",
        why="Norms in the thousands that are a power of two, or a training loss that is a multiple of the validation loss.",
        signals=("norm-is-the-loss-scale", "clip-bounds-scaled-norm", "train-multiple-of-val"),
        proofs=(("norm-is-the-loss-scale", "scaled-gradients-clipped"), ("clip-bounds-scaled-norm", "scaled-gradients-clipped")),
        suspicions=("norm-is-the-loss-scale",),
        yes=("clip-before-unscale", "accumulation-not-averaged", "P4.Q4"),
        no=("P4.Q4",),
        unknown=("clip-before-unscale", "P4.Q4"),
        references="preflight 4",
    ),
    Node(
        id="P4.Q4",
        section=_S,
        asks="Is a mode wrong: evaluation in training mode, or training in evaluation mode?",
        why="Dropout and batch norm then do the opposite of what is wanted.",
        signals=("evaluated-in-training-mode", "training-flag-false", "left-in-evaluation-mode", "trained-in-evaluation-mode"),
        proofs=(
            ("evaluated-in-training-mode", "eval-differs-twice"),
            ("trained-in-evaluation-mode", "training-flag-false"),
            ("left-in-evaluation-mode", "training-flag-false"),
        ),
        yes=("eval-in-train-mode", "train-in-eval-mode", "P4.Q5"),
        no=("P4.Q5",),
        unknown=("P4.Q5",),
        references="catalogue",
    ),
    Node(
        id="P4.Q5",
        section=_S,
        asks="Are the optimizer's steps too large, undone by decay, or rounded away?",
        why="A step of a tenth of the weights forgets more than it learns, a decay that halves them in 100 steps undoes it, and half-precision weights round small steps to nothing.",
        signals=("updates-of-a-tenth", "weights-replaced", "rate-over-weights", "decay-outruns-learning", "updates-rounded-away"),
        yes=("lr-too-high", "weight-decay-too-high", "bf16-update-rounding"),
        confused_with="The first steps of a matrix that starts next to 0: there any step is large.",
        try_next="Print the update over the weights per group, and LR times decay.",
        references="catalogue; measured on the lab's faults",
    ),
)  # fmt: skip
