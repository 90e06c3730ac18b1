"""What the probes proved: each result is an event of the run, written by ``sismo probe`` or by the recorder."""

from __future__ import annotations

from collections.abc import Callable

from sismo.records.probing import word
from sismo.signals.types import Detector, Observation, absent, present, unknown
from sismo.signals.view import View

_NAN = "sismo probe nan: one batch from the last finite checkpoint, with finite checks after every operation"
_REPLAY = "sismo probe replay: the suspect step once more, as it was and changed in one thing at a time"
_INIT = "sismo probe init: activations layer by layer against a fresh initialisation"
_FLOW = "sismo probe flow: one step, and what it does to every parameter"
_BATCH = "sismo probe batch: every example of the batch by itself"
_LEAKAGE = "sismo probe leakage: what training and validation data share, and which labels carry loss"
_CAUSAL = "sismo probe causal: change a later token, see whether earlier logits move"
_OF_THE_CODE = ("causal", "init", "flow", "leakage")
"""Probes of the model, the loop and the data; the others ask about one step."""
_PHASES = {"loss": word("the loss"), "forward": word("the forward pass"), "backward": word("the backward pass")}
"""Phases of a step as a sentence says them, where no module is known."""
_ASKED = {
    "NaN-origin": word("the probe for the origin of a NaN"),
    "batch": word("the probe of the batch"),
    "causality": word("the causality probe"),
    "evaluation": word("the probe of the evaluation"),
    "flow": word("the probe of gradients and updates"),
    "fp32 replay": word("a replay of the step in fp32"),
    "init": word("the initialisation probe"),
    "initialisation": word("the initialisation probe"),
    "leakage": word("the leakage probe"),
    "re-run after the fix": word("a re-run after the fix"),
    "replay": word("a replay of the step"),
    "training mode": word("the probe of the training mode"),
}
"""What is missing where a probe was not run."""
_NOTHING = "none"
"""The result of a probe of a step at which there was nothing to explain: it says nothing of other steps."""


def _event(kind: str, key: str, value: str, *, proof: bool = True) -> Callable[[View], Observation]:
    """Whether a probe came to a result. The last time that it was run counts: what was repaired since is repaired.

    It denies the result where it has come to another one and never found this one before: what it found once was there, whatever it
    finds after a change. ``proof`` is False for a result that has more than one explanation.
    """

    def look(view: View) -> Observation:
        asked = [event for event in view.events if event.kind == "probe" and key in event.data]
        if not asked:
            return unknown(_ASKED[kind])
        last = asked[-1]
        probe = str(last.data.get("probe", ""))
        if last.data[key] != value:
            return absent(probe=probe, denies=last.data[key] != _NOTHING and all(event.data[key] != value for event in asked))
        # What is in the code has been there since the run began, whenever it was asked for.
        start = view.first_step if probe in _OF_THE_CODE else last.step
        where = str(last.data.get("where") or "") or None
        # Outside of any module the phase says more than the name of the operation, which the sentence names by itself.
        phase = last.data.get("phase")
        place = last.data.get("module") or _PHASES.get(str(phase), phase) or where
        return present(start, where=where, place=place, probe=probe if proof else None)

    return look


