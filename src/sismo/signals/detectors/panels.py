"""What only a recorded run holds: activations, spectra, dead units and heads, weights, batches, ranks."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from sismo.records.channels import LOSS_TRAIN, LOSS_VAL
from sismo.records.types import Series
from sismo.signals.families import members
from sismo.signals.few import sees_each_as_often, sees_few_batches
from sismo.signals.kind import goes_below_zero
from sismo.signals.levels import finite, level
from sismo.signals.types import Detector, Observation, State, Threshold, absent, present, unknown
from sismo.signals.view import View

_RECORD = "record the run with sismo.Recorder"
_MODE = "batch/mode"
_RATIO = "update_ratio"
_FIRST_STEPS = 20
_EARLY = 100
"""Step before which a first window counts as the start of the run."""
_DEAD_HEAD = Threshold("dead-head-entropy", 0.25, 0.25, "share", "measured: entropy over log(visible) under 0.25: 4 of 8 against 0 of 8", "Attention entropy under which a head looks at one key.")  # fmt: skip
_HEADS = Threshold(
    "dead-heads-share", 0.25, 0.25, "share", "measured: broken mask 4 of 8 heads, healthy none", "Share of dead heads that is abnormal."
)
_MOST_HEADS = Threshold("most-heads-share", 0.5, 0.5, "share", "measured: broken mask and bad initialisation 4 to 8 heads of 8, healthy runs up to 2", "Share of dead heads that no healthy run has.")  # fmt: skip
_DEAD_UNITS = Threshold("dead-units-share", 0.5, 0.5, "share", "SageMaker Debugger: over half of the units; healthy is about 5 %", "Share of dead units that is abnormal.")  # fmt: skip
_FLOOR = Threshold("under-entropy-floor", 0.9, 0.9, "×", "three-failures, failure 3; measured: healthy 1.05×, broken mask under 0.3×", "Share of the data's entropy under which a validation loss is too good to be true.")  # fmt: skip
_NEAR_LIMIT = Threshold(
    "activation-near-limit",
    32752,
    32752,
    "1",
    "docs/sources.md, detector 6: half of 65504",
    "Largest activation that is near the fp16 limit.",
)
_WEIGHTS = Threshold(
    "weight-norm-change",
    2,
    2,
    "×",
    "stability tree, S4.Q3; measured: only after step 300",
    "Change of a group's weight norm over 200 steps.",
)
_LOGIT = Threshold("head-max-logit", 100, 100, "1", "Kimi K2: τ = 100", "Attention logit that is too large.")
_ZERO = Threshold("zero-gradient-share", 0.1, 0.1, "share", "docs/sources.md, detector 7: over 5 to 10 % flushed", "Share of zero gradient entries that points at underflow.")  # fmt: skip
_UPDATE = Threshold("update-ratio-high", 1e-2, 1e-2, "1", "docs/sources.md, detector 12", "Update-to-weight ratio that is too large.")
_RMS = Threshold(
    "adam-rms",
    2.3,
    2.3,
    "1",
    "StableAdamW: RMS_t ≥ 2.3 precedes spikes by 1 to 8 steps",
    "Adam's RMS_t from which v lags behind the gradient.",
)
_ROUNDING = Threshold(
    "update-ratio-bf16", 2.0**-8, 2.0**-8, "1", "bf16 has 8 significand bits", "Update under this share of a weight is lost in bf16."
)


def _late_share_over(family: str, limit: str, *, above: bool, share: str | None = None) -> Callable[[View], Observation]:
    """Share of members whose level in the last quarter is past a limit; present when over ``share`` of them are (any, without)."""

    def rule(view: View, found: list[Series]) -> Observation:
        bound = view.limit(limit)
        late = {series.channel: level(series.values[-max(1, len(series) // 4) :]) for series in found}
        past = {name: value for name, value in late.items() if (value > bound if above else value < bound)}
        part = len(past) / len(late)
        if not past or (share is not None and part < view.limit(share)):
            return absent(family, count=len(past), total=len(late))
        worst = (max if above else min)(past, key=lambda name: past[name])
        start = min(int(series.steps[_first_past(series, bound, above)]) for series in found if series.channel in past)
        return present(start, channel=worst, count=len(past), total=len(late), value=past[worst], worst=worst)

    return members(family, rule)


def _under_rounding(view: View) -> Observation:
    """Updates that bf16 would round away, in weights that may be bf16: weights in fp32 keep them, whatever the model computes in."""
    dtype = view.fact("weights_dtype")
    if dtype == "fp32":
        return absent(_RATIO, dtype=dtype)
    return _late_share_over(_RATIO, "update-ratio-bf16", above=False, share="dead-heads-share")(view)


def _dead_from_start(view: View, found: list[Series]) -> Observation:
    """A layer that is dead in the last quarter was so in the first window: nothing that happened in the run killed it."""
    bound = view.limit("dead-units-share")
    dead = [series for series in found if level(series.values[-max(1, len(series) // 4) :]) > bound]
    first = [series for series in dead if series.values[0] > bound and int(series.steps[0]) < _EARLY]
    return present(int(first[0].steps[0]), channel=first[0].channel, worst=first[0].channel) if first else absent("dead_units")


def _heads_die(view: View, found: list[Series]) -> Observation:
    """Share of heads that were alive at the first step, twice over the limit, died within the first 100 and are dead in the last quarter.

    A trained model that is trained on has heads of one key from its first step: those are absent here. A head that comes to look at one
    key later may have learnt to, as where a word is copied.
    """
    bound = view.limit("dead-head-entropy")
    began = [series for series in found if int(series.steps[0]) <= 1 and len(series) >= 4]
    if not began:
        return unknown("head_entropy from the first step on")
    died = [series for series in began if series.values[0] > 2 * bound and level(series.values[-max(1, len(series) // 4) :]) < bound]
    if len(died) / len(began) < view.limit("dead-heads-share"):
        return absent("head_entropy", count=len(died), total=len(began))
    start = min(int(series.steps[_first_past(series, bound, above=False)]) for series in died)
    early = present(start, channel=died[0].channel, count=len(died), total=len(began))
    return early if start < _EARLY else absent("head_entropy", count=0, total=len(began))


def _first_past(series: Series, bound: float, above: bool) -> int:
    return int(np.argmax(series.values > bound if above else series.values < bound))


def _peaks_over(family: str, limit: str) -> Callable[[View], Observation]:
    def rule(view: View, found: list[Series]) -> Observation:
        bound = view.limit(limit)
        hits = [
            (int(series.steps[int(np.argmax(series.values > bound))]), series) for series in found if bool((series.values > bound).any())
        ]
        if not hits:
            return absent(family)
        step, series = min(hits, key=lambda hit: hit[0])
        return present(step, channel=series.channel, value=float(series.values.max()), worst=series.channel)

    return members(family, rule)


def _near_limit(view: View) -> Observation:
    """Absent only where the step that lost the loss was looked at: layers take turns, and what overflows is often far off one step before."""
    seen = _peaks_over("act_max_abs", "activation-near-limit")(view)
    lost = view.nonfinite(LOSS_TRAIN)
    if seen.state is not State.ABSENT or not lost:
        return seen
    at = lost[0].start
    looked = all(finite(series).at(at) is not None for series in view.family("act_max_abs"))
    return seen if looked else unknown("act_max_abs at step {at}", at=at)


def _logits_grow(view: View, found: list[Series]) -> Observation:
    """A head whose largest logit passes the limit, and at least doubles on the way: what is that large from the first row on did not grow."""
    grown = [series for series in found if bool((series.values > max(view.limit("head-max-logit"), 2 * float(series.values[0]))).any())]
    if not grown:
        return absent("head_max_logit")
    bound = view.limit("head-max-logit")
    step, series = min(((int(one.steps[int(np.argmax(one.values > bound))]), one) for one in grown), key=lambda hit: hit[0])
    return present(step, channel=series.channel, first=float(series.values[0]), value=float(series.values.max()), worst=series.channel)


def _under_floor(view: View) -> Observation:
    """The last validation losses under the entropy of the data; one row may be so by chance where the set is small.

    Only of a loss that is one in nats: it begins at the uniform guess or over it, and stays positive. A shifted or scaled one does not.
    """
    val, floor = view.finite(LOSS_VAL), view.header.entropy
    if floor is None:
        return unknown("the entropy of the data")
    if val is None or len(val) < 2:
        return unknown(LOSS_VAL)
    first, vocabulary = view.finite(LOSS_TRAIN), view.header.vocab_size
    if first is None or not len(first) or vocabulary is None or vocabulary < 2:
        return unknown("vocab_size")
    if first.values[0] < math.log(vocabulary) - view.limit("first-loss-near") or val.values.min() < 0:
        return absent(LOSS_VAL, floor=floor)
    under = val.values < view.limit("under-entropy-floor") * floor
    if not under[-2:].all():
        return absent(LOSS_VAL, floor=floor)
    since = len(under) - int(np.argmin(under[::-1])) if not under.all() else 0
    return present(int(val.steps[since]), int(val.steps[-1]), channel=LOSS_VAL, val=float(val.values[-1]), floor=floor)


def _weight_norm(up: bool) -> Callable[[View], Observation]:
    def rule(view: View, found: list[Series]) -> Observation:
        factor = view.limit("weight-norm-change")
        for series in found:
            late = series.steps >= 300
            steps, values = series.steps[late], series.values[late]
            if steps.size < 3:
                continue
            earlier = np.interp(steps - 200, steps, values)
            ratio = values / np.where(earlier > 0, earlier, math.nan)
            hits = np.nonzero((steps >= 500) & (ratio > factor if up else ratio < 1 / factor))[0]
            if hits.size:
                end = int(steps[hits[0]])
                return present(end - 200, end, channel=series.channel, ratio=float(ratio[hits[0]]), group=series.channel)
        return absent("weight_norm")

    return members("weight_norm", rule)


def _no_update(view: View, found: list[Series]) -> Observation:
    still = [series.channel for series in found if bool((series.values == 0.0).all()) and len(series) >= 3]
    return present(0, channel=still[0], count=len(still), group=still[0]) if still else absent("update_ratio")


def _unchanged(view: View) -> Observation:
    """What the rows say; where none were recorded, what the flow probe saw in one step."""
    rows = members("update_ratio", _no_update)(view)
    asked = [event for event in view.events if event.kind == "probe" and "flow" in event.data]
    if rows.state is not State.UNKNOWN or not asked:
        return rows
    said = asked[-1].data
    idle = said["flow"] == "cut-off" or said.get("held") == "no" or said.get("update") == "nothing"
    return present(asked[-1].step, group=str(said.get("where", "")), count=1) if idle else absent("update_ratio")


def _vanishing(view: View, found: list[Series]) -> Observation:
    """Norm of the first group or block over that of the last, in the first 20 steps: later a layer may have died of something else."""
    if len(found) < 2:
        return unknown("grad_norm_group of two blocks")
    early = int(found[0].steps[0]) + _FIRST_STEPS
    first, last = (level(series.values[: max(3, int(np.searchsorted(series.steps, early)))]) for series in (found[0], found[-1]))
    ratio = first / last if last > 0 else math.inf
    return (
        present(int(found[0].steps[0]), channel=found[0].channel, ratio=ratio) if ratio < 1e-3 else absent("grad_norm_group", ratio=ratio)
    )


def _log_z(view: View) -> Observation:
    """Mean log Z of the output softmax: over 1 away from where it was in the first quarter, and going on."""
    series = view.finite("metric/log_z")
    if series is None or len(series) < 20:
        return unknown("metric/log_z")
    quarter = len(series) // 4
    first, middle, last = level(series.values[:quarter]), level(series.values[2 * quarter : 3 * quarter]), level(series.values[-quarter:])
    drifts = abs(last - first) > 1 and (last - middle) * (middle - first) > 0
    return present(int(series.steps[2 * quarter]), channel=series.channel, first=first, last=last) if drifts else absent(series.channel)


def _any_positive(view: View, found: list[Series]) -> Observation:
    hits = [(int(series.steps[int(np.argmax(series.values > 0))]), series.channel) for series in found if bool((series.values > 0).any())]
    if not hits:
        return absent("act_nonfinite")
    step, channel = min(hits)
    return present(step, channel=channel, worst=channel)


def _batch(member: str, broken: Callable[[np.ndarray], np.ndarray]) -> Callable[[View], Observation]:
    def look(view: View) -> Observation:
        series = view.series(f"batch/{member}")
        if series is None or not len(series):
            return unknown(f"batch/{member}")
        hits = np.nonzero(broken(series.values))[0]
        if not hits.size:
            return absent(series.channel)
        return present(int(series.steps[hits[0]]), channel=series.channel, count=int(hits.size), value=float(series.values[hits[0]]))

    return look


def _repeats(view: View) -> Observation:
    """A batch that comes again among others; a run that sees the same few all along trains on the whole of a small data set.

    An agent, or two networks, may go several times over what was gathered, over each batch as often.
    """
    found = _batch("repeats", lambda v: v >= 3)(view)
    if found.state is not State.PRESENT:
        return found
    gathered = (view.objective in ("rl", "gan") or goes_below_zero(view)) and sees_each_as_often(view)
    return absent("batch/repeats") if gathered or sees_few_batches(view) else found


def _evaluations(view: View) -> Observation:
    """Most evaluations run in training mode; one of many may be meant, as one that only refreshes batch norm is."""
    mode = view.series(_MODE)
    if mode is None or not len(mode):
        return unknown(_MODE)
    count = int(np.count_nonzero(mode.values))
    return present(int(mode.steps[0]), channel=mode.channel, count=count, rows=len(mode)) if 2 * count > len(mode) else absent(mode.channel)


def _rank_first(view: View) -> Observation:
    ranks = [series for series in view.family("loss_rank") if len(series)]
    if len(ranks) < 2:
        return unknown("loss_rank")
    lost = [
        (int(series.steps[int(np.argmax(~np.isfinite(series.values)))]), series.channel)
        for series in ranks
        if not bool(np.isfinite(series.values).all())
    ]
    if not lost:
        return absent("loss_rank")
    step, channel = min(lost)
    alone = sum(1 for other, _ in lost if other == step) < len(ranks)
    return present(step, channel=channel, rank=channel.partition("/")[2]) if alone else absent("loss_rank")


def _replicas(view: View) -> Observation:
    """What the recorder says when it compared the replicas' weights."""
    asked = [event for event in view.events if event.kind == "probe" and "replicas" in event.data]
    if not asked:
        return unknown("checksums of the replicas")
    apart = next((event for event in asked if event.data["replicas"] == "differ"), None)
    return present(apart.step) if apart else absent()


