"""What a step came to under each change, and what these outcomes together rule in and out: plain data and the rules over it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import median
from typing import NamedTuple

from sismo.records.channels import GRAD_NORM_PRE, LOSS_TRAIN
from sismo.records.probing import ProbeReport, word
from sismo.records.types import Note, Run

_MARGIN = 0.5
"""Share of the usual loss by which a loss has to lie over it, or to rise in one update, to be bad. A step moves it by some percent."""
_SPREADS = 3
"""The stability tree's three sigma, over the losses of other batches."""
_NORM = 10
"""Times the usual gradient norm: a realistic long-tail batch gives 3 to 4 (measured), the stability tree's own rule is 30."""


_ROWS = 20
"""Rows before the step that say what is usual: few enough to follow a falling loss, as in the symptoms of a post-mortem."""


class Class(StrEnum):
    """What a bad step is the fault of."""

    DATA = "data"
    STATE = "state"
    PRECISION = "precision"
    LEARNING_RATE = "learning-rate"
    HARDWARE = "hardware"
    STRUCTURE = "structure"


class Usual(NamedTuple):
    """What is normal for this run: the loss, how far batches scatter about it, and the gradient norm. NaN where it is not known."""

    loss: float = math.nan
    spread: float = math.nan
    norm: float = math.nan

    @classmethod
    def of(cls, losses: Sequence[float], norms: Sequence[float]) -> Usual:
        """From the finite ones among some losses and norms."""
        sound = [loss for loss in losses if math.isfinite(loss)]
        steady = [norm for norm in norms if math.isfinite(norm)]
        if not sound:
            return cls(norm=median(steady) if steady else math.nan)
        centre = median(sound)
        # 1.4826 makes the median of absolute deviations a standard deviation for normal noise.
        spread = 1.4826 * median([abs(loss - centre) for loss in sound])
        return cls(centre, spread, median(steady) if steady else math.nan)

    @property
    def margin(self) -> float:
        """By how much a loss may lie over the usual one."""
        return max(_MARGIN * abs(self.loss), _SPREADS * self.spread)


def usual_before(run: Run, step: int) -> Usual | None:
    """What a run logged before a step; before the first one the uniform guess over its vocabulary; None where that is not known."""

    def before(channel: str) -> list[float]:
        series = run.get(channel)
        return series.values[series.steps < step][-_ROWS:].tolist() if series is not None else []

    losses = before(LOSS_TRAIN)
    if losses:
        return Usual.of(losses, before(GRAD_NORM_PRE))
    return Usual(math.log(run.header.vocab_size)) if run.header.vocab_size else None


def usual_until(run: Run, step: int) -> bool:
    """Whether loss and gradient norm right before a step were what is usual, by the rows before them."""
    loss, norm = run.get(LOSS_TRAIN), run.get(GRAD_NORM_PRE)
    if loss is None or not (before := loss.steps < step).any():
        return False
    last, value = int(loss.steps[before][-1]), float(loss.values[before][-1])
    usual = usual_before(run, last) or Usual()
    grown = norm.at(last) if norm is not None else None
    return not Outcome("", value, 0.0 if grown is None else grown).bad_before(usual)


class Outcome(NamedTuple):
    """One replay: the loss and the gradient norm of its batch before the update, and the loss after it (NaN without an update).

    One that could not be run here is neither bad nor sound.
    """

    name: str
    loss: float
    norm: float
    after: float = math.nan
    updated: bool = False
    ran: bool = True

    def bad_before(self, usual: Usual) -> bool:
        """Whether the step is bad before anything is updated: not finite, or far over what is usual."""
        if not (math.isfinite(self.loss) and math.isfinite(self.norm)):
            return True
        return self.loss > usual.loss + usual.margin or self.norm > _NORM * usual.norm

    def bad_update(self, usual: Usual) -> bool:
        """Whether the update itself does harm: on its own batch, on which it should help."""
        if not self.updated:
            return False
        allowed = usual.margin if math.isfinite(usual.loss) else _MARGIN * abs(self.loss)
        return not math.isfinite(self.after) or self.after > self.loss + allowed

    def bad(self, usual: Usual) -> bool:
        """Either of the two."""
        return self.ran and (self.bad_before(usual) or self.bad_update(usual))


AS_IT_WAS, AGAIN = word("as it was"), word("once more")
FP32, BF16 = word("in fp32"), word("in bf16")
OTHER_BATCH, EARLIER = word("another batch"), word("an earlier state")
LOWER_LR, NO_CLIP, CLIP, FRESH = word("LR / 10"), word("without clipping"), word("clip 0.5"), word("fresh optimizer state")
EVALUATION = word("evaluation mode")
SEVERAL, SEVERAL_SLOWER = word("ten steps on"), word("ten steps on, LR / 10")

