"""What holds for every detector, whatever it looks for: an empty run, sentences, healthy runs, odd numbers, and one stray NaN."""

from __future__ import annotations

import dataclasses
import string
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.runs import alarms, cosine, event, falling, level, observe, run, series, state, with_at

import sismo
from sismo.lab.drawn.catalogue import families
from sismo.lab.drawn.types import Noise
from sismo.postmortem import PostMortem, Text
from sismo.records.channels import FAMILIES, family_of
from sismo.records.sentence import fill
from sismo.records.types import Event, Note, Run
from sismo.signals import registry
from sismo.signals.presets import preset
from sismo.signals.types import Detector, Observation, State
from sismo.tree import catalogue
from sismo.tree.walk import walk

NAN = float("nan")
DETECTORS = registry.detectors()
ABOUT_WHAT_IS_MISSING = {"no-validation", "few-rows"}
"""The only signals that an empty run shows: both say that something is not there."""
EXPLAINED = {("curriculum", "loss-rising")}
"""It does rise there: that the validation loss falls is what makes it healthy."""
_EVENTS = ("events.", "notes", "header")
"""A log without a warning, an event or a remark is a log that was looked through: absent is right there."""


def each() -> pytest.MarkDecorator:
    return pytest.mark.parametrize("detector", DETECTORS.values(), ids=list(DETECTORS))


def sentence(detector: Detector, seen: Observation) -> str:
    """As the document fills it; raises where a number is missing or does not take its format."""
    numbers = {**seen.numbers, "start": seen.start, "end": seen.end, "channel": seen.channel}
    template = {State.PRESENT: detector.present, State.ABSENT: detector.absent, State.UNKNOWN: seen.missing}[seen.state]
    for _, name, spec, _ in string.Formatter().parse(template):
        if name and "|" not in (spec or ""):  # a plural is words
            format(numbers[name], spec or "")
    return fill(template, numbers)


@each()
def test_an_empty_run_shows_no_signal(detector: Detector) -> None:
    seen = observe(run())[detector.id]
    if detector.id in ABOUT_WHAT_IS_MISSING:
        assert seen.state is State.PRESENT
        return
    assert seen.state is not State.PRESENT
    assert seen.start is None
    assert seen.end is None
    if seen.state is State.UNKNOWN:
        assert seen.missing


def _reads_only_numbers(detector: Detector) -> bool:
    return not any(read.startswith(_EVENTS) or read == "loss_term" for read in detector.reads) and detector.id not in ABOUT_WHAT_IS_MISSING


def test_absent_is_not_said_of_numbers_that_were_never_logged() -> None:
    """A detector that reads nothing but numbers has nothing to look through in an empty run: it does not know."""
    seen = observe(run())
    numeric = [detector.id for detector in DETECTORS.values() if _reads_only_numbers(detector)]
    assert len(numeric) > 90
    assert [name for name in numeric if seen[name].state is not State.UNKNOWN] == []


@each()
def test_it_reads_channels_of_the_vocabulary(detector: Detector) -> None:
    for read in detector.reads:
        assert read.startswith(_EVENTS) or read.partition("/")[0] in FAMILIES, read


@each()
def test_its_sentences_are_written(detector: Detector) -> None:
    for template in (detector.present, detector.absent):
        assert template.strip() == template
        assert template
        assert not template.endswith(".")
        list(string.Formatter().parse(template))  # raises where a brace is left open


@each()
def test_thresholds_are_documented(detector: Detector) -> None:
    for threshold in detector.thresholds:
        assert threshold.about.endswith(".")
        assert threshold.source
        assert threshold.unit


def test_every_signal_is_asked_for_by_a_question_or_a_cause() -> None:
    asked = {signal for node in catalogue.nodes().values() for signal in node.signals}
    asked |= {signal for cause in catalogue.causes().values() for signal in cause.signals}
    assert set(DETECTORS) - asked <= {
        "loss-readable",
        "loss-scale-constant",
        "warned-of-scheduler-order",
        "loss-nonfinite-before-first-row",
    }


# Healthy runs


