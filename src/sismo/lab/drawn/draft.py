"""A language-model run before anybody logged it: one value a step for every quantity, still free of faults.

The loss falls with the *learning rate spent* rather than with the step, so that an LR of zero or a missing warmup shows in
the loss by itself. Faults and families change the arrays; ``sismo.lab.drawn.logging`` turns them into what a log would hold.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sismo.lab.drawn.types import Noise

Array = NDArray[np.float64]

_VOCABULARIES = (512, 8_000, 32_000, 50_257, 50_304, 151_936)
_STEPS = (1_000, 3_001)


@dataclass(slots=True)
class Draft:
    """One run, dense in steps.

    Attributes:
        rng: the only source of chance; faults draw from it too.
        noise: how batches differ. vocab: classes of the output.
        lr, loss, norm: per step; ``gap`` is validation minus training loss, per step.
        sigma: standard deviation of the loss noise. trend: the loss without noise.
        warmup: steps of warmup. planned: steps that the run was meant to have, however many there are.
        scale: loss scale per step, None without fp16. dtype: what the run was trained in.
    """

    rng: np.random.Generator
    noise: Noise
    vocab: int
    lr: Array
    trend: Array
    loss: Array
    norm: Array
    gap: Array
    sigma: float
    warmup: int
    planned: int
    scale: Array | None = None
    dtype: str | None = None

    @property
    def steps(self) -> int:
        """How many steps the run has."""
        return int(self.loss.size)

    @property
    def uniform(self) -> float:
        """Loss of the uniform guess, ln V."""
        return float(np.log(self.vocab))

    def lift(self, delta: Array) -> None:
        """Raises training and validation loss alike, step by step."""
        self.trend = self.trend + delta
        self.loss = self.loss + delta

    def place(self, low: float, high: float) -> int:
        """A step between two fractions of the run."""
        return int(self.rng.uniform(low, high) * self.steps)


def generator(name: str, seed: int, noise: Noise) -> np.random.Generator:
    """The random generator of one recipe at one seed: independent between recipes, the same on every machine."""
    return np.random.default_rng([seed, noise is Noise.HEAVY, *name.encode()])


def draws(rng: np.random.Generator, noise: Noise, size: int, *, correlated: bool | None = None) -> Array:
    """Noise of standard deviation 1: Gaussian or Student-t(3), one time in four with AR(1) correlation."""
    raw = rng.standard_normal(size) if noise is Noise.GAUSSIAN else rng.standard_t(3, size) / np.sqrt(3.0)
    if correlated is None:
        correlated = bool(rng.random() < 0.25)
    if not correlated:
        return raw
    rho = float(rng.uniform(0.2, 0.6))
    out = np.empty(size)
    out[0] = raw[0]
    for i in range(1, size):
        out[i] = rho * out[i - 1] + np.sqrt(1 - rho * rho) * raw[i]
    return out


def warmup_cosine(steps: int, warmup: int, peak: float, floor: float = 0.1) -> Array:
    """Linear warmup from peak / warmup, then a cosine down to ``floor`` of the peak."""
    t = np.arange(steps, dtype=np.float64)
    ramp = peak * (t + 1) / max(1, warmup)
    done = np.clip((t - warmup) / max(1, steps - warmup), 0.0, 1.0)
    return np.where(t < warmup, ramp, peak * (floor + (1 - floor) * 0.5 * (1 + np.cos(np.pi * done))))


def descent(rng: np.random.Generator, lr: Array, start: float, floor: float) -> Array:
    """A fast exponential and a slow power law from ``start`` towards ``floor``, in units of learning rate spent."""
    spent = np.concatenate([[0.0], np.cumsum(lr)[:-1]]) / max(float(lr.max()), 1e-30)
    share, tau = float(rng.uniform(0.4, 0.7)), float(rng.uniform(30, 120))
    power, onset = float(rng.uniform(0.35, 0.7)), float(rng.uniform(20, 80))
    return floor + (start - floor) * (share * np.exp(-spent / tau) + (1 - share) * (1 + spent / onset) ** -power)


def grad_norm(rng: np.random.Generator, noise: Noise, steps: int) -> Array:
    """A gradient norm that decays to a level, with lognormal noise (log-Student when heavy)."""
    level, start = float(rng.uniform(0.2, 1.2)), float(rng.uniform(3, 12))
    base = level * (1 + start * (1 + np.arange(steps) / rng.uniform(5, 40)) ** -rng.uniform(0.8, 1.3))
    return base * np.exp(rng.uniform(0.08, 0.22) * draws(rng, noise, steps, correlated=False))


def healthy(rng: np.random.Generator, noise: Noise, *, steps: int | None = None, lr: Array | None = None) -> Draft:
    """A healthy run of 1,000 to 3,000 steps with warmup and cosine, unless ``lr`` says otherwise."""
    if lr is not None:
        steps = int(lr.size)
    steps = steps or int(rng.integers(*_STEPS))
    warmup = int(rng.uniform(0.02, 0.08) * steps)
    peak = float(10 ** rng.uniform(-4, -3))
    lr = warmup_cosine(steps, warmup, peak) if lr is None else lr
    vocab = int(rng.choice(_VOCABULARIES))
    start = float(np.log(vocab)) + float(rng.uniform(-0.05, 0.25))
    trend = descent(rng, lr, start, float(rng.uniform(0.22, 0.4)) * start)
    sigma = float(rng.uniform(0.006, 0.02)) * start / 2
    return Draft(
        rng=rng,
        noise=noise,
        vocab=vocab,
        lr=lr,
        trend=trend,
        loss=np.maximum(trend + sigma * draws(rng, noise, steps), 0.02 * trend),
        norm=grad_norm(rng, noise, steps),
        gap=np.full(steps, float(rng.uniform(0.01, 0.08))),
        sigma=sigma,
        warmup=warmup,
        planned=steps,
    )


def cut(draft: Draft, steps: int) -> Draft:
    """The same run, ended after so many steps."""
    kept = {name: getattr(draft, name)[:steps] for name in ("lr", "trend", "loss", "norm", "gap")}
    return replace(draft, **kept, scale=None if draft.scale is None else draft.scale[:steps])
