"""From the labels of the real cases to the ids of our causes.

``same`` holds the causes that state what the label states; naming one of them first is *right*. ``near`` holds look-alikes and
neighbours that the same log can't tell apart: naming one is not right, but not wrong about what happened. A label without ``same`` is
one for which silence (or a note) is the right answer.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Label:
    """What counts for one label."""

    same: frozenset[str]
    near: frozenset[str] = frozenset()


SYMPTOMS = frozenset({"silent-divergence", "plateau", "no-learning", "underfit-stopped-early", "eval-nonfinite", "nan-hidden-by-logger"})
"""Causes that say what the curve does rather than why."""


def _label(same: str, near: str = "") -> Label:
    return Label(frozenset(same.split()), frozenset(near.split()))


_BENIGN = _label("")

LABELS: dict[str, Label] = {
    # generalisation and level
    "overfit": _label("overfitting memorising"),
    "plateau": _label("plateau", "lr-too-high term-imbalance no-learning underfit-stopped-early"),
    "no_learning": _label("no-learning", "lr-too-high vanishing-gradients init-too-small frozen-by-mistake"),
    "lr_too_low": _label("lr-too-low lr-zero", "warmup-never-ends no-learning bf16-update-rounding"),
    # leaks and data
    "future_token_leak": _label("causal-mask-broken target-in-input", "train-val-overlap memorising"),
    "train_val_overlap": _label("train-val-overlap", "target-in-input causal-mask-broken"),
    "all_labels_masked": _label("all-labels-masked", "zero-over-zero eval-nonfinite nan-hidden-by-logger tokenization-mismatch"),
    "tokenization_mismatch": _label("tokenization-mismatch", "all-labels-masked degenerate-targets"),
    "bad_labels": _label("label-out-of-range", "nonfinite-input sqrt-at-zero"),
    "nan_in_data": _label("nonfinite-input", "label-out-of-range"),
    "data_repeated_on_resume": _label("resume-repeats-data", "resume-jumps-data resume-lost-optimizer"),
    "data_position_lost_on_resume": _label("resume-jumps-data", "resume-repeats-data resume-lost-optimizer"),
    # schedule
    "lr_too_high": _label("lr-too-high", "exploding-gradients missing-warmup"),
    "early_divergence": _label("lr-too-high missing-warmup", "exploding-gradients init-too-large long-tail-batch"),
    "val_overflow_at_lr_peak": _label("lr-too-high", "eval-nonfinite fp16-overflow"),
    "missing_warmup": _label("missing-warmup", "lr-too-high"),
    "first_step_full_lr": _label("lr-jump missing-warmup", "lr-too-high"),
    "lr_schedule_stepped_n_times": _label("scheduler-stepped-too-often", "lr-zero lr-too-low"),
    "scheduler_not_restored": _label("scheduler-not-restored", "lr-jump resume-lost-optimizer"),
    # loop
    "missing_zero_grad": _label("missing-zero-grad", "silent-divergence lr-too-high"),
    "grad_accum_loss_scaling": _label("accumulation-not-averaged"),
    "clip_before_unscale": _label("clip-before-unscale", "scaled-grad-norm"),
    "batch_too_small": _label("batch-too-small batch-norm-batch-1", "nan-hidden-by-logger exploding-gradients"),
    "batchnorm_batch_1": _label("batch-norm-batch-1 batch-too-small zero-over-zero"),
    "resume_optimizer_state_fp16": _label("resume-lost-optimizer", "inf-into-optimizer fp16-overflow nonfinite-weight"),
    "resume_train_loss_artifact": _label("train-loss-artefact-after-resume", "resumed overfitting"),
    # precision
    "loss_scale_collapse": _label("loss-scale-collapse", "fp16-overflow fp16-on-bf16-model lr-too-high"),
    "fp16_overflow_bf16_pretrained": _label("fp16-on-bf16-model", "loss-scale-collapse fp16-overflow"),
    "half_precision_trainable_weights": _label("fp16-overflow", "zero-over-zero inf-into-optimizer"),
    "bf16_weight_rounding": _label("bf16-update-rounding", "lr-too-low"),
    "amp_hardware_bug": _label("eval-nonfinite fp16-overflow", "all-labels-masked zero-over-zero hardware-fault"),
    # non-finite
    "eval_loss_nan": _label("all-labels-masked zero-over-zero eval-nonfinite", "fp16-overflow"),
    "nan_divergence_unbounded_loss": _label("log-of-zero term-imbalance", "sqrt-at-zero exploding-gradients"),
    "log_of_zero": _label("log-of-zero", "sqrt-at-zero"),
    "ctc_length": _label("ctc-target-too-long log-of-zero", "sqrt-at-zero"),
    "sqrt_zero_gradient": _label("sqrt-at-zero", "log-of-zero"),
    "all_masked_attention": _label("all-keys-masked", "log-of-zero sqrt-at-zero zero-over-zero"),
    "nan_hidden_by_filter": _label("nan-hidden-by-logger"),
    "intermittent_nan_loss": _label("zero-over-zero", "log-of-zero nonfinite-input by-design"),
    "backend_bug_mps": _label("hardware-fault", "exploding-gradients"),
    "comm_overlap_corruption": _label("communication-corruption", "nan-hidden-by-logger"),
    # terms and files
    "vae_kl_explosion": _label("term-imbalance", "lr-too-high"),
    "loss_term_imbalance": _label("term-imbalance"),
    "multi_run_file": _label("several-runs"),
    "per_subject_runs": _label("several-runs"),
    # nothing to alarm about, or too little to judge by
    "healthy": _BENIGN,
    "too_few_points": _label("too-few-points"),
    "nan_step_1": _label("rank-nonfinite hardware-fault", "communication-corruption nonfinite-input"),
    "high_initial_loss": _label("too-few-points", "init-too-large head-biased scaled-grad-norm"),
    "loss_scale_single_overflow": _label("loss-scale-startup"),
    "loss_scale_warmup": _label("loss-scale-startup"),
    "loss_rises_by_design": _label("by-design"),
    "metric_nan_not_loss": _label("metric-nan-only"),
    "rounding_noise": _label("rounded-values"),
    "batch_noise": _label("healthy-noise"),
    "partial_log": _BENIGN,
}