@pytest.mark.parametrize("family", sorted(families()))
@pytest.mark.parametrize("seed", [501, 502])
def test_no_signal_alarms_on_a_healthy_family(family: str, seed: int) -> None:
    """Neither all signals of the run together, nor any one of them with the rest silent."""
    made = families()[family].make(seed, Noise.of(seed)).run
    seen = observe(made)
    assert walk(seen).healthy is True
    silent = {name: Observation(State.ABSENT, signal=name) for name in DETECTORS}
    silent["loss-readable"] = seen["loss-readable"]
    for name, observation in seen.items():
        if observation.state is State.PRESENT and (family, name) not in EXPLAINED:
            alone = walk({**silent, name: observation})
            assert alone.healthy is not False, f"{name} alone alarms on {family}"


# Sentences


def fired() -> Iterator[Run]:
    """Runs that between them make most detectors speak."""
    calm, norm = falling(400), level(400, 1.0, 0.1)
    yield run(loss=calm, norm=norm, lr=cosine(), val=dict.fromkeys(range(0, 400, 20), 2.2), vocab_size=512, dtype="fp16")
    yield run(loss=with_at(calm, 300, NAN, NAN), norm=with_at(norm, 299, np.inf), lr=cosine(), dtype="fp32", accumulation=4)
    yield run(loss=with_at(calm, 300, 9.0), norm=with_at(norm, 300, 30.0), lr=with_at(cosine(), 300, 3e-2))
    yield run(loss=np.concatenate([calm[:300], calm[300:] + 3.0]), norm=norm, lr=np.full(400, 1e-3), schedule="cosine")
    yield run(loss=np.zeros(50), norm=np.full(50, NAN), lr=np.zeros(50), val=np.full(5, NAN))
    yield run(loss=level(200, np.log(2), 1e-3), norm=np.full(200, 65536.0), scale=np.full(200, 65536.0), lr=np.linspace(0, 1e-3, 200))
    yield run(loss=falling(100), scale=2.0 ** (16 - np.minimum(np.arange(100), 30)), dtype="fp16")
    yield run(loss=falling(200), val=(np.arange(10) * 20, np.linspace(2, 4, 10)), more={"epoch": np.linspace(0, 20, 200)})
    yield run(loss=falling(200), events=[event(100, "resume"), event(3, "overflow", scale_before=4.0, scale_after=2.0)])
    yield run(
        loss=falling(400),
        more={
            "loss_term/kl": np.geomspace(1, 1e6, 400),
            "loss_term/box": level(400, 1e-6, 0.0),
            "act_mean_abs/0": np.geomspace(100, 1, 400),
            "act_max_abs/0": np.geomspace(1, 6e4, 400),
            "head_entropy/0": np.full(400, 0.01),
            "dead_units/0": np.full(400, 0.9),
            "update_ratio/0": np.zeros(400),
            "grad_norm_group/a": np.full(400, 1e-9),
            "grad_norm_group/b": np.ones(400),
            "loss_rank/0": with_at(falling(400), 9, NAN),
            "loss_rank/1": falling(400),
            "batch/repeats": np.full(400, 3.0),
            "weight_norm/a": np.geomspace(1, 1e6, 400),
            "weight_norm/b": (np.arange(0, 1000, 10), np.geomspace(1, 1e6, 100)),
        },
        events=[
            event(5, "probe", op="log", origin="found", where="head", fp32="clean"),
            event(6, "warning", tag="device-assert", line="a {brace} and a } in the log"),
            event(7, "crash", line="{"),
        ],
        notes=[Note("rounded-values", "values have {digits} digits", {"digits": 2})],
    )


def test_every_sentence_is_filled_by_the_numbers_of_its_observation() -> None:
    said: set[str] = set()
    for made in fired():
        for name, seen in observe(made).items():
            text = sentence(DETECTORS[name], seen)
            assert text
            said |= {name} if seen.state is State.PRESENT else set()
    assert len(said) > 60, "the runs above have to make many of them speak for this test to mean anything"


def test_observations_carry_their_signal_and_a_strength() -> None:
    for made in fired():
        for name, seen in observe(made).items():
            assert seen.signal == name
            assert 0.0 < seen.strength <= 1.0
            if seen.start is not None and seen.end is not None:
                assert seen.start <= seen.end, name


# Arbitrary runs

