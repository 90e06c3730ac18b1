"""Thirty logs with their truth, drawn for the tests: a fault (or none) in the numbers, in the log of some trainer.

Nothing here knows how logs are read: curves are drawn from formulas, and the writers in ``sismo.bench.trainers`` print them.
"""

# ruff: noqa: E501 - lines of logs are as long as they are
from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import NamedTuple

from sismo.bench.trainers import ALL, Row

NAN = float("nan")


class Truth(NamedTuple):
    """One log.

    Attributes:
        name: what it is. file, text: the log. status: ``broken``, ``healthy`` or ``unknown``.
        causes: ids that count as right for a broken one.
    """

    name: str
    file: str
    text: str
    status: str
    causes: frozenset[str] = frozenset()


Shape = Callable[[int, random.Random], Row]

LOGS: list[Truth] = []


def drawn(name: str, trainer: str, count: int, shape: Shape, causes: str = "", *, before: str = "", after: str = "") -> None:
    """A log of one trainer: ``shape`` gives row number ``at``, whose step is then the trainer's own."""
    kind, chance = ALL[trainer], random.Random(name)
    rows = [shape(at, chance)._replace(step=kind.first + at * kind.every) for at in range(count)]
    told(name, kind.file, before + kind.text(rows) + after, causes)


def told(name: str, file: str, text: str, causes: str = "") -> None:
    """A log as it stands. Without causes it is healthy; ``?`` says that nobody can tell."""
    status = "unknown" if causes == "?" else "broken" if causes else "healthy"
    LOGS.append(Truth(name, file, text, status, frozenset(causes.split()) - {"?"}))


def falls(at: int, chance: random.Random, *, top: float = 10.6, floor: float = 3.1, half: float = 60.0, noise: float = 0.02) -> float:
    """A loss that falls as a healthy one does, with noise in proportion."""
    return (floor + (top - floor) * (1 + at / half) ** -1.1) * (1 + noise * chance.gauss(0, 1))


def warm(at: int, *, peak: float = 6e-4, ramp: int = 30, total: int = 400) -> float:
    """A rate that rises over ``ramp`` rows and then falls as a cosine."""
    return peak * min(1.0, (at + 1) / ramp) * (0.55 + 0.45 * math.cos(math.pi * min(1.0, at / total)))


def norm(at: int, chance: random.Random, level: float = 0.7) -> float:
    """A gradient norm that settles."""
    return level * (1 + 6 / (1 + at / 8)) * math.exp(0.12 * chance.gauss(0, 1))


def healthy(at: int, chance: random.Random) -> Row:
    return Row(0, falls(at, chance), warm(at), norm(at, chance), falls(at, chance) + 0.05 if at % 20 == 19 else None)


