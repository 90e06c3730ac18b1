"""S3: mixed precision."""

from __future__ import annotations

from sismo.tree.types import Node

TREE = "stability"
ROOT = False
_S = "S3 Mixed precision"

NODES = (
    Node(
        id="S3.Q1",
        section=_S,
        asks="Is any gradient norm infinite or NaN, or did the scaler report an overflow?",
        why="In fp16 it means that something passed 65504; one now and then is how the scaler works.",
        signals=("grad-norm-nonfinite", "overflow"),
        yes=("S3.Q2", "fp16-overflow", "loss-scale-frozen", "loss-scale-startup", "inf-into-optimizer"),
        no=("S3.Q2", "S4.Q1"),
        unknown=("S3.Q2", "S4.Q1"),
        confused_with="Start-up: a scaler that begins at 65536 or 2^32 has to overflow until it finds its level.",
        try_next="Look at the history of the loss scale.",
        references="stability tree Q3.1",
    ),
    Node(
        id="S3.Q2",
        section=_S,
        asks="Has the loss scale collapsed, or does it never move?",
        why="It should double every N clean steps and halve at each overflow. Constant: scaling is off. Under 1: activations are too large for good.",
        signals=("loss-scale-collapsed", "loss-scale-under-one", "overflow-at-every-step", "loss-scale-ignores-overflow", "overflow-often"),
        yes=("S3.Q3", "loss-scale-collapse", "loss-scale-frozen", "fp16-on-bf16-model", "fp16-overflow"),
        no=("S3.Q3", "loss-scale-startup"),
        unknown=("S3.Q3", "loss-scale-startup"),
        confused_with="Placeholder values (-1, or 1.0 on all rows) of a run without scaling.",
        try_next="Collapsed: look at initialisation and the residual stream. Constant: turn dynamic scaling on.",
        references="stability tree Q3.2; docs/sources.md, detector 8",
    ),
    Node(
        id="S3.Q3",
        section=_S,
        asks="Is it the signature of an overflow rather than of a structural NaN?",
        why="Overflow: first non-finite in a gradient or activation, the scale finite and then halving, the forward pass sometimes clean. fp32 NaN: first in the loss itself, no scale, the forward pass seldom clean.",
        signals=("norm-nonfinite-before-loss", "loss-leaps-for-one-row", "activation-near-limit", "fp32-replay-clean"),
        yes=("S3.Q4", "fp16-overflow"),
        no=("S3.Q4",),
        unknown=("S3.Q4", "fp16-overflow"),
        try_next="Re-run one step in fp32 on the same data: clean means overflow.",
        references="stability tree Q3.3",
    ),
    Node(
        id="S3.Q4",
        section=_S,
        asks="Do gradients get lost in half precision, or is clipping done on scaled ones?",
        why="Zeros where gradients should be, updates that bf16 rounds away, or a clip that acts before unscaling make a run that goes nowhere.",
        signals=("gradient-zeros", "update-under-rounding", "norm-is-the-loss-scale", "norm-thousands-over-clip"),
        yes=("fp16-underflow", "bf16-update-rounding", "clip-before-unscale", "scaled-grad-norm", "S4.Q1"),
        no=("S4.Q1", "bf16-update-rounding"),
        unknown=("S4.Q1", "bf16-update-rounding"),
        try_next="GradScaler; halve the LR if the scale keeps collapsing; bf16 instead of fp16.",
        references="stability tree Q3.4; docs/sources.md, detector 7",
    ),
)  # fmt: skip