CHANNELS = (
    "loss/train", "loss/val", "loss_val/a", "loss_term/box", "loss_term/kl", "loss_term_val/b", "lr/0", "lr/1", "grad_norm/pre",
    "grad_norm/post", "grad_norm_group/0", "grad_norm_group/1", "loss_scale", "skipped", "nonfinite", "weight_norm/0", "weight_nonfinite/0",
    "update_ratio/0", "adam_rms/0", "act_mean_abs/0", "act_max_abs/0", "act_nonfinite/0", "act_near_limit/0", "spectral/w",
    "dead_units/0", "head_entropy/0", "head_max_logit/0", "grad_zero_share", "grad_carried", "batch/nonfinite", "batch/label_share",
    "batch/repeats", "target/spread",
    "batch/rarity", "loss_class/a", "loss_rank/0", "loss_rank/1", "epoch", "metric/log_z", "metric/ppl",
)  # fmt: skip

odd = st.sampled_from([0.0, -0.0, 1.0, -1.0, 0.69314718, 6.24, NAN, float("inf"), -float("inf"), 1e308, -1e308, 5e-324, 65504.0, 1e-7])
anything = odd | st.floats(allow_nan=True, allow_infinity=True) | st.floats(-10, 10)


@st.composite
def columns(draw: st.DrawFn) -> tuple[list[int], list[float]]:
    """Rows of one channel: drawn one by one, or a shape that goes on for a while with a few odd rows in it."""
    every = draw(st.sampled_from([1, 1, 10, 500]))
    offset = draw(st.sampled_from([0, 0, 1, 10, 1000]))
    if draw(st.booleans()):
        values = draw(st.lists(anything, max_size=30))
    else:
        rows = draw(st.sampled_from([0, 1, 2, 19, 20, 40, 130, 260]))
        scale = draw(st.sampled_from([1.0, 1e-7, 1e6, -1.0, 1e300]))
        noise = np.random.default_rng(draw(st.integers(0, 3))).standard_normal(rows)
        shape = draw(st.sampled_from(["constant", "noise", "falls", "rises", "steps", "bursts"]))
        made = {
            "constant": np.ones(rows),
            "noise": noise,
            "falls": np.exp(-np.arange(rows) / 30.0) + 0.01 * noise,
            "rises": np.arange(rows) / 50.0,
            "steps": 2.0 ** np.floor(np.arange(rows) / 20.0),
            "bursts": np.exp(np.minimum(5.0 * noise, 700.0)),
        }[shape]
        values = [float(value) for value in made * scale]
        for _ in range(draw(st.integers(0, 3)) if rows else 0):
            values[draw(st.integers(0, rows - 1))] = draw(odd)
    return [offset + every * row for row in range(len(values))], values


happenings = st.builds(
    Event,
    st.integers(0, 400),
    st.sampled_from(["overflow", "skipped_step", "resume", "checkpoint", "nonfinite", "warning", "crash", "probe", "guard"]),
    st.fixed_dictionaries(
        {},
        optional={
            "scale_before": st.sampled_from([65536.0, 0.0, NAN, -1.0]),
            "scale_after": st.sampled_from([32768.0, 0.0, None, "0.5"]),
            "tag": st.sampled_from(["tokenization-mismatch", "device-assert", "overlap-comm", "nonsense"]),
            "line": st.sampled_from(["", "a {brace}", "}"]),
            "op": st.sampled_from(["log", "div", "weight"]),
            "fp32": st.sampled_from(["clean", "fails"]),
            "where": st.just("{head}"),
        },
    ),
)
known = st.fixed_dictionaries(
    {},
    optional={
        "dtype": st.sampled_from(["fp16", "bf16", "fp32", "int8"]),
        "vocab_size": st.sampled_from([-1, 0, 1, 2, 512, 50257]),
        "accumulation": st.sampled_from([0, 1, 8]),
        "total_steps": st.sampled_from([0, 1, 400]),
        "warmup_steps": st.sampled_from([0, 100, 400]),
        "checkpoint_every": st.sampled_from([0, 100, 1000]),
        "schedule": st.sampled_from(["cosine", "constant", ""]),
        "objective": st.sampled_from(["rl", "gan"]),
        "step_unit": st.sampled_from(["step", "epoch"]),
        "config": st.fixed_dictionaries({}, optional={"batch_size": st.sampled_from([0, 1, 8, "8"]), "summary_train_loss": anything}),
    },
)


