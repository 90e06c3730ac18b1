"""What is said about the three failures, as measurements: each claim with the configuration that it is tried on and the range it names."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from sismo.lab.exam import Options
from sismo.records.types import Run


class Trial(NamedTuple):
    """A configuration that claims are tried on: a failure under some options, for as many steps as the claims speak of."""

    failure: str
    options: Options
    about: str


class Claim(NamedTuple):
    """One sentence about a failure.

    Attributes:
        says: the claim. trial: what it is tried on. measure: of the broken run and the healthy one at the same seed and options.
        low, high: the range that the claim names, both ends included. unit: of the number.
    """

    says: str
    trial: Trial
    measure: Callable[[Run, Run], float]
    low: float
    high: float
    unit: str = ""

    def holds(self, value: float) -> bool:
        """Whether a number lies in the range; a number that is not there never does."""
        return self.low <= value <= self.high


def first(channel: str) -> Callable[[Run, Run], float]:
    """A channel at step 0 against the healthy run's."""
    return lambda broken, healthy: broken.series[channel].values[0] / healthy.series[channel].values[0]


def largest(channel: str, until: int) -> Callable[[Run, Run], float]:
    """The largest value of a channel up to a step."""
    return lambda broken, healthy: float(np.nanmax(_until(broken, channel, until)))


def smallest(channel: str, until: int) -> Callable[[Run, Run], float]:
    """The smallest value of a channel up to a step."""
    return lambda broken, healthy: float(np.nanmin(_until(broken, channel, until)))


def lost(broken: Run, healthy: Run) -> float:
    """The first step whose loss is no number; infinite where there is none."""
    bad = np.nonzero(~np.isfinite(broken.series["loss/train"].values))[0]
    return float(bad[0]) if bad.size else np.inf


def under(limit: float) -> Callable[[Run, Run], float]:
    """The first step with a training loss under a limit; infinite where there is none."""

    def measure(broken: Run, healthy: Run) -> float:
        hits = np.nonzero(broken.series["loss/train"].values < limit)[0]
        return float(hits[0]) if hits.size else np.inf

    return measure


