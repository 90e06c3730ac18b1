"""The catalogue of causes: that each is there and whole, that its evidence names it, and that its counter-evidence takes it back."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from sismo.signals import registry
from sismo.signals.types import Observation, State
from sismo.tree import catalogue
from sismo.tree.redirects import REDIRECTS
from sismo.tree.types import Answer, Cause, Node, Severity, Weight
from sismo.tree.walk import walk

CAUSES = catalogue.causes()
NODES = catalogue.nodes()

NAMED_IN_THE_SPECIFICATION = (
    "log-of-zero", "zero-over-zero", "sqrt-at-zero", "all-keys-masked", "nonfinite-input", "nonfinite-weight", "exploding-gradients",
    "embedding-gradient-infinite", "nan-hidden-by-logger", "label-out-of-range", "fp16-overflow", "fp16-on-bf16-model",
    "loss-scale-collapse", "loss-scale-frozen", "loss-scale-startup", "fp16-underflow", "bf16-update-rounding", "inf-into-optimizer",
    "clip-before-unscale", "long-tail-batch", "duplicate-batch", "labels-corrupted", "optimizer-state-corrupted", "lr-too-high",
    "attention-logit-growth", "output-logit-drift", "missing-warmup", "lr-zero", "lr-too-low", "lr-jump", "lr-inverted",
    "warmup-never-ends", "scheduler-never-stepped", "scheduler-stepped-too-often", "scheduler-stepped-per-epoch",
    "scheduler-not-restored", "missing-zero-grad", "accumulation-not-averaged", "parameter-not-in-optimizer", "frozen-by-mistake",
    "update-changes-nothing", "eval-in-train-mode", "train-in-eval-mode", "resume-lost-optimizer", "resume-repeats-data",
    "resume-jumps-data", "batch-norm-batch-1", "batch-too-small", "init-too-large", "init-too-small", "vanishing-gradients",
    "head-biased", "not-untrained", "dead-units", "dead-heads", "weight-decay-too-low", "weight-decay-too-high", "term-imbalance",
    "causal-mask-broken", "target-in-input", "train-val-overlap", "all-labels-masked", "tokenization-mismatch", "degenerate-targets",
    "entropy-floor-crossed", "overfitting", "memorising", "plateau", "no-learning", "underfit-stopped-early", "silent-divergence",
    "healthy-noise", "rank-nonfinite", "replica-drift", "communication-corruption", "hardware-fault", "too-few-points",
    "several-runs", "two-writers", "resumed", "placeholder-values", "metric-nan-only", "scaled-grad-norm", "smoothed-loss",
    "rounded-values", "train-loss-artefact-after-resume", "by-design",
)  # fmt: skip

NOTES = (
    "loss-scale-startup", "long-tail-batch", "missing-warmup", "overfitting", "memorising", "plateau", "not-untrained",
    "healthy-noise", "too-few-points", "several-runs", "two-writers", "resumed", "placeholder-values", "metric-nan-only",
    "dead-heads", "scaled-grad-norm", "smoothed-loss", "ends-in-a-crash", "rounded-values", "train-loss-artefact-after-resume", "by-design",
)  # fmt: skip


def each() -> pytest.MarkDecorator:
    return pytest.mark.parametrize("cause", CAUSES.values(), ids=list(CAUSES))


IMPLIED = {
    "loss-nonfinite": r"loss-(nonfinite|lost)-.*|loss-inf-first|only-loss-.*|calm-before-nonfinite|abrupt-.*|gradient-lost-.*|"
    r"(loss|norm)-runup|origin-.*",
    "origin-found": r"origin-is-.*|gradient-lost-on-the-way-back",
    "resumed": r".*-(at|after)-resume",
    "heads-dead": "most-heads-dead",
    "loss-spike": r"spike-(recovers|persists|is-large|heals-late)|norm-at-spike|lr-jump-at-spike",
}
"""What cannot be absent where another signal is present."""


def _implied(present: Iterable[str]) -> list[str]:
    return [name for name, others in IMPLIED.items() if any(re.fullmatch(others, signal) for signal in present)]


def made(*present: str, unknown: Iterable[str] = (), at: Mapping[str, int] | None = None, judged: bool = True) -> dict[str, Observation]:
    """What every detector says when just these signals are there."""
    seen = {name: Observation(State.ABSENT, signal=name) for name in registry.detectors()}
    for name in unknown:
        seen[name] = Observation(State.UNKNOWN, missing="it", signal=name)
    for name in (*_implied(present), *present, *(["loss-readable"] if judged else [])):
        seen[name] = Observation(State.PRESENT, (at or {}).get(name, 100), (at or {}).get(name, 100), signal=name)
    return seen


def named(*present: str, **more: Any) -> list[str]:
    return [finding.cause.id for finding in walk(made(*present, **more)).findings]


# That each is there and whole


def test_every_cause_of_the_specification_exists() -> None:
    assert [name for name in NAMED_IN_THE_SPECIFICATION if name not in CAUSES] == []
    assert len(NAMED_IN_THE_SPECIFICATION) == 87


@each()
def test_it_is_written_whole(cause: Cause) -> None:
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", cause.id)
    for text in (cause.statement, cause.first_action, cause.confirm, cause.counter, *cause.fixes):
        assert text.endswith("."), text
    assert cause.title
    assert not cause.title.endswith(".")
    assert len(cause.title) <= 60
    assert cause.source
    assert cause.family


@each()
def test_it_needs_evidence(cause: Cause) -> None:
    assert cause.needs or cause.needs_any
    assert 0.0 < cause.base <= 0.95
    assert all(weight.weight > 0 for weight in (*cause.supports, *cause.against))
    assert not {weight.signal for weight in cause.supports} & {weight.signal for weight in cause.against}
    assert all(weight.weight > 0 for weight in cause.denials)
    assert not {weight.signal for weight in cause.denials} & ({*cause.vetoes} | {weight.signal for weight in cause.against})
    assert not {*cause.needs, *cause.needs_any} & set(cause.vetoes)


@each()
def test_it_refers_to_signals_and_causes_that_exist(cause: Cause) -> None:
    assert set(cause.signals) <= set(registry.detectors())
    for other in (*cause.explains, *cause.twins):
        assert other in CAUSES
        assert other != cause.id


@each()
def test_a_pair_comes_with_what_decides(cause: Cause) -> None:
    assert bool(cause.decider) or not cause.twins


def test_severities_follow_the_specification() -> None:
    assert [name for name in NOTES if CAUSES[name].severity is not Severity.NOTE] == []
    for name in ("overfitting", "missing-warmup"):
        assert CAUSES[name].raised_by
    assert CAUSES["no-learning"].severity is Severity.BROKEN


@each()
def test_it_is_reachable_from_a_root(cause: Cause) -> None:
    assert cause.id in reachable()


def reachable() -> set[str]:
    pending = [root for tree in catalogue.trees().values() for root in tree.roots]
    found: set[str] = set()
    while pending:
        name = pending.pop()
        if name not in found:
            found.add(name)
            node = NODES.get(name)
            pending += [*node.yes, *node.no, *node.unknown] if node else []
    return found


# That its evidence names it and its counter-evidence takes it back


def least_evidence(cause: Cause) -> list[str]:
    """Everything that speaks for it."""
    return [*cause.needs, *cause.needs_any, *(weight.signal for weight in cause.supports if weight.signal not in cause.vetoes)]


@each()
def test_its_evidence_names_it(cause: Cause) -> None:
    assert cause.id in named(*least_evidence(cause))


@each()
def test_without_any_of_its_needs_it_is_not_named(cause: Cause) -> None:
    rest = [weight.signal for weight in cause.supports if weight.signal not in cause.proofs]
    signs = [name for name in cause.needs_any if name not in cause.proofs]
    for missing in cause.needs:
        others = [name for name in (*cause.needs, *signs, *rest) if name != missing]
        if missing not in _implied(others):
            assert cause.id not in named(*others), missing
    others = [name for name in (*cause.needs, *rest) if name not in cause.needs_any]
    if cause.needs_any and not set(cause.needs_any) & set(_implied(others)):
        assert cause.id not in named(*others)


@each()
def test_what_rules_it_out_rules_it_out(cause: Cause) -> None:
    signs = [name for name in least_evidence(cause) if name not in cause.proofs]
    for veto in cause.vetoes:
        assert cause.id not in named(*signs, veto), veto


@pytest.mark.parametrize("cause", [cause for cause in CAUSES.values() if cause.proofs], ids=lambda cause: cause.id)
def test_a_proof_names_it_by_itself_and_only_another_probe_takes_it_back(cause: Cause) -> None:
    assert set(cause.proofs) <= {*cause.needs, *cause.needs_any, *(weight.signal for weight in cause.supports)}
    for proof in cause.proofs:
        assert cause.id in named(proof)
        for veto in cause.vetoes:
            assert cause.id in named(proof, veto), veto
            seen = made(proof, veto)
            seen[veto] = seen[veto]._replace(numbers={"probe": None})
            assert cause.id not in [finding.cause.id for finding in walk(seen).findings], veto


@each()
def test_what_speaks_against_it_lowers_it_and_is_shown(cause: Cause) -> None:
    signs = [name for name in (*cause.needs, *cause.needs_any) if name not in cause.proofs]
    for weight in cause.against:
        with_it = {f.cause.id: f for f in walk(made(*signs, weight.signal)).findings}.get(cause.id)
        without = {f.cause.id: f for f in walk(made(*signs)).findings}.get(cause.id)
        if without is None:
            continue
        assert with_it is None or with_it.confidence < without.confidence or without.confidence == 0.95
        if with_it is not None:
            assert weight.signal in [seen.signal for seen in with_it.against]
        assert weight.signal in [seen.signal for seen in without.looked_for]


@each()
def test_evidence_that_could_not_be_looked_for_is_listed_as_open(cause: Cause) -> None:
    optional = [w.signal for w in cause.supports if w.signal not in (*cause.needs, *cause.needs_any)]
    for signal in optional:
        found = {f.cause.id: f for f in walk(made(*cause.needs, *cause.needs_any, unknown=[signal])).findings}.get(cause.id)
        if found is not None:
            assert signal in [seen.signal for seen in found.open]


@each()
def test_twins_are_mutual_or_one_explains_the_other(cause: Cause) -> None:
    """A pair is printed from both sides; one side alone is right only where the other is a consequence or a special case of it."""
    for other in cause.twins:
        if cause.id not in CAUSES[other].twins:
            assert (cause.id, other) in ONE_SIDED, f"{cause.id} names {other}, not the other way round"


ONE_SIDED: dict[tuple[str, str], str] = {
    ("zero-over-zero", "nonfinite-input"): "an input is blamed where the loss stays lost",
    ("zero-over-zero", "fp16-overflow"): "once fp16 is known the overflow explains the rest",
    ("fp16-overflow", "exploding-gradients"): "growth explains the overflow",
    ("fp16-overflow", "nan-hidden-by-logger"): "an overflow explains the NaN",
    ("inf-into-optimizer", "sqrt-at-zero"): "the infinite gradient explains what follows",
    ("inf-into-optimizer", "fp16-overflow"): "without a scaler, with one",
    ("batch-norm-batch-1", "log-of-zero"): "a last row off the interval is one more sign",
    ("batch-norm-batch-1", "sqrt-at-zero"): "as above",
    ("batch-too-small", "exploding-gradients"): "a special case of it",
    ("fp16-on-bf16-model", "loss-scale-collapse"): "the model explains the scale",
    ("missing-zero-grad", "lr-too-high"): "the norm decides",
    ("missing-zero-grad", "silent-divergence"): "what is left when nothing else explains it",
    ("memorising", "causal-mask-broken"): "without a validation loss",
    ("memorising", "target-in-input"): "without a validation loss",
    ("entropy-floor-crossed", "causal-mask-broken"): "the mask explains it",
    ("eval-nonfinite", "zero-over-zero"): "the training loss is finite there",
    ("long-tail-batch", "duplicate-batch"): "repeated fingerprints prove the duplicate",
    ("causal-mask-broken", "train-val-overlap"): "the overlap is a note",
    ("target-in-input", "train-val-overlap"): "the overlap is a note",
}


# Ranking


def test_the_worst_comes_first_then_the_surest() -> None:
    for signals in (
        ("loss-nonfinite", "loss-nonfinite-forever", "calm-before-nonfinite", "dtype-wide-range"),
        ("loss-spike", "spike-persists", "norm-stays-up-after-spike", "lr-starts-high", "few-rows"),
        ("val-rises-after-minimum", "val-rises-clearly", "lr-all-zero", "loss-at-chance"),
    ):
        findings = [f for f in walk(made(*signals)).findings if not f.consequence_of]
        keys = [(-f.severity.rank, -f.confidence) for f in findings]
        assert len(keys) > 1
        assert keys == sorted(keys)


def test_consequences_stand_after_everything_that_is_none() -> None:
    findings = walk(made("loss-nonfinite-forever", "norm-runup", "norm-nonfinite-before-loss", "few-rows")).findings
    flags = [bool(finding.consequence_of) for finding in findings]
    assert flags == sorted(flags)
    assert findings[0].cause.id == "exploding-gradients"
    assert {f.cause.id: f.consequence_of for f in findings}["fp16-overflow"] == "exploding-gradients"
    assert findings[-1].severity is Severity.BROKEN, "a broken consequence still stands after a note of its own"


def test_a_later_symptom_is_a_consequence_and_an_earlier_one_is_not() -> None:
    signals = ("lr-jumps-up", "loss-follows-lr-jump", "loss-spike", "spike-persists")
    later = walk(made(*signals, at={"lr-jumps-up": 100, "loss-spike": 110, "spike-persists": 110})).findings
    earlier = walk(made(*signals, at={"lr-jumps-up": 100, "loss-spike": 50, "spike-persists": 50})).findings
    assert {f.cause.id: f.consequence_of for f in later}["optimizer-state-corrupted"] == "lr-jump"
    assert {f.cause.id: f.consequence_of for f in earlier}["optimizer-state-corrupted"] == ""


def test_a_consequence_is_never_the_cause_of_its_cause() -> None:
    for cause in CAUSES.values():
        findings = walk(made(*least_evidence(cause))).findings
        origin = {f.cause.id: f.consequence_of for f in findings}
        for name in origin:
            seen = [name]
            while origin.get(seen[-1]):
                assert origin[seen[-1]] not in seen, seen
                seen.append(origin[seen[-1]])


def test_no_cause_is_listed_twice() -> None:
    everything = [finding.cause.id for finding in walk(made(*registry.detectors())).findings]
    assert len(everything) == len(set(everything))


def test_a_suspicion_is_not_named() -> None:
    """One weak sign: an LR that only rises in a run of which nothing else is known."""
    assert "lr-too-low" not in named("lr-only-rises")


def test_a_log_alone_makes_nothing_certain() -> None:
    for cause in CAUSES.values():
        for finding in walk(made(*least_evidence(cause))).findings:
            assert 0.25 <= finding.confidence <= 0.95


def test_two_that_cannot_be_told_apart_are_a_pair() -> None:
    first, *_ = walk(made("loss-nonfinite", "loss-nonfinite-isolated", "loss-nonfinite-once-an-epoch", "calm-before-nonfinite")).findings
    pair = walk(made("loss-nonfinite", "loss-nonfinite-from-first-row", "loss-nonfinite-at-first-step")).findings
    assert first.cause.decider
    assert set(pair[0].twins) & {"nonfinite-weight", "label-out-of-range", "nonfinite-input"}


def test_the_probe_decides_between_twins() -> None:
    signals = ("loss-nonfinite", "loss-nonfinite-forever", "calm-before-nonfinite")
    for probe, cause in (
        ("origin-is-log", "log-of-zero"), ("origin-is-backward", "sqrt-at-zero"), ("origin-is-attention-mask", "all-keys-masked"),
        ("origin-is-weight", "nonfinite-weight"), ("origin-is-input", "nonfinite-input"),
    ):  # fmt: skip
        found = walk(made(*signals, probe, "origin-found")).findings
        assert found[0].cause.id == cause, probe
        assert found[0].twins == ()


def test_mild_overfitting_is_a_note_and_clear_overfitting_a_warning() -> None:
    assert walk(made("val-rises-after-minimum")).findings[0].severity is Severity.NOTE
    assert walk(made("val-rises-after-minimum", "val-rises-clearly")).findings[0].severity is Severity.WARNING


def test_a_note_never_makes_a_run_unhealthy() -> None:
    for name in NOTES:
        cause = CAUSES[name]
        told = walk(made(*cause.needs, *cause.needs_any))
        if all(finding.severity is Severity.NOTE for finding in told.findings):
            assert told.healthy is True


# Healthy, and not


def test_nothing_at_all_is_healthy_only_with_a_readable_loss() -> None:
    assert walk(made()).healthy is True
    assert walk(made(judged=False)).healthy is None
    assert walk(made(judged=False, unknown=registry.detectors())).healthy is None


def test_a_broken_run_is_broken_however_few_its_rows() -> None:
    told = walk(made("loss-nonfinite", "loss-nonfinite-forever", "norm-runup", judged=False))
    assert told.healthy is False
    assert told.judged is False


@each()
def test_a_lost_loss_is_never_healthy_whatever_else_is_there(cause: Cause) -> None:
    assert walk(made("loss-nonfinite", *least_evidence(cause))).healthy is not True


# What a probe denies


DENIED = [(cause, weight) for cause in CAUSES.values() for weight in cause.denials]


@pytest.mark.parametrize(("cause", "denied"), DENIED, ids=[f"{cause.id}-{denied.signal}" for cause, denied in DENIED])
def test_a_probe_that_looked_and_found_none_of_it_counts_against_it(cause: Cause, denied: Weight) -> None:
    """Whatever names a cause without the probe, the probe's no takes away from it; a no of something else than a probe does not."""
    signs = [name for name in (cause.needs_any or ("",)) if name != denied.signal]
    for sign in signs:
        present = [name for name in (*cause.needs, sign) if name]
        seen = made(*present)
        before = next((one for one in walk(seen).findings if one.cause is cause), None)
        if before is None:
            continue
        seen[denied.signal] = Observation(State.ABSENT, numbers={"denies": True, "probe": "any"}, signal=denied.signal)
        after = next((one for one in walk(seen).findings if one.cause is cause), None)
        if after is not None:
            assert after.confidence < before.confidence
            assert denied.signal in {one.signal for one in after.against}


