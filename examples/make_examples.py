"""Writes the example logs of this folder: made-up runs in real formats, the same bytes each time.

python examples/make_examples.py
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent


def descent(rng: np.random.Generator, steps: int, start: float, floor: float, noise: float) -> np.ndarray:
    """A loss that falls by a power law, with noise that is proportional to it."""
    step = np.arange(steps)
    level = floor + (start - floor) * (1 + step / (steps / 40)) ** -0.9
    return level * (1 + noise * rng.standard_normal(steps))


def norms(rng: np.random.Generator, steps: int, start: float, floor: float) -> np.ndarray:
    """A gradient norm that settles, with a lognormal scatter."""
    step = np.arange(steps)
    return (floor + (start - floor) * np.exp(-step / (steps / 20))) * np.exp(0.12 * rng.standard_normal(steps))


def cosine(steps: int, peak: float, warmup: int) -> np.ndarray:
    """Linear warmup, then a cosine down to a tenth of the peak."""
    step = np.arange(steps)
    rest = (step - warmup) / max(1, steps - warmup)
    return np.where(step < warmup, peak * (step + 1) / max(1, warmup), peak * (0.55 + 0.45 * np.cos(np.pi * rest)))


def overfitting() -> str:
    """A trainer_state.json: the evaluation loss has its minimum at a third of the run, and rises while training goes on."""
    rng = np.random.default_rng(1)
    history: list[dict[str, float]] = []
    train = 0.18 + 2.3 * np.exp(-np.arange(200) / 45) * (1 + 0.03 * rng.standard_normal(200)) + 0.004 * rng.standard_normal(200)
    norm, rate = norms(rng, 200, 3.1, 1.2), cosine(200, 5e-5, 10)
    for row in range(200):
        step = 10 * (row + 1)
        history.append(
            {
                "epoch": round(step / 200, 2),
                "grad_norm": float(norm[row]),
                "learning_rate": float(rate[row]),
                "loss": round(float(train[row]), 4),
                "step": step,
            }
        )
        if step % 50 == 0:
            after = step / 2000
            loss = 1.05 + 1.1 * math.exp(-after / 0.1) + 1.3 * max(0.0, after - 0.3) ** 1.2 + 0.012 * float(rng.standard_normal())
            history.append(
                {"epoch": round(step / 200, 2), "eval_loss": loss, "eval_runtime": 5.71, "eval_samples_per_second": 70.2, "step": step}
            )
    state = {
        "best_metric": None,
        "epoch": 10.0,
        "eval_steps": 50,
        "global_step": 2000,
        "is_local_process_zero": True,
        "log_history": history,
        "logging_steps": 10,
        "max_steps": 2000,
        "num_train_epochs": 10,
        "save_steps": 500,
        "train_batch_size": 8,
    }
    return json.dumps(state, indent=1) + "\n"


def hidden_nan() -> Iterator[str]:
    """What a Hugging Face trainer prints: from step 260 the norm is NaN and the loss is shown as 0.0."""
    rng = np.random.default_rng(2)
    loss, norm, rate = descent(rng, 80, 2.9, 1.4, 0.03), norms(rng, 80, 6.0, 1.6), cosine(80, 2e-4, 4)
    yield "The model is loaded in bfloat16."
    for row in range(80):
        broken = row >= 26
        shown = {"loss": 0.0 if broken else round(float(loss[row]), 4), "grad_norm": math.nan if broken else float(norm[row])}
        yield str({**shown, "learning_rate": float(rate[row]), "epoch": round((row + 1) / 40, 2)})


def healthy() -> Iterator[str]:
    """JSON lines of a run in which nothing is wrong."""
    rng = np.random.default_rng(3)
    loss, norm, rate = descent(rng, 300, 6.24, 2.1, 0.02), norms(rng, 300, 4.0, 0.9), cosine(300, 3e-3, 30)
    for step in range(300):
        row = {
            "step": step,
            "loss": round(float(loss[step]), 5),
            "lr": float(f"{rate[step]:.6g}"),
            "grad_norm": round(float(norm[step]), 4),
        }
        if step % 50 == 49:
            row["val_loss"] = round(float(loss[max(0, step - 10) : step + 1].mean()) * 1.04, 5)
        yield json.dumps(row)


def nan_after_growth() -> Iterator[str]:
    """A Lightning metrics.csv: the gradient norm grows for some 40 steps, then the loss follows, then everything is NaN."""
    rng = np.random.default_rng(4)
    loss, norm = descent(rng, 600, 2.303, 0.6, 0.04), norms(rng, 600, 2.0, 0.8)
    yield "epoch,grad_norm,lr-AdamW,step,train_loss,val_loss"
    for step in range(600):
        growth = max(0, step - 400)
        grad, value = (
            float(norm[step] * math.exp(growth / 7)),
            float(loss[step] + (0.05 * math.exp((growth - 14) / 6) if growth > 14 else 0)),
        )
        if step >= 447:
            grad = value = math.nan
        yield f"{step // 100},{grad:.6g},0.001,{step},{value:.6g},"
        if step % 100 == 99:
            checked = float(loss[step]) * 1.08 if step < 447 else math.nan
            yield f"{step // 100},,,{step},,{checked:.6g}"


def ultralytics() -> Iterator[str]:
    """A results.csv with padded columns, healthy."""
    rng = np.random.default_rng(5)
    terms = [descent(rng, 60, start, floor, 0.012) for start, floor in ((1.9, 0.62), (3.1, 0.41), (1.7, 0.92))]
    checks = [term * factor * (1 + 0.015 * rng.standard_normal(60)) for term, factor in zip(terms, (1.08, 1.12, 1.03), strict=True)]
    quality = 0.86 * (1 - np.exp(-np.arange(1, 61) / 18))
    parts = ("box", "cls", "dfl")
    scored = ["metrics/precision(B)", "metrics/recall(B)", "metrics/mAP50(B)", "metrics/mAP50-95(B)"]
    names = [
        "epoch",
        *(f"train/{name}_loss" for name in parts),
        *scored,
        *(f"val/{name}_loss" for name in parts),
        "lr/pg0",
        "lr/pg1",
        "lr/pg2",
    ]
    yield ",".join(f"{name:>23}" for name in names)
    for row in range(60):
        rate = 0.01 * (min(1.0, (row + 1) / 3) if row < 3 else 1 - 0.0165 * row)
        scores = [float(quality[row] * share) for share in (0.97, 0.93, 0.98, 0.71)]
        cells = [float(row + 1), *(float(term[row]) for term in terms), *scores, *(float(check[row]) for check in checks), rate, rate, rate]
        yield ",".join(f"{cell:>23.5g}" for cell in cells)


def spike() -> Iterator[str]:
    """Standard output of a small GPT trainer: one spike of loss and norm in the same step, gone five steps later."""
    rng = np.random.default_rng(6)
    loss, norm, rate = descent(rng, 350, 10.95, 3.3, 0.012), norms(rng, 350, 12.0, 0.55), cosine(350, 6e-4, 35)
    bump = {250: 1.0, 251: 0.45, 252: 0.2, 253: 0.08}
    yield "using device: cuda"
    yield "total desired batch size: 524288"
    for step in range(350):
        extra = bump.get(step, 0.0)
        yield (
            f"step {step:5d} | loss: {loss[step] + 2.4 * extra:.6f} | lr {rate[step]:.4e} | norm: {norm[step] * (1 + 9 * extra):.4f} "
            f"| dt: {93.1 + rng.standard_normal():.2f}ms | tok/sec: 1765432.10"
        )


def scale_collapse() -> Iterator[str]:
    """Standard output of Megatron-LM in fp16: from iteration 1100 every step overflows and the loss scale falls to its minimum."""
    rng = np.random.default_rng(7)
    loss, norm, rate = descent(rng, 150, 10.4, 2.9, 0.012), norms(rng, 150, 5.0, 0.8), cosine(150, 1.5e-4, 10)
    scale = 65536.0
    for row in range(150):
        overflow = row >= 110
        if overflow:
            scale = max(scale / 4, 1.0)
        elif row % 50 == 49:
            scale *= 2
        shown = "" if overflow else f"lm loss: {loss[row]:.6E} | "
        tail = "" if overflow else f" grad norm: {norm[row]:.3f} |"
        yield (
            f" iteration {10 * (row + 1):8d}/    2000 | consumed samples: {5120 * (row + 1):12d} | "
            f"elapsed time per iteration (ms): 812.4 | learning rate: {rate[row]:.3E} | global batch size:   512 | "
            f"{shown}loss scale: {scale:.1f} |{tail} number of skipped iterations: {10 if overflow else 0:3d} | "
            f"number of nan iterations:   0 |"
        )


def scale_search() -> Iterator[str]:
    """Standard output of DeepSpeed: the scaler looks for its level in the first steps, as it should, and the run is fine."""
    rng = np.random.default_rng(8)
    loss, rate = descent(rng, 300, 8.1, 2.4, 0.015), cosine(300, 1e-4, 30)
    scale = 2**20
    for step in range(300):
        if step < 5:
            yield f"[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: {scale}, reducing to {scale // 2}"
            scale //= 2
        yield f"step {step + 1} loss {loss[step]:.4f} lr {rate[step]:.3e}"


def no_warmup() -> Iterator[str]:
    """JSON lines of a run that starts at its highest learning rate: norm and loss shoot up in the first steps and the loss makes a V."""
    rng = np.random.default_rng(9)
    loss, norm, rate = descent(rng, 300, 6.24, 2.3, 0.02), norms(rng, 300, 1.4, 0.9), cosine(300, 0.1, 0)
    for step in range(300):
        hit = math.exp(-((step - 3) ** 2) / 4) + 0.5 * math.exp(-step / 25)
        row = {"step": step, "loss": round(float(loss[step] + 3.1 * hit * (step > 0)), 5), "lr": float(f"{rate[step]:.6g}")}
        yield json.dumps({**row, "grad_norm": round(float(norm[step] * (1 + 17 * math.exp(-((step - 2) ** 2) / 3))), 4)})


def main() -> None:
    """Writes them all."""
    lines = {
        "gpt-spike.log": spike,
        "healthy.jsonl": healthy,
        "hf-hidden-nan.out": hidden_nan,
        "lightning-nan.csv": nan_after_growth,
        "megatron-fp16.out": scale_collapse,
        "deepspeed-startup.log": scale_search,
        "no-warmup.jsonl": no_warmup,
        "ultralytics-results.csv": ultralytics,
    }
    for name, write in lines.items():
        (HERE / name).write_text("".join(f"{line}\n" for line in write()), encoding="utf-8", newline="\n")
    (HERE / "trainer_state.json").write_text(overfitting(), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
