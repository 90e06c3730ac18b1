"""Remedies in ranks and machines."""

from __future__ import annotations

from sismo.tree.remedy import Change, Kind, Remedy, Rule

REMEDIES = (
    Remedy(
        cause="rank-nonfinite",
        kind=Kind.PROBE,
        skip=True,
        probe="nan",
        expect="The batch of that rank fails on another machine too (the data) or does not (the machine).",
        within=1,
        lesson="Log the loss of every rank: the mean hides which one was lost first.",
    ),
    Remedy(
        cause="replica-drift",
        kind=Kind.PROBE,
        code="sums = {n: p.detach().double().sum().item() for n, p in model.named_parameters()}  # compare over the ranks",
        expect="Checksums per parameter agree on all ranks after a step.",
        within=1,
        lesson="Compare checksums of the replicas now and then: a missed reduction is silent.",
    ),
    Remedy(
        cause="communication-corruption",
        kind=Kind.RECIPE,
        changes=(Change("overlap-comm", Rule.SET, (False,), "Overlapped with the backward pass, buffers are reused too early."),),
        expect="The loss is over 0 and the gradient norm finite, at that step and after it.",
        within=20,
        lesson="Run the first steps once on a single GPU: what fails only on several is the communication.",
    ),
    Remedy(
        cause="hardware-fault",
        kind=Kind.PROBE,
        probe="replay",
        expect="The step gives the same result twice on another machine, with deterministic algorithms on.",
        within=1,
        lesson="A step that cannot be repeated bit for bit cannot be debugged: keep determinism within reach.",
    ),
)  # fmt: skip
