"""P1: did the run start where an untrained model starts?"""

from __future__ import annotations

from sismo.tree.types import Node

TREE = "preflight"
ROOT = True
_S = "P1 Start"

NODES = (
    Node(
        id="P1.Q1",
        section=_S,
        asks="Is the first loss the uniform guess, ln V ± 0.5?",
        why="An untrained model guesses; anything else was built, loaded or reduced wrongly.",
        signals=("first-loss-is-a-guess",),
        yes=("P1.Q4",),
        no=("P1.Q2", "P1.Q3", "P1.Q4"),
        unknown=("P1.Q2", "P1.Q3", "P1.Q4"),
        try_next="Put vocab_size into manifest.json.",
        references="preflight 1",
    ),
    Node(
        id="P1.Q2",
        section=_S,
        asks="Is the first loss over ln V + 1.75 (8.0 at V = 512)?",
        why="The initialisation is broken, or the head is biased.",
        signals=("first-loss-over-guess", "first-loss-over-any-guess"),
        yes=("init-too-large", "head-biased"),
        unknown=("init-too-large",),
        confused_with="A sum where a mean was meant.",
        references="preflight 1; three-failures, failure 1",
    ),
    Node(
        id="P1.Q3",
        section=_S,
        asks="Is the first loss under ln V − 2.25 (4.0 at V = 512)?",
        why="The model is not untrained: a loaded checkpoint, a leak, a wrong reduction.",
        signals=("first-loss-under-guess",),
        yes=("not-untrained",),
        references="preflight 1",
    ),
    Node(
        id="P1.Q4",
        section=_S,
        asks="Is the first gradient norm outside its usual range (over 100, or under 0.001)?",
        why="Between 0.1 and 10 is usual. Over 100: initialisation, or a sum. Under 0.001: every target the same, or the loss mask is all zero.",
        signals=("first-norm-high", "first-norm-low", "rewards-all-equal"),
        yes=("init-too-large", "degenerate-targets", "all-labels-masked"),
        unknown=(),
        confused_with="A norm of that size all along, which is only another scale.",
        references="preflight 1",
    ),
)  # fmt: skip