_LR = (Class.LEARNING_RATE, word("points to the learning rate"), word("rules out the learning rate"))
_SAYS = {
    FP32: (Class.PRECISION, word("points to precision"), word("rules out precision")),
    OTHER_BATCH: (Class.DATA, word("points to data"), word("rules out data")),
    EARLIER: (Class.STATE, word("points to state"), word("rules out state")),
    SEVERAL_SLOWER: _LR,
    LOWER_LR: _LR,
    FRESH: (Class.STATE, word("points to the optimizer's state"), word("rules out the optimizer's state")),
    EVALUATION: (Class.STRUCTURE, word("points to dropout or batch norm"), word("rules out dropout and batch norm")),
}
"""The class that a change asks about, and what it says of a bad step that it helps, and that it does not."""


@dataclass(frozen=True, slots=True)
class Replay:
    """The outcomes of one step, as it was and changed in one thing at a time.

    Attributes:
        outcomes: every replay that was tried, by its name. usual: what is normal. repeats: whether the same step gives the same result.
        half: whether the step runs in half precision. initial, recorded: as ``replay`` was told.
        finite: whether every weight of the state is finite. From one that is not no change but an earlier state can help.
        lost: whether the run, as usual until then, lost its loss at this step.
    """

    outcomes: Mapping[str, Outcome]
    usual: Usual
    repeats: bool
    half: bool
    initial: bool = False
    recorded: float | None = None
    finite: bool = True
    lost: bool = False

    @property
    def reproduced(self) -> bool:
        """Whether the step as it was is bad here too."""
        return self._bad(AS_IT_WAS)

    @property
    def fault(self) -> Class | None:
        """What the step is the fault of; None when it is not bad here, or the outcomes do not tell."""
        if not self.repeats or self._parted:
            return Class.HARDWARE
        if not self.reproduced:
            if self._bad(SEVERAL) and self._sound(SEVERAL_SLOWER):
                return Class.LEARNING_RATE
            # In half precision a few steps may be all that a number lacks to its limit.
            return Class.STATE if self.lost and not self.half else None
        if self.half and self._sound(FP32):
            return Class.PRECISION
        first = self.outcomes[AS_IT_WAS]
        return self._before_update() if first.bad_before(self.usual) else self._in_update(first)

    def _before_update(self) -> Class | None:
        # A batch that is at fault is bad in every state; one that an earlier state takes is not.
        if self._sound(EARLIER):
            return Class.STATE
        if self._sound(OTHER_BATCH):
            return Class.DATA
        if self._sound(EVALUATION) or (self._bad(OTHER_BATCH) and (self.initial or self._bad(EARLIER))):
            return Class.STRUCTURE
        return None

    @property
    def _parted(self) -> bool:
        """Whether the run had a bad loss where the same step from the same state is sound, and another batch as well."""
        if self.recorded is None or not self.repeats or self.reproduced or not self._sound(OTHER_BATCH):
            return False
        return Outcome("", self.recorded, 0.0).bad_before(self.usual)

    @property
    def _as_recorded(self) -> bool:
        """Whether the step is bad here and in the run, or in neither: known only where it was taken from the same state."""
        if self.recorded is None or not self.repeats:
            return False
        return Outcome("", self.recorded, 0.0).bad_before(self.usual) is self.outcomes[AS_IT_WAS].bad_before(self.usual)

    def _in_update(self, first: Outcome) -> Class | None:
        if self._sound(OTHER_BATCH):
            return Class.DATA
        # A rate that is too high harms an earlier state as well; moments that are spoilt are not in it.
        if self._sound(FRESH) and not self._bad(EARLIER):
            return Class.STATE
        if self._helps(LOWER_LR):
            return Class.LEARNING_RATE
        return Class.STATE if self._sound(EARLIER) else Class.STRUCTURE

    def _bad(self, name: str) -> bool:
        return name in self.outcomes and self.outcomes[name].bad(self.usual)

    def _sound(self, name: str) -> bool:
        return self._ran(name) and not self.outcomes[name].bad(self.usual)

    def _ran(self, name: str) -> bool:
        return name in self.outcomes and self.outcomes[name].ran

    def _helps(self, name: str) -> bool:
        """Whether a change makes the step sound; a lower rate helps where it takes half of the harm of an update away."""
        if name != LOWER_LR or self._sound(name) or self.outcomes[AS_IT_WAS].bad_before(self.usual):
            return self._sound(name)
        harm, less = (self.outcomes[tried].after - self.outcomes[tried].loss for tried in (AS_IT_WAS, LOWER_LR))
        return math.isfinite(less) and not less > harm / 2

    def report(self) -> ProbeReport:
        """The result for a run and a reader."""
        data: dict[str, object] = {"replay": "agrees" if self.repeats else "differs"}
        if self._parted or self._as_recorded:
            data["run"] = "parted" if self._parted else "same"
        data["class"] = self.fault.value if self.fault else "none"
        if self.reproduced and self.repeats and self.finite and self._ran(FP32):
            data["fp32"] = "clean" if self._sound(FP32) else "fails"
        columns = (word("replay"), word("loss"), word("gradient norm"), word("loss after it"), word("outcome"), word("what it says"))
        rows = tuple(self._row(outcome) for outcome in self.outcomes.values())
        notes = () if math.isnan(self.usual.loss) else (self._usual(),)
        verdict = self._verdict()
        found = self.fault is not None or self.reproduced
        return ProbeReport("replay", found, verdict, data, columns, rows, notes, open=verdict.code == "replay-alone")

    def _usual(self) -> Note:
        """What is usual, as far as it is known."""
        if math.isnan(self.usual.norm):
            return Note("usual", "Usual here: loss {loss:.4g}; the gradient norm is not known.", self.usual._asdict())
        return Note("usual", "Usual here: loss {loss:.4g}, gradient norm {norm:.3g}.", self.usual._asdict())

    def _row(self, outcome: Outcome) -> tuple[str, ...]:
        if not outcome.ran:
            return (outcome.name, "", "", "", word("could not be run"), "")
        after = f"{outcome.after:.4g}" if outcome.updated else ""
        said = word("bad") if outcome.bad(self.usual) else word("sound")
        return (outcome.name, f"{outcome.loss:.4g}", f"{outcome.norm:.3g}", after, said, self._says(outcome.name))

    def _says(self, name: str) -> str:
        """What one outcome rules in or out, by the rules that the fault follows."""
        if name == AGAIN and not self._parted:
            return word("rules out hardware") if self.repeats else word("points to hardware")
        asked = self.reproduced or (name == SEVERAL_SLOWER and self._bad(SEVERAL))
        able = self.finite or name == EARLIER
        if name not in _SAYS or not (asked and able and self.repeats):
            return ""
        about, helps, fails = _SAYS[name]
        if not self._helps(name):
            return fails
        return helps if self.fault in (about, None) else word("helps as well")

    def _verdict(self) -> Note:
        match self.fault:
            case Class.HARDWARE if self._parted:
                return Note(
                    "replay-parted",
                    "From the very state before it the step is sound here (loss {here:.4g}), and in the run it was not ({run:.4g}): "
                    "a machine that computed wrong, code that changes weights outside of the step, or code that was changed since.",
                    {"here": self.outcomes[AS_IT_WAS].loss, "run": self.recorded},
                )
            case Class.HARDWARE:
                return Note(
                    "replay-hardware",
                    "The same step twice gives two results: a kernel that is not deterministic, a machine that computes wrong, or code "
                    "that counts its calls or draws at random from outside of PyTorch, numpy and random.",
                )
            case Class.PRECISION:
                return Note("replay-precision", "In fp32 the same step is sound: it is the precision, not the structure.")
            case Class.DATA:
                return Note("replay-data", "Another batch from the same state is sound: it is this batch.")
            case Class.STATE if not self.finite:
                return Note(
                    "replay-state-lost", "It is the state: its weights are not finite, and with earlier ones the same step is sound."
                )
            case Class.STATE if self._bad(OTHER_BATCH):
                return Note(
                    "replay-state",
                    "It is the state: with earlier weights or fresh moments the same step is sound, and other batches fail as well.",
                )
            case Class.STATE if not self.reproduced:
                return Note(
                    "replay-spoilt",
                    "This batch is sound from this state, and the run was as usual until it lost its loss at once: the state was spoilt "
                    "in between.",
                )
            case Class.STATE:
                return Note("replay-state", "It is the state: with earlier weights or fresh moments the same step is sound.")
            case Class.LEARNING_RATE:
                return Note("replay-lr", "The step is too large: with a tenth of the learning rate the harm is gone or far less.")
            case Class.STRUCTURE if self.initial:
                return Note(
                    "replay-initial",
                    "The step is bad before the first update, with other batches too: it is the initialisation, the model or the loss.",
                )
            case Class.STRUCTURE:
                return Note("replay-structure", "Other batches, other states and fp32 do not help: it is the model or the loss itself.")
            case None if not self.reproduced and math.isnan(self.usual.loss):
                return Note(
                    "replay-alone",
                    "The step is finite from this state, and its update does no harm. Whether its loss is the usual one is not known: "
                    "give a run, or other batches.",
                )
            case None if not self.reproduced:
                return Note("replay-sound", "The step is sound from this state: nothing is wrong with this state and this batch.")
            case None:
                return Note("replay-open", "The step is bad here too; another batch and an earlier state are needed to say why.")