def against_steady(channel: str, until: int) -> Callable[[Run, Run], float]:
    """The largest value up to a step over the median of the last half."""

    def measure(broken: Run, healthy: Run) -> float:
        values = broken.series[channel].values
        return float(np.nanmax(_until(broken, channel, until)) / np.nanmedian(values[len(values) // 2 :]))

    return measure


def rebound(broken: Run, healthy: Run) -> float:
    """How far the loss climbs back within the first 50 steps, over where it had got to; 1 is never."""
    values = broken.series["loss/train"].values[:50]
    return float(np.max(values / np.minimum.accumulate(values)))


def validation_over_training(broken: Run, healthy: Run) -> float:
    """The last validation loss over the mean of the last 20 training losses: single batches scatter."""
    return float(broken.series["loss/val"].values[-1] / broken.series["loss/train"].values[-20:].mean())


def of_entropy(broken: Run, healthy: Run) -> float:
    """The last validation loss over the entropy of the data."""
    return float(broken.series["loss/val"].values[-1] / (broken.header.entropy or np.nan))


def healthy_of_entropy(broken: Run, healthy: Run) -> float:
    """The same of the healthy run."""
    return of_entropy(healthy, healthy)


def dead_heads(at: int) -> Callable[[Run, Run], float]:
    """Heads whose entropy is under a quarter of log(visible), in a row counted from either end."""
    return lambda broken, healthy: float(sum(series.values[at] < 0.25 for series in broken.family("head_entropy")))


def against_largest(channel: str) -> Callable[[Run, Run], float]:
    """The first value of a channel over its largest."""
    return lambda broken, healthy: float(broken.series[channel].values[0] / broken.series[channel].values.max())


def end_against_start(channel: str) -> Callable[[Run, Run], float]:
    """The last value of a channel over its first."""
    return lambda broken, healthy: float(broken.series[channel].values[-1] / broken.series[channel].values[0])


def share_of_healthy(channel: str) -> Callable[[Run, Run], float]:
    """The median of a channel over that of the healthy run."""
    return lambda broken, healthy: float(np.median(broken.series[channel].values) / np.median(healthy.series[channel].values))


def _until(run: Run, channel: str, step: int) -> np.ndarray:
    series = run.series[channel]
    return series.values[series.steps <= step]


_PLAIN = Trial("bad-init", Options(steps=300), "init × 100")
_TORCH = Trial("bad-init", Options(steps=100, init="torch"), "init × 100, PyTorch's own")
_NAIVE = Trial("bad-init", Options(steps=100, naive_loss=True), "init × 100, naive loss")
_XAVIER = Trial("bad-init", Options(steps=100, naive_loss=True, init="xavier", scale=30), "Xavier × 30, naive loss")
_WARM = Trial("no-warmup", Options(steps=300), "warmup 0")
_HOT = Trial("no-warmup", Options(steps=300, lr=0.1), "warmup 0, lr 0.1")
_MASK = Trial("broken-mask", Options(steps=300), "mask of ones")
_FAST = Trial("broken-mask", Options(steps=300, lr=1e-2), "mask of ones, lr 0.01")
_EMBEDDING, _ATTENTION, _LOGITS = "act_mean_abs/tokens", "act_mean_abs/blocks.0.attention", "act_mean_abs/head"
_MATRIX = "spectral/blocks.0.attention.qkv.weight"

CLAIMS = (
    Claim("the embedding is 50 to 200 times the healthy one at step 0", _PLAIN, first(_EMBEDDING), 50, 200, "×"),
    Claim("the attention of layer 0 is 50 to 200 times the healthy one at step 0", _PLAIN, first(_ATTENTION), 50, 200, "×"),
    Claim("the logits are in the thousands at step 0", _PLAIN, largest("act_max_abs/head", 0), 1e3, 1e4),
    Claim("the gradient norm reaches 1e4 to 1e6 within 5 steps", _PLAIN, largest("grad_norm/pre", 5), 1e4, 1e6),
    Claim("the gradient norm reaches 1e4 to 1e6 within 5 steps", _TORCH, largest("grad_norm/pre", 5), 1e4, 1e6),
    Claim("the norm after clipping stays at 1.0", _PLAIN, smallest("grad_norm/post", 100), 0.99, 1.01),
    Claim("the loss is NaN within 5 to 30 steps", _PLAIN, lost, 5, 30),
    Claim("the loss is NaN within 5 to 30 steps", _NAIVE, lost, 5, 30),
    Claim("the loss is NaN within 5 to 30 steps", _XAVIER, lost, 5, 30),
    Claim("spectral norms explode: ten times and more by the end", _PLAIN, end_against_start(_MATRIX), 10, np.inf, "×"),
    Claim("all heads are dead at step 0", _PLAIN, dead_heads(0), 8, 8),
    Claim("the LR begins at its maximum", _WARM, against_largest("lr/0"), 1, 1, "×"),
    Claim(
        "the gradient norm of the first 5 steps is 10 to 50 times the steady one", _WARM, against_steady("grad_norm/pre", 5), 10, 50, "×"
    ),
    Claim("the gradient norm of the first 5 steps is 10 to 50 times the steady one", _HOT, against_steady("grad_norm/pre", 5), 10, 50, "×"),
    Claim("the loss has the shape of a V in the first 50 steps", _WARM, rebound, 1.2, np.inf, "×"),
    Claim("the loss has the shape of a V in the first 50 steps", _HOT, rebound, 1.2, np.inf, "×"),
    Claim("activations of the first 50 steps leave the steady level for a while", _HOT, against_steady(_ATTENTION, 50), 1.5, np.inf, "×"),
    Claim("spectral norms of the first 50 steps leave the steady level for a while", _HOT, against_steady(_MATRIX, 50), 1.5, np.inf, "×"),
    Claim("no head is dead once it has recovered", _WARM, dead_heads(-1), 0, 0),
    Claim("no head is dead once it has recovered", _HOT, dead_heads(-1), 0, 0),
    Claim("the LR is that of a healthy run", _MASK, share_of_healthy("lr/0"), 1, 1, "×"),
    Claim("the training loss is under 0.1 within 100 to 200 steps", _MASK, under(0.1), 100, 200),
    Claim("the training loss is under 0.1 within 100 to 200 steps", _FAST, under(0.1), 100, 200),
    Claim("the validation loss goes along with the training loss", _MASK, validation_over_training, 0.5, 1.5, "×"),
    Claim("the loss is under the entropy of the corpus", _MASK, of_entropy, 0, 0.9, "×"),
    Claim("a healthy validation loss is not", _MASK, healthy_of_entropy, 1, np.inf, "×"),
    Claim("four heads of eight are dead, or more", _MASK, dead_heads(-1), 4, 8),
    Claim("the gradient norm is that of a healthy run", _MASK, share_of_healthy("grad_norm/pre"), 0.5, 2, "×"),
    Claim("activations are those of a healthy run", _MASK, share_of_healthy(_ATTENTION), 0.5, 2, "×"),
    Claim("spectral norms are those of a healthy run", _MASK, share_of_healthy(_MATRIX), 0.5, 2, "×"),
)