@st.composite
def runs(draw: st.DrawFn) -> Run:
    picked = draw(st.lists(st.sampled_from(CHANNELS), max_size=10, unique=True))
    if draw(st.integers(0, 3)):
        picked = [*dict.fromkeys(["loss/train", *picked])]
    more = {channel: draw(columns()) for channel in picked}
    happened = sorted(draw(st.lists(happenings, max_size=6)), key=lambda e: e.step)
    header: dict[str, Any] = draw(known)
    return run(more=more, events=happened, **header)


def texts(of: Any) -> Iterator[Text]:
    """Every sentence of a document, however deep."""
    if isinstance(of, Text):
        yield of
    elif isinstance(of, list | tuple):  # a named tuple is one as well
        for part in of:
            yield from texts(part)
    elif dataclasses.is_dataclass(of):
        for field in dataclasses.fields(of):
            yield from texts(getattr(of, field.name))


def check_document(made: Run, document: PostMortem) -> None:
    found = list(texts(document))
    assert len(found) > len(document.walk) > 10
    for text in found:
        assert isinstance(str(text), str)
    loss = made.get("loss/train")
    if loss is None or not len(loss):
        assert document.healthy is not True
    if document.healthy is True:
        assert document.severity in ("none", "note")
        assert all(cause.severity == "note" for cause in document.causes)
    for cause in document.causes:
        assert 0.0 < cause.confidence <= 0.95


@pytest.mark.parametrize("channel", ["loss/train", "loss/val", "lr/0", "grad_norm/pre", "loss_scale"])
def test_the_smallest_numbers_there_are(channel: str) -> None:
    for rows in ([0.0, 5e-324], np.arange(30) * 5e-324):
        check_document(made := run(more={channel: rows}), sismo.diagnose(made))


