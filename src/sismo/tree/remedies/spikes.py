"""Remedies for a loss that jumps."""

from __future__ import annotations

from sismo.tree.remedy import Change, Kind, Remedy, Restart, Rule

REMEDIES = (
    Remedy(
        cause="long-tail-batch",
        kind=Kind.RECIPE,
        restart=Restart.NEWEST,
        skip=True,
        changes=(Change("clip", Rule.LOWER, (1.0, 0.5), "So that one batch cannot carry the weights away."),),
        expect="The next batch of that kind lifts the loss for a few steps only, and the norm after clipping stays at the bound.",
        lesson="One spike that heals is the data's tail, not the optimizer: clip, write the batch down, and leave the learning rate alone.",
    ),
    Remedy(
        cause="duplicate-batch",
        kind=Kind.CODE,
        code="sampler.set_epoch(epoch)  # and one seed per worker: worker_init_fn, generator",
        probe="batch",
        expect="No fingerprint comes twice, and the loss neither falls on repeats nor jumps after them.",
        within=200,
        lesson="Record a fingerprint of each batch: a loader that repeats looks like learning until fresh data comes.",
    ),
    Remedy(
        cause="labels-corrupted",
        kind=Kind.PROBE,
        probe="batch",
        expect="A batch from before the step has its old loss on the present weights; with the bad part left out the loss goes on at its old level.",
        within=50,
        lesson="Check targets when a shard is opened (range, share of labels, a decoded example), not when the loss has jumped.",
    ),
    Remedy(
        cause="optimizer-state-corrupted",
        kind=Kind.RECIPE,
        skip=True,
        changes=(Change("clip", Rule.LOWER, (0.5, 0.25), "So that the next odd batch cannot fill the moments as that one did."),),
        expect="The loss passes the step at its level of before and stays there.",
        within=50,
        lesson="Keep a checkpoint every 200 steps or so: moments that hold a bad step cannot be mended, only gone back behind.",
    ),
    Remedy(
        cause="lr-too-high",
        kind=Kind.RECIPE,
        changes=(Change("lr", Rule.TIMES, (0.5,), "Steps were larger than the curvature bears at the peak of the schedule."),),
        expect="The loss passes the step of the first jump without one, and the spikes come no oftener.",
        within=200,
        lesson="Sweep the peak LR on a short run to the end of warmup, and take half of the largest one that stays calm.",
    ),
    Remedy(
        cause="attention-logit-growth",
        kind=Kind.CODE,
        code="q, k = self.q_norm(q), self.k_norm(k)  # RMSNorm over the head dimension, before the scores",
        expect="The largest attention logit stays under 100 and the entropy of the heads stops falling.",
        within=500,
        lesson="Log the largest attention logit per head: it grows long before the loss says anything.",
    ),
    Remedy(
        cause="output-logit-drift",
        kind=Kind.CODE,
        restart=Restart.NEWEST,
        code="loss = loss + 1e-4 * logits.float().logsumexp(-1).square().mean()",
        expect="The mean of log Z comes back towards 0.",
        within=500,
        lesson="A z-loss from the start costs nothing and keeps the output softmax in range.",
    ),
)  # fmt: skip