def _checkpoints(view: View) -> Observation:
    every = view.header.checkpoint_every
    saved = [event.step for event in view.events if event.kind == "checkpoint"]
    if every is None and len(saved) < 2:
        return unknown("checkpoint_every")
    gap = every if every is not None else int(level(np.diff(np.array(saved, dtype=np.float64))))
    return present(every=gap) if gap <= 200 else absent(every=gap)


def _seen(name: str, family: str, look: Callable[[View], Observation], yes: str, no: str, *limits: Threshold) -> Detector:
    return Detector(name, (family,), look, yes, no, _RECORD, limits)


DETECTORS = (
    _seen("activation-near-limit", "act_max_abs", _near_limit, "{worst} reaches {value:.4g} at step {start}, near the fp16 limit of 65504", "no activation is near the fp16 limit", _NEAR_LIMIT),
    _seen("activation-nonfinite", "act_nonfinite", members("act_nonfinite", _any_positive), "{worst} holds non-finite activations at step {start}", "every recorded activation is finite"),
    _seen("units-dead", "dead_units", _late_share_over("dead_units", "dead-units-share", above=True), "{count} of {total} layers {count:has|have} over half of their units dead (worst {worst}, {value:.0%})", "units are alive", _DEAD_UNITS),
    _seen("units-dead-from-the-start", "dead_units", members("dead_units", _dead_from_start), "{worst} is so from the first window on", "no layer is dead from the first window on", _DEAD_UNITS),
    _seen("heads-dead", "head_entropy", _late_share_over("head_entropy", "dead-head-entropy", above=False, share="dead-heads-share"), "{count} of {total} attention heads {count:looks|look} at a single key (entropy {value:.2f} of log(visible))", "{count} of {total} heads {count:looks|look} at a single key", _DEAD_HEAD, _HEADS),
    _seen("most-heads-dead", "head_entropy", _late_share_over("head_entropy", "dead-head-entropy", above=False, share="most-heads-share"), "half of all attention heads or more look at a single key ({count} of {total})", "under half of all attention heads look at a single key", _DEAD_HEAD, _MOST_HEADS),
    _seen("heads-die-in-the-run", "head_entropy", members("head_entropy", _heads_die), "{count} of {total} attention heads {count:was|were} alive at the first step and {count:looks|look} at a single key from step {start} on", "no heads died in the run", _DEAD_HEAD, _HEADS),
    _seen("attention-logits-large", "head_max_logit", members("head_max_logit", _logits_grow), "an attention logit of {worst} grows from {first:.3g} to {value:.4g}", "no attention logit grows past 100", _LOGIT),
    _seen("weight-norm-doubles", "weight_norm", _weight_norm(up=True), "the weight norm of {group} grows {ratio:.2f}× in 200 steps, by step {end}", "no group's weight norm doubles in 200 steps", _WEIGHTS),
    _seen("weight-norm-halves", "weight_norm", _weight_norm(up=False), "the weight norm of {group} shrinks to {ratio:.2f}× in 200 steps, by step {end}", "no group's weight norm halves in 200 steps", _WEIGHTS),
    _seen("update-is-zero", "update_ratio", _unchanged, "{group} is not changed by any step ({count} such {count:group|groups})", "every group is updated"),
    _seen("update-too-large", "update_ratio", _late_share_over("update_ratio", "update-ratio-high", above=True), "the update of {worst} is {value:.2g} of its weights", "updates are small against the weights", _UPDATE),
    _seen("update-under-rounding", "update_ratio", _under_rounding, "updates of {count} of {total} groups are under half a unit in the last place of bf16", "no update is lost to the rounding of bf16", _ROUNDING),
    _seen("adam-lags", "adam_rms", _peaks_over("adam_rms", "adam-rms"), "Adam's RMS of {worst} reaches {value:.2f} at step {start}: v lags behind the gradient", "Adam's second moment follows the gradient", _RMS),
    _seen("gradient-zeros", "grad_zero_share", _late_share_over("grad_zero_share", "zero-gradient-share", above=True), "{value:.0%} of the gradient entries are exactly 0", "few gradient entries are exactly 0", _ZERO),
    _seen("gradient-vanishes-over-depth", "grad_norm_group", members("grad_norm_group", _vanishing), "the gradient of the first block is {ratio:.1e} of that of the last", "the gradient reaches the first block ({ratio:.1e} of the last)"),
    _seen("input-nonfinite", "batch", _batch("nonfinite", lambda v: v > 0), "the batch at step {start} holds non-finite inputs", "every recorded batch is finite"),
    _seen("batch-without-labels", "batch", _batch("label_share", lambda v: v == 0), "the batch at step {start} has no token that carries loss ({count} such)", "every recorded batch has labels"),
    _seen("batch-fully-masked-row", "batch", _batch("masked_rows", lambda v: v > 0), "the batch at step {start} has a row with every key masked", "no recorded row is fully masked"),
    _seen("batch-repeats", "batch", _repeats, "the batch at step {start} was seen {value:.0f} times in 20 steps", "no batch comes again among others"),
    _seen("batch-is-rare", "batch", _batch("rarity", lambda v: v > 6 * max(level(v), 1e-12)), "the batch at step {start} holds far rarer tokens than the others", "no batch is far rarer than the others"),
    _seen("evaluated-in-training-mode", "batch", _evaluations, "the model is in training mode, with its dropout or batch norm, in {count} of {rows} {rows:evaluation|evaluations}", "evaluations run in evaluation mode"),
    Detector("loss-under-entropy-floor", (LOSS_VAL, "header.entropy"), _under_floor, "the validation loss, {val:.3g}, is under the entropy of the data, {floor:.4g}, from step {start}", "the validation loss stays over the entropy of the data", "give the recorder config={{'entropy': nats per target}}, where it is known", (_FLOOR,)),
    _seen("rank-nonfinite-first", "loss_rank", _rank_first, "rank {rank} is non-finite first, at step {start}", "no rank is non-finite before the others"),
    Detector("replicas-part", ("events.probe",), _replicas, "the replicas' weights differ at step {start}", "the replicas agree", "record with sismo.Recorder on every rank"),
    _seen("log-z-drifts", "metric", _log_z, "mean log Z drifts from {first:.3g} to {last:.3g}", "mean log Z stays near 0"),
    Detector("checkpoints-often-enough", ("header.checkpoint_every",), _checkpoints, "a checkpoint is written every {every} steps", "checkpoints are {every} steps apart, more than 200", "put checkpoint_every into manifest.json"),
)  # fmt: skip