@settings(max_examples=150, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(made=runs(), limits=st.sampled_from(["robust", "literal"]))
def test_any_run_gets_a_document_whose_every_sentence_can_be_printed(made: Run, limits: str) -> None:
    check_document(made, sismo.diagnose(made, preset(limits)))
    for name, seen in observe(made, limits).items():
        assert isinstance(sentence(DETECTORS[name], seen), str)


@pytest.mark.parametrize("value", [0.0, 1e308, -1e308, 5e-324, 1e-320, NAN, float("inf"), -float("inf"), 1e-7])
@pytest.mark.parametrize("rows", [1, 2, 25, 300])
def test_one_value_on_all_rows_of_all_channels(value: float, rows: int) -> None:
    made = run(more=dict.fromkeys(CHANNELS, np.full(rows, value)))
    check_document(made, sismo.diagnose(made))


def test_huge_numbers_print_no_warning(recwarn: pytest.WarningsRecorder) -> None:
    """A library that complains about overflow on standard error spoils the one screen that a user looks at."""
    wild = np.random.default_rng(0).uniform(-1.0, 1.0, 300) * 1.7e308
    sismo.diagnose(run(more=dict.fromkeys(CHANNELS, wild)))
    assert not recwarn.list


def test_the_vocabulary_of_this_test_is_that_of_the_product() -> None:
    assert {family_of(channel).name for channel in CHANNELS} == set(FAMILIES)


# One NaN never blinds a detector

_RNG = np.random.default_rng(7)
_NORM = np.exp(0.1 * _RNG.standard_normal(400))
_LATER_UP = np.concatenate([falling(300, 3), level(100, 5.0, 0.03, 4)])
_SLOW = np.concatenate([falling(300, 5), 2.0 + np.linspace(0, 1.5, 200) + 0.03 * _RNG.standard_normal(200)])
_VAL = {step: (2.2 + 1.5 * np.exp(-step / 60)) + max(0, step - 200) * 0.006 for step in range(20, 401, 20)}
_SCALE = np.concatenate([np.full(300, 65536.0), 65536.0 / 2.0 ** np.minimum(np.arange(1, 101), 40)])

FAULTS: dict[str, Run] = {
    "loss-spike": run(loss=with_at(falling(400, 1), 300, 6.0, 5.0), norm=with_at(_NORM, 300, 20.0, 9.0), lr=cosine()),
    "spike-recovers": run(loss=with_at(falling(400, 2), 250, 6.0, 4.0), norm=_NORM, lr=cosine()),
    "spike-persists": run(loss=_LATER_UP, norm=_NORM, lr=cosine()),
    "norm-at-spike": run(loss=with_at(falling(400, 1), 300, 6.0, 5.0), norm=with_at(_NORM, 300, 20.0, 19.0), lr=cosine()),
    "lr-jumps-up": run(loss=falling(400), lr=np.concatenate([cosine()[:200], 10 * cosine()[200:]]), norm=_NORM),
    "loss-rising": run(loss=_SLOW, lr=cosine(500)),
    "val-rises-after-minimum": run(loss=falling(400, end=0.5), val=_VAL, lr=cosine()),
    "loss-scale-collapsed": run(loss=falling(400), scale=_SCALE, norm=_NORM, dtype="fp16"),
    "train-multiple-of-val": run(loss=8 * falling(400), val={step: float(falling(401)[step]) for step in range(20, 401, 20)}),
    "loss-at-chance": run(loss=level(400, float(np.log(2)), 0.004), norm=_NORM),
    "loss-stands-late": run(loss=np.concatenate([falling(200), level(400, 2.0)]), norm=_NORM),
}


def with_nan(made: Run, channel: str, row: int) -> Run:
    old = made.series[channel]
    changed = old.values.copy()
    changed[row] = NAN
    return Run(made.path, made.header, {**made.series, channel: series(channel, (old.steps, changed))}, made.events, made.notes)


def places(made: Run, signal: str) -> Iterator[tuple[str, int]]:
    """Rows all along every channel, and every row around the fault."""
    seen = observe(made)[signal]
    for channel, rows in made.series.items():
        spread = set(np.linspace(0, len(rows) - 1, 12).astype(int).tolist())
        if seen.start is not None and channel != "loss/val":
            at = int(np.searchsorted(rows.steps, seen.start))
            spread |= {row for row in range(at - 3, at + 6) if 0 <= row < len(rows)}
        yield from ((channel, row) for row in sorted(spread))


def _the_fault_itself(signal: str, made: Run, channel: str, row: int) -> bool:
    """Whether the NaN overwrites the very row that holds all there is of the fault."""
    seen = observe(made)[signal]
    carries = {"loss-spike": "loss/train", "spike-recovers": "loss/train", "norm-at-spike": "grad_norm/pre"}.get(signal)
    return channel == carries and seen.start is not None and int(made.series[channel].steps[row]) == seen.start


@pytest.mark.parametrize("signal", sorted(FAULTS))
def test_one_nan_never_blinds(signal: str) -> None:
    made = FAULTS[signal]
    assert state(made, signal) is State.PRESENT
    blinded = [
        (channel, row)
        for channel, row in places(made, signal)
        if not _the_fault_itself(signal, made, channel, row) and state(with_nan(made, channel, row), signal) is State.ABSENT
    ]
    assert not blinded


@pytest.mark.parametrize("signal", sorted(FAULTS))
def test_one_infinity_never_blinds(signal: str) -> None:
    made = FAULTS[signal]
    blinded: list[tuple[str, int]] = []
    for channel, rows in made.series.items():
        for row in (0, len(rows) // 3, len(rows) // 2, len(rows) - 1):
            old = rows.values.copy()
            old[row] = np.inf
            changed = Run(made.path, made.header, {**made.series, channel: series(channel, (rows.steps, old))}, made.events)
            if state(changed, signal) is State.ABSENT:
                blinded.append((channel, row))
    assert not blinded


def test_a_nan_in_the_log_does_not_hide_the_other_faults() -> None:
    """The run that is both: a spike at 150 and a lost loss at 390."""
    made = run(loss=with_at(falling(400, 1), 150, 7.0, 6.0), norm=with_at(_NORM, 150, 30.0, 20.0), lr=cosine())
    both = with_nan(made, "loss/train", 395)
    assert observe(both)["loss-spike"].start == observe(made)["loss-spike"].start == 150
    assert "long-tail-batch" in alarms(both)
    assert observe(both)["loss-nonfinite"].start == 395


def test_thresholds_with_one_name_agree() -> None:
    found: Mapping[str, Any] = registry.thresholds()
    assert {threshold.name for detector in DETECTORS.values() for threshold in detector.thresholds} == set(found)
