"""What the log itself does: notes, never alarms."""

from __future__ import annotations

from sismo.tree.types import Cause, Severity, Weight

_N = Severity.NOTE


def _remark(name: str, title: str, statement: str, action: str, signal: str, base: float = 0.9) -> Cause:
    return Cause(
        id=name,
        family="log",
        severity=_N,
        title=title,
        statement=statement,
        first_action=action,
        confirm="See the notes on the reading.",
        counter="A log that holds one run from its first step.",
        source="catalogue: notes on the log",
        needs=(signal,),
        base=base,
    )


CAUSES = (
    _remark("too-few-points", "Too few points", "There are too few rows to judge by.", "Log more often, or let it run longer.", "few-rows"),
    _remark("several-runs", "Several runs in one file", "The file holds several runs; each is judged by itself.", "Write one file per run.", "note-several-runs"),
    _remark("two-writers", "Two writers in one file", "Two processes wrote into the same log.", "Write one file per rank or process.", "note-two-writers"),
    _remark("resumed", "Resumed", "The run was interrupted and resumed.", "Nothing, if the seam is clean.", "resumed"),
    _remark("placeholder-values", "Placeholder values", "A column holds a constant that stands for “not measured”.", "Ignore the column.", "note-placeholder-values"),
    _remark("metric-nan-only", "Only a metric is NaN", "A metric is NaN (an empty class), the losses are fine.", "Ignore it, or add examples of that class.", "note-metric-nan-only"),
    _remark("scaled-grad-norm", "The gradient norm is scaled", "The logged norm is that of scaled gradients.", "Log the norm after unscaling.", "norm-is-the-loss-scale", 0.6),
    _remark("smoothed-loss", "The loss is smoothed", "The logged loss is a running mean: spikes are flattened and come late.", "Log the raw loss as well.", "note-smoothed-loss"),
    _remark("rounded-values", "Rounded values", "Values are printed with few decimals, so zeros and steps come from rounding.", "Log more digits.", "note-rounded-values"),
    _remark("ends-in-a-crash", "The log ends in a crash", "The run did not end by itself; its last line says what stopped it.", "Read that line: memory, a worker, a collective or the code itself is what to look at.", "log-ends-in-a-crash", 0.8),
    Cause(
        id="train-loss-artefact-after-resume",
        family="log",
        severity=_N,
        title="The summary's training loss is an artefact",
        statement="The summary averages the losses of the resumed part over all steps: ignore that number.",
        first_action="Ignore train_loss in the summary; the run was resumed, and the logged rows are right.",
        confirm="summary × all steps / resumed steps is about the mean of the rows since the resume.",
        counter="A run that was not resumed.",
        source="transformers: TrainOutput.train_loss after resume_from_checkpoint",
        needs=("summary-loss-too-low",),
        base=0.8,
    ),
    Cause(
        id="lr-range-test",
        family="log",
        severity=_N,
        title="A range test of the learning rate",
        statement="The LR grows by one factor a step from far under any useful rate: this run looks for the rate at which the loss turns up, so its end is no failure.",
        first_action="Train fresh weights with a tenth of the LR at which the loss is lowest, or with that at which it falls most steeply.",
        confirm="The loop is that of an LR finder, and stops where the loss turns up.",
        counter="A linear warmup; a loss that is lost or high while the LR is still small.",
        source="Smith 2017 (LR range test); the LR finders of fastai and Lightning",
        needs=("lr-is-swept",),
        base=0.8,
    ),
    Cause(
        id="by-design",
        family="log",
        severity=_N,
        title="A loss that does this by design",
        statement="The loss may rise, be negative or sit at 0: a harder curriculum, an adversarial or a reinforcement objective.",
        first_action="Judge the run by its reward, its KL or its validation loss.",
        confirm="The objective's own measure improves.",
        counter="A supervised loss.",
        source="catalogue; public GRPO, PPO and curriculum logs",
        needs_any=("val-falls-while-train-rises", "val-unmoved-by-spike", "loss-may-rise-by-design"),
        base=0.7,
        supports=(Weight("reinforcement", 0.15),),
    ),
)  # fmt: skip
