"""Remedies in the learning-rate schedule."""

from __future__ import annotations

from sismo.tree.remedy import Change, Kind, Remedy, Restart, Rule

_PLOT = "lrs = []\nfor _ in range(total_steps):\n    optimizer.step(); scheduler.step(); lrs.append(scheduler.get_last_lr()[0])"

REMEDIES = (
    Remedy(
        cause="missing-warmup",
        kind=Kind.RECIPE,
        restart=Restart.AFRESH,
        changes=(Change("warmup", Rule.SHARE, (0.01, 100), "Fresh Adam moments make the first updates as large as they can be."),),
        expect="The learning rate starts near 0, and neither the gradient norm nor the loss spikes in the first 20 steps.",
        within=20,
        lesson="Look at the first row of the learning rate: a warmup that is configured and not applied shows there and nowhere else.",
    ),
    Remedy(
        cause="lr-zero",
        kind=Kind.CODE,
        code=_PLOT,
        expect="The learning rate is over 0 from the second step on, and the loss moves.",
        within=20,
        lesson="Plot the schedule for the whole run before training: it takes a second.",
    ),
    Remedy(
        cause="lr-too-low",
        kind=Kind.PROBE,
        restart=Restart.AFRESH,
        code=_PLOT,
        expect="With ten times the learning rate the loss has a trend.",
        within=200,
        lesson="Check the unit of the warmup (steps or epochs) against the length of the run.",
    ),
    Remedy(
        cause="lr-jump",
        kind=Kind.CODE,
        code=_PLOT,
        expect="The learning rate follows its formula over that step, and the loss does not jump there.",
        within=50,
        lesson="One thing only may set the learning rate: a second scheduler, a milestone or a rebuilt optimizer shows as a jump.",
    ),
    Remedy(
        cause="lr-inverted",
        kind=Kind.CODE,
        code=_PLOT,
        expect="After warmup the learning rate only falls, and the loss with it.",
        within=200,
        lesson="Plot the schedule for the whole run before training: a wrong sign in a cosine is seen at once.",
    ),
    Remedy(
        cause="warmup-never-ends",
        kind=Kind.RECIPE,
        changes=(Change("warmup", Rule.SHARE, (0.01, 100), "The warmup was longer than the run, so the learning rate only rose."),),
        expect="The learning rate has its peak within the first hundredth of the run, and the loss stops climbing.",
        within=200,
        lesson="Check the unit of warmup_steps: epochs, optimizer steps or micro-batches.",
    ),
    Remedy(
        cause="scheduler-never-stepped",
        kind=Kind.CODE,
        restart=Restart.NEWEST,
        code="optimizer.step(); scheduler.step()",
        expect="The learning rate changes from row to row as the configured schedule says.",
        within=20,
        lesson="Log the learning rate of the optimizer, not that of the configuration.",
    ),
    Remedy(
        cause="scheduler-stepped-too-often",
        kind=Kind.CODE,
        restart=Restart.AFRESH,
        code="if (micro_step + 1) % accumulation == 0:\n    optimizer.step(); scheduler.step(); optimizer.zero_grad()",
        expect="The learning rate is at its end when the run is.",
        within=200,
        lesson="A scheduler counts optimizer steps: not micro-batches, and not one for each process.",
    ),
    Remedy(
        cause="scheduler-stepped-per-epoch",
        kind=Kind.CODE,
        restart=Restart.NEWEST,
        code="scheduler.step()  # inside the loop over batches, after optimizer.step()",
        expect="The learning rate falls smoothly instead of in stairs.",
        within=20,
        lesson="Say in the configuration what a scheduler counts: steps or epochs.",
    ),
    Remedy(
        cause="scheduler-not-restored",
        kind=Kind.CODE,
        code='scheduler.load_state_dict(checkpoint["scheduler"])',
        expect="The learning rate of the first resumed step is that of the last one before.",
        within=1,
        lesson="A checkpoint holds model, optimizer, scheduler, scaler, random numbers and the place in the data, or it is none.",
    ),
)  # fmt: skip
