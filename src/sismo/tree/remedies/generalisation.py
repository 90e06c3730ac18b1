"""Remedies for how a run does on other data, and for the level that it settles at."""

from __future__ import annotations

from sismo.tree.remedy import Change, Kind, Remedy, Restart, Rule

REMEDIES = (
    Remedy(
        cause="overfitting",
        kind=Kind.RECIPE,
        restart=Restart.TAKE,
        expect="That checkpoint has the lowest validation loss of the run; a metric on held-out data is at its best there too.",
        within=0,
        lesson="Keep the checkpoint with the lowest validation loss, and stop when it has not moved for a while.",
    ),
    Remedy(
        cause="memorising",
        kind=Kind.PROBE,
        restart=Restart.NOT,
        code="with torch.no_grad(): print(evaluate(model.eval(), validation_loader))",
        expect="The validation loss says it: far over the training loss is memorising.",
        within=0,
        lesson="Without a validation loss a training loss near 0 says nothing.",
    ),
    Remedy(
        cause="no-learning",
        kind=Kind.PROBE,
        restart=Restart.AFRESH,
        code="batch = next(iter(loader))\nfor _ in range(200):\n    optimizer.zero_grad(); loss = loss_fn(model, batch); loss.backward(); optimizer.step()",
        probe="flow",
        expect="One batch can be overfitted: its loss goes to near 0.",
        within=200,
        lesson="Overfit one batch before the first long run: what cannot do that cannot learn.",
    ),
    Remedy(
        cause="plateau",
        kind=Kind.RECIPE,
        restart=Restart.NEWEST,
        changes=(Change("lr", Rule.TIMES, (0.1,), "If the loss stands because steps are too large, smaller ones let it fall further."),),
        expect="The loss falls further; if it does not, the model is done.",
        within=200,
        lesson="A plateau is not divergence: decide by the validation loss.",
    ),
    Remedy(
        cause="underfit-stopped-early",
        kind=Kind.NOTHING,
        restart=Restart.NEWEST,
        expect="A longer run goes on improving.",
        within=500,
        lesson="Stop when the validation loss stands, not when the budget guess ends.",
    ),
    Remedy(
        cause="silent-divergence",
        kind=Kind.RECIPE,
        changes=(Change("lr", Rule.TIMES, (0.5,), "The loss climbs and nothing else explains it; smaller steps are the first thing to try."),),
        expect="The loss falls again instead of climbing.",
        within=200,
        lesson="Alarm on a loss that rises for 200 steps: no spike and no NaN comes to tell.",
    ),
    Remedy(
        cause="healthy-noise",
        kind=Kind.NOTHING,
        restart=Restart.NOT,
        expect="The excursions keep one size.",
        lesson="Smooth the curve before reading it: small batches have heavy tails.",
    ),
)  # fmt: skip
