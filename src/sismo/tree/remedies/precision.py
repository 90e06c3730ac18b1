"""Remedies for what half precision brings."""

from __future__ import annotations

from sismo.tree.remedy import Change, Kind, Remedy, Restart, Rule

_TO_BF16 = Change("precision", Rule.SET, ("bf16",), "bf16 has the range of fp32: 65504 is no limit there.")

REMEDIES = (
    Remedy(
        cause="fp16-overflow",
        kind=Kind.RECIPE,
        changes=(_TO_BF16,),
        code="scaler = torch.amp.GradScaler()  # where the GPU has no bf16: dynamic scaling, weights in fp32",
        probe="replay",
        expect="The step has a finite loss and a finite gradient norm, and no later step overflows for good.",
        within=200,
        lesson="fp16 ends at 65504: use bf16 where the hardware has it, and dynamic loss scaling where it has not.",
    ),
    Remedy(
        cause="fp16-on-bf16-model",
        kind=Kind.RECIPE,
        restart=Restart.AFRESH,
        changes=(_TO_BF16,),
        expect="No step is skipped, and the loss falls from the first steps on.",
        within=20,
        lesson="Train a model in the dtype that its checkpoint was made in; bf16 weights do not fit fp16.",
    ),
    Remedy(
        cause="loss-scale-collapse",
        kind=Kind.RECIPE,
        changes=(Change("lr", Rule.TIMES, (0.5,), "Activations had outgrown fp16 at this learning rate; if it collapses again, bf16."),),
        expect="The loss scale holds its level and doubles now and then; steps are applied again.",
        within=200,
        lesson="A scale that only halves means that nothing is learned, whatever the loss prints: alarm on a scale under 1.",
    ),
    Remedy(
        cause="loss-scale-frozen",
        kind=Kind.CODE,
        code="scaler.step(optimizer); scaler.update()  # with GradScaler(enabled=True), in every step",
        expect="The scale halves at the next overflow, and that step is skipped.",
        within=200,
        lesson="A scaler that is never updated is a constant: watch that the scale moves.",
    ),
    Remedy(
        cause="loss-scale-startup",
        kind=Kind.NOTHING,
        restart=Restart.NOT,
        expect="The scale holds and the loss falls.",
        lesson="A few overflows at the start are how dynamic scaling finds its level.",
    ),
    Remedy(
        cause="fp16-underflow",
        kind=Kind.RECIPE,
        changes=(Change("init-scale", Rule.RAISE, (65536.0,), "Small gradients are flushed to 0 in fp16 unless they are scaled up."),),
        code="scaler = torch.amp.GradScaler(init_scale=65536.0)",
        expect="The share of gradient entries that are exactly 0 falls.",
        within=50,
        lesson="Log the share of zero gradients under fp16: what underflows does not learn, and says nothing.",
    ),
    Remedy(
        cause="bf16-update-rounding",
        kind=Kind.CODE,
        code="model = model.float()  # weights in fp32, bf16 only inside torch.autocast",
        probe="flow",
        expect="A weight differs after one step, and the loss begins to fall.",
        within=200,
        lesson="A bf16 weight takes no update under 1/256 of its size: keep weights in fp32 and compute in bf16.",
    ),
    Remedy(
        cause="inf-into-optimizer",
        kind=Kind.CODE,
        code="norm = clip_grad_norm_(model.parameters(), 1.0); torch.isfinite(norm) and optimizer.step()",
        probe="nan",
        expect="The step with the infinite norm is left out, and the loss of the next ones is finite.",
        within=20,
        lesson="One infinite gradient ruins the moments for good: never step on a norm that is not finite.",
    ),
    Remedy(
        cause="clip-before-unscale",
        kind=Kind.CODE,
        restart=Restart.AFRESH,
        code="scaler.unscale_(optimizer)  # before clip_grad_norm_",
        expect="The logged norm is an ordinary one (not in the thousands), and the loss falls.",
        within=200,
        lesson="Under a scaler the order is backward, unscale_, clip, step, update.",
    ),
)  # fmt: skip
