"""Both trees: every question of the documents is asked, every edge leads somewhere, and unknown is not no."""

from __future__ import annotations

import pytest

from sismo.signals import registry
from sismo.signals.presets import preset
from sismo.signals.types import Observation, State
from sismo.tree import catalogue
from sismo.tree.types import Answer, Node
from sismo.tree.walk import answer, walk

NODES, CAUSES, TREES = catalogue.nodes(), catalogue.causes(), catalogue.trees()
OF_THE_DOCUMENT = {
    "S1.Q1": "loss-nonfinite", "S1.Q2": "dtype-fp16", "S1.Q3": "origin-found", "S1.Q4": "fix-failed",
    "S2.Q1": "loss-spike", "S2.Q2": "spike-recovers", "S2.Q3": "norm-at-spike", "S2.Q4": "spike-persists",
    "S3.Q1": "grad-norm-nonfinite", "S3.Q2": "loss-scale-under-one", "S3.Q3": "norm-nonfinite-before-loss", "S3.Q4": "gradient-zeros",
    "S4.Q1": "loss-rising", "S4.Q2": "lr-rises-with-loss", "S4.Q3": "weight-norm-doubles", "S4.Q4": "norm-rising",
}  # fmt: skip
"""The questions of the stability tree, each with a signal that it cannot do without."""
PREFLIGHT = {
    "P1": ("first-loss-is-a-guess", "first-loss-over-guess", "first-loss-under-guess", "first-norm-high", "first-norm-low"),
    "P2": (
        "lr-all-zero",
        "lr-constant-against-config",
        "lr-floor-early",
        "lr-staircase",
        "warmup-longer-than-run",
        "lr-jumps-up",
        "lr-rises-late",
    ),
    "P3": ("batch-without-labels", "warned-of-labels", "batch-repeats", "val-below-train", "input-nonfinite", "loss-under-entropy-floor"),
    "P4": ("update-is-zero", "norm-piles-up", "norm-is-the-loss-scale", "train-multiple-of-val"),
    "P5": ("activations-large-at-start", "gradient-vanishes-over-depth", "future-moves-the-past", "heads-dead"),
    "P6": ("checkpoints-often-enough", "resumed"),
}
"""The sections of the preflight, with what each has to look at."""

NEVER_UNKNOWN = {"loss-nonfinite-isolated"}
"""Asked only after a yes to S1.Q1, so that there is a loss to look at."""


def each() -> pytest.MarkDecorator:
    return pytest.mark.parametrize("node", NODES.values(), ids=list(NODES))


def seen(state: State, **others: State) -> dict[str, Observation]:
    """One answer from all detectors but some."""
    given = {name.replace("_", "-"): value for name, value in others.items()}
    return {name: Observation(given.get(name, state), missing="it", signal=name) for name in registry.detectors()}


def visited(observations: dict[str, Observation]) -> dict[str, Answer]:
    return {visit.node.id: visit.answer for visit in walk(observations).path}


@pytest.mark.parametrize(("name", "signal"), OF_THE_DOCUMENT.items())
def test_the_stability_tree_asks_the_questions_of_the_document(name: str, signal: str) -> None:
    assert name in {node.id for node in TREES["stability"].nodes}
    assert signal in NODES[name].signals


@pytest.mark.parametrize(("section", "signals"), PREFLIGHT.items())
def test_the_preflight_has_its_sections(section: str, signals: tuple[str, ...]) -> None:
    asked = {signal for node in TREES["preflight"].nodes if node.id.startswith(f"{section}.") for signal in node.signals}
    assert set(signals) <= asked


@each()
def test_its_edges_lead_to_questions_and_causes(node: Node) -> None:
    for edge in (*node.yes, *node.no, *node.unknown):
        assert edge in NODES or edge in CAUSES, edge
        assert edge != node.id
    assert set(node.signals) <= set(registry.detectors())
    assert node.signals
    assert node.yes, "a yes has to lead somewhere"


@each()
def test_its_texts_are_there(node: Node) -> None:
    assert node.asks.endswith("?")
    assert node.why.endswith(".")
    assert node.references
    assert node.section.startswith(node.id.partition(".")[0])


@each()
def test_it_is_reachable_from_a_root(node: Node) -> None:
    pending = [root for tree in TREES.values() for root in tree.roots]
    found: set[str] = set()
    while pending:
        name = pending.pop()
        if name in NODES and name not in found:
            found.add(name)
            pending += [*NODES[name].yes, *NODES[name].no, *NODES[name].unknown]
    assert node.id in found


@each()
def test_yes_needs_one_no_needs_all_and_the_rest_is_unknown(node: Node) -> None:
    first, *rest = node.signals
    unproved = {proof.replace("-", "_"): State.UNKNOWN for _, proof in node.proofs}
    assert answer(node, seen(State.UNKNOWN, **{first.replace("-", "_"): State.PRESENT})) is Answer.YES
    assert answer(node, seen(State.ABSENT)) is Answer.NO
    assert answer(node, seen(State.UNKNOWN)) is Answer.UNKNOWN
    half_known = answer(node, seen(State.ABSENT, **{first.replace("-", "_"): State.UNKNOWN}, **unproved))
    assert half_known is Answer.UNKNOWN, "one that could not be looked for keeps it from being a no"
    assert len(rest) == len(node.signals) - 1