@pytest.mark.parametrize("node", [node for node in NODES.values() if node.suspicions], ids=lambda node: node.id)
def test_what_is_only_suspected_is_answered_by_the_probe_also_with_no(node: Node) -> None:
    proofs = dict(node.proofs)
    for signal in node.suspicions:
        seen = made(signal)
        said = {visit.node.id: visit.answer for visit in walk(seen).path}
        assert said[node.id] is Answer.YES
        seen[proofs[signal]] = Observation(State.ABSENT, numbers={"denies": True}, signal=proofs[signal])
        said = {visit.node.id: visit.answer for visit in walk(seen).path}
        assert said[node.id] is Answer.NO


# Data


def plain(of: Any) -> Any:
    """As JSON would have it."""
    if dataclasses.is_dataclass(of) and not isinstance(of, type):
        return {field.name: plain(getattr(of, field.name)) for field in dataclasses.fields(of)}
    if isinstance(of, tuple) and hasattr(of, "_fields"):  # a named tuple
        return {name: plain(value) for name, value in zip(getattr(of, "_fields", ()), of, strict=True)}
    if isinstance(of, tuple):
        return [plain(part) for part in of]
    return of


def again(of: Mapping[str, Any], kind: type) -> Any:
    """The object that the JSON was made from."""
    fields: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in of.items()}
    if kind is Cause:
        fields["severity"] = Severity(fields["severity"])
        fields["supports"] = tuple(Weight(**weight) for weight in fields["supports"])
        fields["against"] = tuple(Weight(**weight) for weight in fields["against"])
        fields["denials"] = tuple(Weight(**weight) for weight in fields["denials"])
        fields["raised_by"] = tuple((signal, Severity(level)) for signal, level in fields["raised_by"])
    if kind is Node:
        fields["proofs"] = tuple((signal, proof) for signal, proof in fields["proofs"])
    return kind(**fields)


