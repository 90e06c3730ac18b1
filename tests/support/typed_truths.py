"""More logs with their truth, as people's own loops and trainers that have no writer print them: the lines are typed here."""

# ruff: noqa: E501 - lines of logs are as long as they are
from __future__ import annotations

import json
import math
import random
from collections.abc import Callable

from support.truths import LOGS, falls, norm, told, warm

Line = Callable[[int, random.Random], str]
"""What a log prints in its row number ``at``."""


def typed(name: str, count: int, line: Line, causes: str = "", *, after: str = "", file: str = "out.log") -> None:
    """A log of so many rows."""
    chance = random.Random(name)
    told(name, file, "".join(f"{line(at, chance)}\n" for at in range(count)) + after, causes)


def _healthy_ones() -> None:
    typed(
        "Chinese, healthy",
        120,
        lambda at, chance: f"第 {at // 10 + 1} 轮 [{at % 10 * 40 + 40}/400] 损失: {falls(at, chance):.4f} 学习率: {warm(at):.6f}",
    )
    typed(
        "RetinaFace, healthy",
        200,
        lambda at, chance: (
            f"Epoch:{at // 40 + 1}/250 || Epochiter: {at % 40 * 10 + 1}/400 || Iter: {at * 10 + 1}/100000 || "
            f"Loc: {falls(at, chance, top=4.4, floor=1.1):.4f} Cla: {falls(at, chance, top=10.2, floor=1.6):.4f} "
            f"Landm: {falls(at, chance, top=18, floor=2.2):.4f} || LR: 0.00100000 || Batchtime: 0.8312 s || ETA: 22:14:03"
        ),
    )
    typed(
        "DQN: the loss grows with what there is to win",
        300,
        lambda at, chance: (
            f"Episode: {2 * at}, Total Reward: {10 + 180 * (1 - math.exp(-at / 90)) + 15 * chance.gauss(0, 1):.1f}, "
            f"Loss: {(0.02 + 1.6 * (1 - math.exp(-at / 120))) * math.exp(0.35 * chance.gauss(0, 1)):.5f}, Epsilon: {max(0.02, 0.985**at):.3f}"
        ),
    )
    typed(
        "WGAN, healthy",
        200,
        lambda at, chance: (
            f"[Epoch {at // 20}/10] [Batch {at % 20 * 40}/800] [D loss: {-3 - 8 * math.exp(-at / 40) + 0.4 * chance.gauss(0, 1):.6f}] "
            f"[G loss: {1.1 * chance.gauss(0, 1):.6f}]"
        ),
    )
    typed(
        "from the middle of a run",
        200,
        lambda at, chance: (
            f"step {120_000 + 50 * at} | train loss {2.13 - 8e-5 * at + 0.02 * chance.gauss(0, 1):.4f} | "
            f"grad norm {norm(400, chance, 0.35):.3f} | lr {1.8e-4 * (1 - at / 4000):.3e} | 231 ms"
        ),
    )
    typed(
        "batches that grow",
        300,
        lambda at, chance: json.dumps(
            {
                "step": at * 10,
                "loss": round(falls(at, chance, top=8.8, floor=2.9, noise=0.05 if at < 150 else 0.01), 4),
                "batch_size": 64 if at < 150 else 1024,
            }
        ),
        file="log.jsonl",
    )
    typed(
        "L-BFGS after Adam",
        180,
        lambda at, chance: (
            f"it {at * 100:>6}  loss {(0.8 * math.exp(-at / 30) + 0.011 if at < 150 else 2e-4) * math.exp(0.05 * chance.gauss(0, 1)):.3e}"
        ),
    )
    typed(
        "sequences that get longer",
        400,
        lambda at, chance: (
            f"{at * 25},{512 if at < 200 else 2048},"
            f"{falls(at, chance, noise=0.01) + (0.9 * math.exp(-(at - 200) / 25) if at >= 200 else 0):.4f},{norm(at, chance):.3f}"
            if at
            else "step,seq_len,loss,grad_norm"
        ),
        file="log.csv",
    )


def _broken_ones() -> None:
    def ssd(at: int, chance: random.Random) -> str:
        grown = 1.35 ** max(0, at - 60) if at < 82 else math.nan
        return (
            f"Epoch:{at // 50} || epochiter: {at % 50 * 10}/500|| Totel iter {at * 10} || L: {(3.2 + 0.2 * chance.gauss(0, 1)) * grown:.4f} "
            f"C: {(5.1 + 0.3 * chance.gauss(0, 1)) * grown:.4f}||Batch time: 0.4121 sec. ||LR: 0.00400000"
        )

    typed("SSD climbs to NaN", 200, ssd, "lr-too-high exploding-gradients")
    typed(
        "German, overfitting",
        60,
        lambda at, chance: (
            f"Epoche {at + 1}/60 - Verlust: {0.9 * math.exp(-at / 13) + 0.02 + abs(0.004 * chance.gauss(0, 1)):.4f} - Validierungsverlust: "
            f"{0.55 + 0.35 * math.exp(-at / 4) + 0.012 * max(0, at - 9) + 0.008 * chance.gauss(0, 1):.4f}"
        ).replace(".", ","),
        "overfitting",
    )
    typed(
        "Japanese, nothing is learnt",
        60,
        lambda at, chance: f"エポック {at + 1}/60 - 損失: {math.log(10) + 0.004 * chance.gauss(0, 1):.4f} - 正解率: 0.1013",
        "no-learning",
    )
    typed(
        "Docker, the rate jumps",
        200,
        lambda at, chance: json.dumps(
            {
                "log": f"step {at * 10} | loss {falls(at, chance) + (0.5 + 1.4 * math.exp(-(at - 130) / 60) if at >= 130 else 0):.4f} | "
                f"lr {1e-2 if at >= 130 else 1e-3:.1e}\n",
                "stream": "stdout",
            }
        ),
        "lr-jump",
        file="container-json.log",
    )
    typed(
        "detectron2 dies between two rows",
        9,
        lambda at, chance: (
            f"[03/11 08:00:0{at} d2.utils.events]:  eta: 1 day, 2:11:01  iter: {at * 20 + 19}  total_loss: {falls(at, chance, top=2.3, floor=0.9):.4f}  "
            f"loss_cls: 0.4  lr: {2e-5 * (at + 1) * 20:.6f}"
        ),
        "log-of-zero sqrt-at-zero nonfinite-input nonfinite-weight fp16-overflow",
        after="Traceback (most recent call last):\nFloatingPointError: Loss became infinite or NaN at iteration=187!\n",
    )
    typed(
        "PaddleNLP diverges as the rate rises",
        260,
        lambda at, chance: (
            f"[2024-03-11 08:{at // 60:02d}:{at % 60:02d},114] [    INFO] - loss: "
            f"{falls(at, chance, floor=5.9) + 0.25 * min(max(0, at - 170), 60) ** 0.8 * (1 + 0.04 * chance.gauss(0, 1)):.6f}, "
            f"learning_rate: {5e-6 * (at + 1):.6e}, global_step: {10 * at + 10}, "
            f"grad_norm: {norm(at, chance) * math.exp(min(4, max(0, at - 150) / 16)):.4f}"
        ),
        "lr-too-high",
    )
    anomaly = "RuntimeError: Function 'DivBackward0' returned nan values in its 0th output.\n"
    typed(
        "detect_anomaly names a division",
        60,
        lambda at, chance: f"it {at * 5} loss {falls(at, chance):.4f}",
        "zero-over-zero",
        after="Traceback (most recent call last):\n" + anomaly,
    )


_healthy_ones()
_broken_ones()

__all__ = ["LOGS"]