@pytest.mark.parametrize("node", [node for node in NODES.values() if node.proofs], ids=lambda node: node.id)
def test_a_probe_answers_what_could_not_be_looked_for(node: Node) -> None:
    proved = {proof.replace("-", "_") for _, proof in node.proofs}
    stood_for = {signal.replace("-", "_") for signal, _ in node.proofs}
    assert {proof for _, proof in node.proofs} <= set(registry.detectors())
    assert stood_for <= {signal.replace("-", "_") for signal in node.signals}
    open_ = dict.fromkeys(stood_for, State.UNKNOWN)
    assert answer(node, seen(State.ABSENT, **open_, **dict.fromkeys(proved, State.ABSENT))) is Answer.NO
    assert answer(node, seen(State.ABSENT, **dict.fromkeys(proved, State.PRESENT))) is Answer.YES
    assert answer(node, seen(State.ABSENT, **open_, **dict.fromkeys(proved, State.UNKNOWN))) is Answer.UNKNOWN


@each()
def test_an_unknown_leaves_open_what_the_answers_share(node: Node) -> None:
    """Every question that both a yes and a no lead to is asked after an unknown as well."""
    if set(node.signals) <= NEVER_UNKNOWN:
        return
    shared = {edge for edge in node.yes if edge in NODES} & {edge for edge in node.no if edge in NODES}
    assert shared <= set(node.unknown)


def test_the_walk_goes_on_along_unknown_edges_to_the_end() -> None:
    path = visited(seen(State.UNKNOWN))
    assert set(path.values()) == {Answer.UNKNOWN}
    for name in ("S1.Q1", "S2.Q1", "S3.Q1", "S4.Q1", "S5.Q1", "P1.Q1", "P2.Q5", "P3.Q4", "P4.Q4", "P5.Q4", "P6.Q3", "P7.Q2"):
        assert name in path


def test_a_walk_of_nothing_but_no_asks_every_section() -> None:
    path = visited(seen(State.ABSENT, loss_readable=State.PRESENT))
    assert {name.partition(".")[0] for name in path} == {*PREFLIGHT, "P7", "S1", "S2", "S3", "S4", "S5"}


def test_no_question_is_asked_twice_and_the_walk_ends() -> None:
    for state in State:
        path = [visit.node.id for visit in walk(seen(state)).path]
        assert len(path) == len(set(path))
        assert path[0] == "P1.Q1"


def test_the_stability_tree_is_walked_in_order() -> None:
    path = [name for name in visited(seen(State.ABSENT)) if name.endswith(".Q1") and name.startswith("S")]
    assert path == ["S1.Q1", "S2.Q1", "S3.Q1", "S4.Q1", "S5.Q1"]


def test_open_questions_are_those_that_stayed_unknown() -> None:
    told = walk(seen(State.ABSENT, grad_norm_nonfinite=State.UNKNOWN))
    assert [visit.node.id for visit in told.open_questions] == ["S3.Q1"]


def test_a_recoverable_and_a_persistent_spike_take_different_branches() -> None:
    healed = visited(seen(State.ABSENT, loss_spike=State.PRESENT, spike_recovers=State.PRESENT))
    stayed = visited(seen(State.ABSENT, loss_spike=State.PRESENT, spike_persists=State.PRESENT))
    assert "S2.Q3" in healed
    assert "S2.Q4" not in healed
    assert stayed["S2.Q4"] is Answer.YES


def test_without_a_lost_loss_the_origin_is_not_asked_for() -> None:
    assert "S1.Q3" not in visited(seen(State.ABSENT))
    assert "S1.Q3" in visited(seen(State.ABSENT, loss_nonfinite=State.PRESENT))


@pytest.mark.parametrize(
    ("name", "literal"),
    [
        ("spike-window", 100), ("spike-sigma", 3), ("spike-confirm-z", 0), ("spike-prominence", 0), ("spike-recover-sigma", 0.5),
        ("spike-recover-steps", 50), ("spike-norm-ratio", 30), ("trend-steps", 200), ("trend-strict", 1), ("weight-norm-change", 2),
        ("loss-scale-floor", 1), ("first-loss-near", 0.5), ("first-loss-over", 1.75), ("first-loss-under", 2.25), ("first-norm-high", 100),
        ("first-norm-low", 1e-3), ("dead-head-entropy", 0.25),
    ],
)  # fmt: skip
def test_the_literal_preset_has_the_numbers_of_the_document(name: str, literal: float) -> None:
    assert preset("literal").values[name] == literal


def test_both_presets_have_every_threshold() -> None:
    assert set(preset("literal").values) == set(preset("robust").values) == set(registry.thresholds())