DETECTORS = (
    Detector("replay-differs", ("events.probe",), _event("replay", "replay", "differs", proof=False), "the same step with the same seed gives another result", "the same step gives the same result", _REPLAY),
    Detector("replay-parts-from-run", ("events.probe",), _event("replay", "run", "parted", proof=False), "from the very state before it the step is sound when tried again, and in the run it was not", "from the very state before it, the step is as sound or as bad as it was in the run", _REPLAY),
    Detector("replay-blames-data", ("events.probe",), _event("replay", "class", "data"), "replayed, another batch from the same state is sound", "the replay does not blame the batch", _REPLAY),
    Detector("replay-blames-state", ("events.probe",), _event("replay", "class", "state"), "replayed, an earlier state or fresh moments are sound", "the replay does not blame the state", _REPLAY),
    Detector("replay-blames-learning-rate", ("events.probe",), _event("replay", "class", "learning-rate"), "replayed with a tenth of the learning rate, the step does no harm or far less", "the replay does not blame the learning rate", _REPLAY),
    Detector("replay-blames-structure", ("events.probe",), _event("replay", "class", "structure"), "replayed, no other batch, state or precision helps", "the replay does not blame the structure", _REPLAY),
    Detector("fp32-replay-clean", ("events.probe",), _event("fp32 replay", "fp32", "clean"), "the same step in fp32 is clean", "the same step in fp32 fails as well", _REPLAY),
    Detector("fp32-replay-fails", ("events.probe",), _event("fp32 replay", "fp32", "fails"), "the same step in fp32 fails as well", "the same step in fp32 is clean", _REPLAY),
    Detector("future-moves-the-past", ("events.probe",), _event("causality", "causality", "broken"), "a later token moves earlier logits: {where} lets the future in", "no later token moves an earlier logit", _CAUSAL),
    Detector("labels-are-the-inputs", ("events.probe",), _event("causality", "labels", "in-input"), "the labels equal the inputs at the same place, and nobody shifts them", "the labels are not the inputs", _CAUSAL),
    Detector("eval-differs-twice", ("events.probe",), _event("evaluation", "eval_twice", "differs"), "the same batch evaluated twice gives two results", "evaluating twice gives one result", _FLOW),
    Detector("training-flag-false", ("events.probe",), _event("training mode", "training_mode", "off"), "the model trains with model.training = False", "the model trains in training mode", "sismo probe flow with a loop: whether the model trains in training mode"),
    Detector("initialisation-large", ("events.probe",), _event("initialisation", "init", "large"), "the activations of layer {where} are far larger than those of a fresh initialisation", "activations are not larger than those of a fresh initialisation", _INIT),
    Detector("initialisation-small", ("events.probe",), _event("initialisation", "init", "small"), "the activations of layer {where} are far smaller than those of a fresh initialisation", "activations are not smaller than those of a fresh initialisation", _INIT),
    Detector("gradient-cut-off", ("events.probe",), _event("flow", "flow", "cut-off"), "trained parameters get no gradient, {where} first", "the gradient reaches every trained parameter", _FLOW),
    Detector("weights-not-held", ("events.probe",), _event("flow", "held", "no"), "trained parameters are in no optimizer", "an optimizer holds every trained parameter", _FLOW),
    Detector("step-changes-nothing", ("events.probe",), _event("flow", "update", "nothing"), "a step leaves parameters as they are that have a gradient and an optimizer", "a step changes what it should", _FLOW),
    Detector("gradients-pile-up", ("events.probe",), _event("flow", "piles_up", "yes"), "the second step on a batch has the gradient of the first in it", "gradients are cleared between steps", _FLOW),
    Detector("scaled-gradients-clipped", ("events.probe",), _event("flow", "clips_scaled", "yes"), "gradients are clipped before they are unscaled", "the clip acts on unscaled gradients", _FLOW),
    Detector("gradient-dies-over-depth", ("events.probe",), _event("init", "gradient", "dies"), "the gradient of the first layer, {where}, is under a thousandth of that of the last", "the gradient reaches the first layer", _INIT),
    Detector("examples-seen-before", ("events.probe",), _event("batch", "duplicates", "yes"), "the same batch was served a few steps ago", "no recent batch is the same", _BATCH),
    Detector("splits-overlap", ("events.probe",), _event("leakage", "overlap", "yes"), "validation rows are in the training data", "no validation row is in the training data", _LEAKAGE),
    Detector("labels-carry-no-loss", ("events.probe",), _event("leakage", "unlabelled", "yes"), "there are batches in which no label carries loss", "labels of every batch carry loss", _LEAKAGE),
    Detector("batch-carried-by-few", ("events.probe",), _event("batch", "batch", "carried"), "a few examples carry the batch", "no example stands out from the batch", _BATCH),
    Detector("origin-found", ("events.probe",), _event("NaN-origin", "origin", "found"), "the first non-finite output with finite inputs is {where}", "the probe found no origin", _NAN),
    Detector("origin-is-log", ("events.probe",), _event("NaN-origin", "op", "log"), "the first non-finite operation is a log, in {place}", "the first non-finite operation is no log", _NAN),
    Detector("origin-is-division", ("events.probe",), _event("NaN-origin", "op", "div"), "the first non-finite operation is a division, in {place}", "the first non-finite operation is no division", _NAN),
    Detector("origin-is-operation", ("events.probe",), _event("NaN-origin", "what", "operation"), "with finite inputs {where} gives the first number that is not finite", "no operation gives the first number that is not finite", _NAN),
    Detector("origin-is-empty-mean", ("events.probe",), _event("NaN-origin", "over", "nothing"), "the first non-finite operation is a mean over nothing, {where}", "no mean over nothing is the first non-finite operation", _NAN),
    Detector("gradient-lost-on-the-way-back", ("events.probe",), _event("NaN-origin", "phase", "backward"), "the loss is finite, the gradient is lost going back through {where}", "the gradient is not lost on its way back", _NAN),
    Detector("origin-is-backward", ("events.probe",), _event("NaN-origin", "op", "backward"), "the loss is finite, the gradient that the backward pass of {where} gives is not", "the origin is not in a backward pass", _NAN),
    Detector("origin-is-attention-mask", ("events.probe",), _event("NaN-origin", "op", "attention"), "the first non-finite output is an attention softmax, in {place}", "the origin is not an attention softmax", _NAN),
    Detector("origin-is-weight", ("events.probe",), _event("NaN-origin", "op", "weight"), "the weight {where} is non-finite before any operation", "the weights are finite", _NAN),
    Detector("origin-is-input", ("events.probe",), _event("NaN-origin", "op", "input"), "the input batch itself is not finite ({where})", "the input batch is finite", _NAN),
    Detector("inputs-proved-finite", ("events.probe",), _event("NaN-origin", "inputs", "finite"), "the batch of the step was looked at, and is finite", "the batch of the step is not finite", _NAN),
    Detector("origin-is-embedding-gradient", ("events.probe",), _event("NaN-origin", "op", "embedding-gradient"), "the gradient of the embedding overflows first", "the embedding's gradient is not first", _NAN),
    Detector("origin-is-half-overflow", ("events.probe",), _event("NaN-origin", "op", "half-overflow"), "the result of {where} does not fit into fp16", "the origin is no overflow of fp16", _NAN),
    Detector("origin-is-update", ("events.probe",), _event("NaN-origin", "op", "optimizer"), "loss and gradients are finite, the update at {where} is not", "the origin is not in the optimizer", _NAN),
    Detector("fix-failed", ("events.probe",), _event("re-run after the fix", "fix", "failed"), "the run is lost again after the fix", "the fix held", "apply the fix, re-run from the last finite checkpoint, and look again"),
)  # fmt: skip