def _healthy_ones() -> None:
    drawn("llm.c, healthy", "llmc", 400, healthy)
    drawn(
        "timm, healthy",
        "timm",
        300,
        lambda at, chance: Row(
            0, falls(at, chance, top=6.95, floor=2.2), warm(at), 1.0, falls(at, chance, top=6.9, floor=2.0) if at % 25 == 24 else None
        ),
    )
    drawn(
        "nnU-Net, a negative Dice loss and a class without a case",
        "nnunet-2",
        250,
        lambda at, chance: Row(0, -0.85 + 0.9 * math.exp(-at / 25) + 0.01 * chance.gauss(0, 1), 0.01 * (1 - at / 1000) ** 0.9),
    )
    drawn(
        "Ultralytics, a class without boxes",
        "ultralytics-terminal",
        80,
        lambda at, chance: Row(0, falls(at, chance, top=9.0, floor=2.5, half=10)),
    )
    drawn(
        "ESPnet, a loss in the hundreds",
        "espnet",
        200,
        lambda at, chance: Row(
            0,
            falls(at, chance, top=412.0, floor=14.0, half=20),
            warm(at),
            norm(at, chance, 12.0),
            falls(at, chance, top=380.0, floor=15.0, half=20) if at % 5 == 4 else None,
        ),
    )
    drawn(
        "GRPO, a loss around zero that rises",
        "trl-grpo",
        150,
        lambda at, chance: Row(0, 0.0004 * at / 15 + 0.004 * chance.gauss(0, 1), 1e-6, 0.2 * math.exp(0.2 * chance.gauss(0, 1))),
    )
    drawn(
        "OLMo, with a harmless bump",
        "olmo",
        300,
        lambda at, chance: healthy(at, chance)._replace(loss=falls(at, chance) + (0.5 if at == 177 else 0.0)),
    )
    drawn(
        "DeepSpeed, out of memory at the end",
        "deepspeed",
        120,
        healthy,
        after="torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 39.59 GiB total capacity)\n",
    )
    drawn(
        "YOLOX, one decimal",
        "yolox",
        150,
        lambda at, chance: Row(0, round(falls(at, chance, top=14.0, floor=3.0, half=20, noise=0.05), 1), warm(at)),
    )
    search = "".join(
        f"[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: {2 ** (28 - at)}, reducing to {2 ** (27 - at)}\n"
        for at in range(12)
    )
    drawn("GPT-NeoX, the scale is searched at the start", "gpt-neox", 250, healthy, before=search)
    drawn(
        "Marian, words that only sound bad",
        "marian",
        120,
        healthy,
        before="[config] overwrite: nan-tracer\n[config] check-nan: true\n[config] inf-mode: info\n",
    )


def _numbers() -> None:
    def jump(at: int, chance: random.Random) -> Row:
        up = at >= 220
        return Row(
            0,
            falls(at, chance) + (1.6 * (1 - math.exp(-(at - 220) / 4)) if up else 0.0),
            warm(at) * (8 if up else 1),
            norm(at, chance) * (3 if up else 1),
        )

    drawn("torchtune, the rate jumps eightfold", "torchtune", 400, jump, "lr-jump")
    drawn("fairseq, the rate jumps eightfold", "fairseq-json", 400, jump, "lr-jump")

    def explode(at: int, chance: random.Random) -> Row:
        if at >= 262:
            return Row(0, NAN, warm(at), NAN)
        grown = math.exp(max(0, at - 240) / 5)
        return Row(0, falls(at, chance) * grown**0.5, warm(at), norm(at, chance) * grown**2)

    drawn("metaseq, gradients grow until the loss is lost", "metaseq", 320, explode, "exploding-gradients lr-too-high")
    drawn("Swin, gradients grow until the loss is lost", "swin", 320, explode, "exploding-gradients lr-too-high")

    def overfit(at: int, chance: random.Random) -> Row:
        train = 2.3 * math.exp(-at / 18) + 0.02
        return Row(0, train * (1 + 0.02 * chance.gauss(0, 1)), 1e-3, 1.0, 1.1 + 1.2 * math.exp(-at / 6) + 0.02 * max(0, at - 12))

    rows = [overfit(at, random.Random(at)) for at in range(70)]
    table = "".join(f"{at},0.9,{row.loss:.4f},0.001,0.6,{row.val:.4f}\n" for at, row in enumerate(rows))
    told(
        "Keras, the validation rises from epoch 12 on",
        "training.log",
        "epoch,accuracy,loss,lr,val_accuracy,val_loss\n" + table,
        "overfitting",
    )
    lines = "".join(
        f"Epoch {at + 1}/70\n469/469 - 3s - 7ms/step - accuracy: 0.9 - loss: {row.loss:.4f} - val_loss: {row.val:.4f}\n"
        for at, row in enumerate(rows)
    )
    told("Keras on the terminal, the validation rises", "out.txt", lines, "overfitting")

    drawn(
        "PaddleClas, nothing is learned",
        "paddle-classification",
        300,
        lambda at, chance: Row(0, math.log(1000) * (1 + 0.003 * chance.gauss(0, 1)), 1e-3),
        "no-learning frozen-by-mistake lr-too-low",
    )
    drawn(
        "LLaMA-Factory, the rate is zero",
        "llama-factory",
        200,
        lambda at, chance: Row(0, 2.31 * (1 + 0.02 * chance.gauss(0, 1)), 0.0),
        "lr-zero",
    )
    drawn(
        "MMEngine, the rate is inverted",
        "mmengine",
        300,
        lambda at, chance: Row(
            0, falls(at, chance, top=3.0, floor=0.8) + 1.2 * max(0.0, at / 300 - 0.5), 1e-5 * (1 + at), norm(at, chance) * (1 + at / 100)
        ),
        "lr-inverted warmup-never-ends lr-too-high",
    )
    drawn(
        "TRL, zero loss and a NaN norm",
        "trl-sft",
        120,
        lambda at, chance: Row(
            0, 0.0 if at >= 40 else falls(at, chance, top=2.0, floor=1.1), warm(at), NAN if at >= 40 else norm(at, chance)
        ),
        "nan-hidden-by-logger",
    )
    drawn(
        "detectron2, lost from the first row",
        "detectron2",
        60,
        lambda at, chance: Row(0, NAN, 1e-3),
        "label-out-of-range nonfinite-input nonfinite-weight lost-before-log",
    )


