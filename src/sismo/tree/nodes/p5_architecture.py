"""P5: is the architecture sound?"""

from __future__ import annotations

from sismo.tree.types import Node

TREE = "preflight"
ROOT = True
_S = "P5 Architecture"

NODES = (
    Node(
        id="P5.Q1",
        section=_S,
        asks="Are activations at step 0 far larger than a normalised layer's, or than at step 100?",
        why="A healthy initialisation keeps one order of size, over depth and over the first steps; the first forward pass already tells.",
        signals=("activations-over-unit-scale", "activations-large-at-start", "matrices-start-large"),
        proofs=(("activations-over-unit-scale", "initialisation-large"), ("activations-large-at-start", "initialisation-large")),
        yes=("init-too-large", "P5.Q2"),
        no=("P5.Q2",),
        unknown=("init-too-large", "P5.Q2"),
        confused_with="The final norm hides it: look at the embedding and the logits.",
        references="preflight 5; three-failures, failure 1",
    ),
    Node(
        id="P5.Q2",
        section=_S,
        asks="Does the gradient vanish over depth?",
        why="The first layers do not learn then (weight scale against fan-in, norm placement, residual stream).",
        signals=("gradient-vanishes-over-depth", "matrices-start-tiny"),
        proofs=(("gradient-vanishes-over-depth", "gradient-dies-over-depth"), ("matrices-start-tiny", "initialisation-small")),
        yes=("vanishing-gradients", "init-too-small", "P5.Q3"),
        no=("P5.Q3",),
        unknown=("P5.Q3",),
        references="preflight 5; docs/sources.md, detector 14",
    ),
    Node(
        id="P5.Q3",
        section=_S,
        asks="Does a later token move an earlier logit?",
        why="The model sees the future: the loss is worthless and generation fails.",
        signals=("future-moves-the-past", "answer-stands-in-sight"),
        yes=("causal-mask-broken", "P5.Q4"),
        no=("P5.Q4",),
        unknown=("P5.Q4",),
        try_next="Change a suffix, compare the logits of the prefix.",
        references="preflight 5; docs/sources.md, detector 13",
    ),
    Node(
        id="P5.Q4",
        section=_S,
        asks="Are units or heads dead, or attention logits too large?",
        why="About 5 % is healthy; many dead heads go with a broken mask or a bad initialisation.",
        signals=("units-dead", "loss-freezes", "gradient-stops-on-the-way", "heads-dead", "attention-logits-large"),
        yes=("dead-units", "dead-heads", "attention-logit-growth", "P5.Q5"),
        no=("P5.Q5",),
        unknown=("P5.Q5",),
        references="three-failures, panel 6",
    ),
    Node(
        id="P5.Q5",
        section=_S,
        asks="Does the loss get squashed scores, or is it a sum?",
        why="A softmax before cross_entropy takes its gradient away; a sum grows with the batch, and the learning rate has to shrink with it.",
        signals=("scores-squashed-twice", "loss-is-a-sum"),
        yes=("scores-squashed-twice", "accumulation-not-averaged"),
        confused_with="A model that returns probabilities for a loss that takes them.",
        try_next="Follow loss.grad_fn back to the model.",
        references="catalogue; UMLAUT, DeepLocalize",
    ),
)  # fmt: skip
