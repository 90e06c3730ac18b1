"""Runs with all six panels, made by a formula: a healthy one and the three failures of the user's table."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from sismo.records.types import Event, Header, Run, Series

STEPS = 400
LAYERS = 4
HEADS = 2
PEAK = 3e-3
VOCABULARY = 512

Floats = NDArray[np.float64]


def healthy(steps: int = STEPS, layers: int = LAYERS, seed: int = 0) -> Run:
    """Falls smoothly, warms up, everything in scale."""
    return _run("healthy", _parts(steps, layers, seed), steps)


def bad_init(steps: int = STEPS, layers: int = LAYERS) -> Run:
    """Failure 1: activations are enormous at step 0, the norm explodes at once, the loss is lost by step 30."""
    parts = _parts(steps, layers, 1)
    t = np.arange(steps, dtype=np.float64)
    with np.errstate(over="ignore"):
        growth = np.exp(np.minimum(t / 2.0, 60))
    for name in parts:
        if name.startswith("act_"):
            parts[name] = parts[name] * 120 * growth
        elif name.startswith("spectral"):
            parts[name] = parts[name] * 100 * np.sqrt(growth)
    parts["loss/train"] = 90 * np.exp(np.minimum(t / 6.0, 20)) + np.random.default_rng(3).normal(0, 4, steps)
    parts["grad_norm/pre"] = 2e4 * growth
    parts["grad_norm/post"] = np.minimum(parts["grad_norm/pre"], 1.0)
    for name, values in parts.items():
        if name.startswith("dead_units"):
            values[24:] = 1.0
        elif not name.startswith("lr"):
            values[24:] = np.nan
    return _run("init", parts, steps)


def no_warmup(steps: int = STEPS, layers: int = LAYERS) -> Run:
    """Failure 2: the LR starts at its peak, the norm spikes in the first steps, the loss makes a V and comes back."""
    parts = _parts(steps, layers, 2)
    t = np.arange(steps, dtype=np.float64)
    parts["lr/0"] = PEAK * (0.1 + 0.45 * (1 + np.cos(np.pi * t / steps)))
    burst = np.exp(-(((t - 3) / 2.0) ** 2))
    parts["grad_norm/pre"] = parts["grad_norm/pre"] * (1 + 25 * burst)
    parts["grad_norm/post"] = np.minimum(parts["grad_norm/pre"], 1.0)
    parts["loss/train"] = parts["loss/train"] + 2.2 * np.exp(-(((t - 9) / 4.0) ** 2)) - 1.1 * np.exp(-(((t - 3) / 2.0) ** 2))
    for name in parts:
        if name.startswith(("act_", "spectral")):
            parts[name] = parts[name] * (1 + 1.5 * np.exp(-(((t - 8) / 10.0) ** 2)))
    return _run("warmup", parts, steps)


def broken_mask(steps: int = STEPS, layers: int = LAYERS) -> Run:
    """Failure 3: both losses go to almost 0 at once, and half of the heads look at a single key."""
    parts = _parts(steps, layers, 4)
    t = np.arange(steps, dtype=np.float64)
    rng = np.random.default_rng(5)
    parts["loss/train"] = 6.25 * np.exp(-t / 22) + 0.012 * np.exp(0.2 * rng.standard_normal(steps))
    parts["loss/val"] = 6.25 * np.exp(-t / 22) + 0.013 * np.exp(0.1 * rng.standard_normal(steps))
    for layer in range(layers):
        parts[f"head_entropy/blocks.{layer}.1"] = 0.06 + 0.7 * np.exp(-t / 30) + 0.01 * rng.random(steps)
    return _run("mask", parts, steps)


def _parts(steps: int, layers: int, seed: int) -> dict[str, Floats]:
    rng = np.random.default_rng(seed)
    t = np.arange(steps, dtype=np.float64)
    noise = rng.standard_normal
    parts: dict[str, Floats] = {
        "loss/train": 2.1 + 4.1 * (1 + t / 30) ** -0.8 + 0.03 * noise(steps),
        "loss/val": 2.2 + 4.0 * (1 + t / 30) ** -0.8 + 0.01 * noise(steps),
        "lr/0": PEAK * np.minimum((t + 1) / 40, 1) * (0.1 + 0.45 * (1 + np.cos(np.pi * t / steps))),
        "grad_norm/pre": (0.7 + 1.4 * np.exp(-t / 40)) * np.exp(0.12 * noise(steps)),
    }
    parts["grad_norm/post"] = np.minimum(parts["grad_norm/pre"], 1.0)
    for layer in range(layers):
        name = f"blocks.{layer}"
        parts[f"act_mean_abs/{name}"] = (0.8 + 0.05 * layer) * (1 + 0.2 * t / steps) * np.exp(0.02 * noise(steps))
        parts[f"act_max_abs/{name}"] = 6.0 * parts[f"act_mean_abs/{name}"]
        parts[f"spectral/{name}.mlp"] = 1.5 + 0.06 * layer + 0.8 * t / steps + 0.005 * noise(steps)
        parts[f"dead_units/{name}"] = np.clip(0.05 + 0.01 * noise(steps), 0, 1)
        for head in range(HEADS):
            parts[f"head_entropy/{name}.{head}"] = 0.55 + 0.4 * np.exp(-t / 150) - 0.02 * head + 0.01 * noise(steps)
    return parts


def _run(name: str, parts: Mapping[str, Floats], steps: int) -> Run:
    t = np.arange(steps, dtype=np.int64)
    series: dict[str, Series] = {}
    for channel, values in parts.items():
        every = 20 if channel == "loss/val" else 1
        series[channel] = Series(channel, t[::every], values[::every])
    header = Header("sismo-run", name="", vocab_size=VOCABULARY, clip=1.0, total_steps=steps, warmup_steps=0 if name == "warmup" else 40,
                    checkpoint_every=100, config={"fault": name, "seed": 0})  # fmt: skip
    return Run(f"runs/{name}", header, series, tuple(Event(step, "checkpoint", {}) for step in range(99, steps, 100)))