@each()
def test_a_cause_survives_json(cause: Cause) -> None:
    assert again(json.loads(json.dumps(plain(cause))), Cause) == cause


@pytest.mark.parametrize("node", NODES.values(), ids=list(NODES))
def test_a_question_survives_json(node: Node) -> None:
    assert again(json.loads(json.dumps(plain(node))), Node) == node


def test_retired_ids_lead_somewhere() -> None:
    for old, new in REDIRECTS.items():
        assert old not in NODES
        assert old not in CAUSES
        assert new in NODES or new in CAUSES
        assert catalogue.lookup(old) is catalogue.lookup(new)


def test_an_id_is_found_in_any_case_and_a_wrong_one_is_answered_with_the_near_ones() -> None:
    assert catalogue.lookup("s2.q1") is NODES["S2.Q1"]
    assert catalogue.lookup("fp16-overflow") is CAUSES["fp16-overflow"]
    with pytest.raises(Exception, match="fp16-overflow"):
        catalogue.lookup("fp16-overflw")


def test_answers_and_severities_are_what_the_document_says() -> None:
    assert [answer.value for answer in Answer] == ["yes", "no", "unknown"]
    assert [Severity(name).rank for name in ("note", "warning", "broken")] == [0, 1, 2]


def test_words_and_recipe_have_the_same_numbers_for_a_clip() -> None:
    """A bound that the recipe sets, and the one that follows where it is there already, are the ones that the cause speaks of."""
    for cause, remedy in catalogue.remedies().items():
        about = catalogue.causes()[cause]
        said = " ".join((about.first_action, *about.fixes))
        for change in remedy.changes:
            if change.setting == "clip":
                first, tighter = change.values
                assert f"{first} ({tighter} if it is there already)" in said, cause