def _words() -> None:
    collapse = "".join(
        f"2021-05-20 10:00:01 | INFO | fairseq.trainer | NOTE: gradient overflow detected, ignoring gradient, setting loss scale to: {2.0 ** (4 - at)}\n"
        for at in range(18)
    )
    end = "FloatingPointError: Minimum loss scale reached (0.0001). Your loss is probably exploding. Try lowering the learning rate.\n"
    drawn(
        "fairseq, the scale falls to its minimum",
        "fairseq-text",
        150,
        healthy,
        "loss-scale-collapse fp16-on-bf16-model",
        after=collapse + "Traceback (most recent call last):\n" + end,
    )
    label = "../aten/src/ATen/native/cuda/Loss.cu:250: nll_loss_forward_reduce_cuda_kernel_2d: block: [0,0,0], thread: [3,0,0] Assertion `t >= 0 && t < n_classes` failed.\n"
    assertion = label * 3 + "RuntimeError: CUDA error: device-side assert triggered\n"
    drawn("Composer, a label outside the classes", "composer", 40, healthy, "label-out-of-range", after=assertion)
    anomaly = "RuntimeError: Function 'SqrtBackward0' returned nan values in its 0th output.\n"
    drawn(
        "detect_anomaly names the square root",
        "key-equals-value",
        60,
        healthy,
        "sqrt-at-zero",
        after="Traceback (most recent call last):\n" + anomaly,
    )
    anomaly = "RuntimeError: Function 'LogBackward0' returned nan values in its 0th output.\n"
    drawn("detect_anomaly names the logarithm", "key-colon-value", 60, healthy, "log-of-zero", after=anomaly)
    anomaly = "RuntimeError: Function 'MulBackward0' returned nan values in its 0th output.\n"
    drawn("detect_anomaly names an operation that says nothing", "key-colon-value", 60, healthy, "nonfinite-loss-in-words", after=anomaly)
    single = "ValueError: Expected more than 1 value per channel when training, got input size torch.Size([1, 512])\n"
    drawn(
        "batch norm meets a batch of one", "timm", 60, healthy, "batch-norm-batch-1", after="Traceback (most recent call last):\n" + single
    )
    nccl = "[Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=8121, OpType=ALLREDUCE, Timeout(ms)=1800000) ran for 1800123 milliseconds before timing out.\n"
    drawn("torchtitan, a collective that never ends", "torchtitan", 90, healthy, after=nccl)


def _unclear() -> None:
    drawn("Tacotron, five rows", "tacotron-2", 5, healthy, "?")
    drawn("MaxText, eleven rows and then nothing", "maxtext", 11, healthy, "?")


_healthy_ones()
_numbers()
_words()
_unclear()
