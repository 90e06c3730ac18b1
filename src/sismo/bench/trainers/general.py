"""Keras, Lightning, Composer, boosting and what people write themselves. Every log is written here, in the shape that the trainer prints."""

# ruff: noqa: E501 - lines of logs are as long as they are
from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from sismo.bench.trainers.kinds import Row, bar, trainer


@trainer("keras-3", has="loss/train")
def keras_3(rows: Sequence[Row]) -> Iterator[str]:
    for row in rows:
        yield f"Epoch {row.step}/90"
        yield "\r".join(
            f"\x1b[1m{done:>3}/469\x1b[0m \x1b[32m━━━━━━━━━━━━━━━━━━━━\x1b[0m\x1b[37m\x1b[0m \x1b[1m3s\x1b[0m 5ms/step - accuracy: 0.86 - loss: {row.loss + (469 - done) / 1000:.4f}"
            + (f" - val_loss: {row.loss:.4f} - learning_rate: 0.0010" if done == 469 else "")
            for done in (1, 200, 469)
        )


@trainer("keras-verbose-2", has="loss/train")
def keras_verbose_2(rows: Sequence[Row]) -> Iterator[str]:
    for row in rows:
        yield from (
            f"Epoch {row.step}/90",
            f"469/469 - 3s - 7ms/step - accuracy: 0.8 - loss: {row.loss:.4f} - val_accuracy: 0.9 - val_loss: {row.loss:.4f}",
        )


@trainer("keras-1", has="loss/train")
def keras_1(rows: Sequence[Row]) -> Iterator[str]:
    yield "Train on 60000 samples, validate on 10000 samples"
    for row in rows:
        yield from (
            f"Epoch {row.step}/90",
            f"60000/60000 [==============================] - 5s 84us/sample - loss: {row.loss:.4f} - acc: 0.8 - val_loss: {row.loss:.4f}",
        )


@trainer("keras-history", "history.json", has="loss/train")
def keras_history(rows: Sequence[Row]) -> Iterator[str]:
    yield json.dumps(
        {
            "accuracy": [0.1] * len(rows),
            "loss": [row.loss for row in rows],
            "val_loss": [row.loss for row in rows],
            "lr": [row.lr for row in rows],
        }
    )


@trainer("keras-csv", "training.log", first=0, has="loss/train lr/0")
def keras_csv(rows: Sequence[Row]) -> Iterator[str]:
    yield "epoch,accuracy,loss,lr,val_accuracy,val_loss"
    yield from (f"{row.step},0.5,{row.loss},{row.lr:.6g},0.4,{row.loss}" for row in rows)


@trainer("lightning-bar", has="loss/train")
def lightning_bar(rows: Sequence[Row]) -> Iterator[str]:
    yield from ("GPU available: True (cuda), used: True", "  | Name  | Type | Params", "0 | model | Net | 1.2 M")
    for row in rows:
        epoch, batch = divmod(row.step - 1, 10)
        yield bar(batch + 1, 10, f", v_num=3, train_loss={row.loss}" + (", val_loss=3.1" if epoch else ""), f"Epoch {epoch}: ")
        if batch == 9:
            yield "Validation: |          | 0/? [00:00<?, ?it/s]\r" + bar(5, 10, "", "Validation DataLoader 0: ")


@trainer("lightning-rich", has="loss/train")
def lightning_rich(rows: Sequence[Row]) -> Iterator[str]:
    for row in rows:
        epoch, batch = divmod(row.step - 1, 10)
        yield f"Epoch {epoch}/9  ━━━━━━╸━━━━━━━ {batch + 1}/10 0:00:05 • 0:00:45 1.98it/s v_num: 3.000 train_loss: {row.loss}"


@trainer("composer")
def composer(rows: Sequence[Row]) -> Iterator[str]:
    for row in rows:
        yield from (
            f"[epoch=1][batch={row.step}/300]:",
            "\t Train time/epoch: 0",
            f"\t Train time/batch: {row.step - 1}",
            f"\t Train loss/train/total: {row.loss}",
        )
        yield from (
            f"\t Train metrics/train/LanguageCrossEntropy: {row.loss + 0.01}",
            f"\t Train l2_norm/grad/global: {row.norm}",
            f"\t Train lr-DecoupledAdamW/group0: {row.lr:.6g}",
        )


@trainer("diffusers", rtol=6e-3, has="loss/train lr/0")
def diffusers(rows: Sequence[Row]) -> Iterator[str]:
    yield "".join(bar(row.step, len(rows) + 5, f", lr={row.lr:.6g}, step_loss={row.loss:.4g}", "Steps: ") for row in rows)


@trainer("fastai", first=0, has="loss/train")
def fastai(rows: Sequence[Row]) -> Iterator[str]:
    yield "epoch     train_loss  valid_loss  accuracy  time    "
    yield from (f"{row.step}         {row.loss:.6f}    {row.loss:.6f}    0.512300  00:12     " for row in rows)


@trainer("stable-baselines", first=2048, every=2048, rtol=6e-3, has="loss/train")
def stable_baselines(rows: Sequence[Row]) -> Iterator[str]:
    for row in rows:
        yield from (
            "-" * 42,
            "| rollout/                |             |",
            "|    ep_rew_mean          | 120         |",
            "| time/                   |             |",
        )
        yield from (
            f"|    total_timesteps      | {row.step:<11} |",
            "| train/                  |             |",
            f"|    loss                 | {row.loss:<11.3g} |",
            "|    policy_gradient_loss | -0.0123     |",
        )
        yield "-" * 42


@trainer("xgboost", first=0, has="loss/train")
def xgboost(rows: Sequence[Row]) -> Iterator[str]:
    yield from (f"[{row.step}]\ttrain-logloss:{row.loss:.5f}\teval-logloss:{row.loss + 0.05:.5f}" for row in rows)


@trainer("lightgbm", has="loss/train")
def lightgbm(rows: Sequence[Row]) -> Iterator[str]:
    yield "[LightGBM] [Info] Number of positive: 100, number of negative: 100"
    yield from (f"[{row.step}]\ttraining's binary_logloss: {row.loss:.6f}\tvalid_1's binary_logloss: {row.loss:.6f}" for row in rows)


@trainer("catboost", first=0, has="loss/train")
def catboost(rows: Sequence[Row]) -> Iterator[str]:
    yield "Learning rate set to 0.03"
    yield from (
        f"{row.step}:\tlearn: {row.loss:.7f}\ttest: {row.loss:.7f}\tbest: {row.loss:.7f} ({row.step})\ttotal: 10.1ms\tremaining: 1m 2s"
        for row in rows
    )


@trainer("key-equals-value", first=0, every=5)
def key_equals_value(rows: Sequence[Row]) -> Iterator[str]:
    yield from (
        f"2024-01-01T00:00:00Z level=info msg=train step={row.step} loss={row.loss} lr={row.lr:.6g} grad_norm={row.norm} tokens_per_sec=1234"
        for row in rows
    )


@trainer("key-colon-value", first=0, every=5)
def key_colon_value(rows: Sequence[Row]) -> Iterator[str]:
    yield from (
        f"[00:00:01] step: {row.step} | train_loss: {row.loss} | lr: {row.lr:.6g} | grad norm: {row.norm} | dt: 12ms" for row in rows
    )


@trainer("columns", "loss.txt", first=0, every=5, has="loss/train lr/0")
def columns(rows: Sequence[Row]) -> Iterator[str]:
    yield "# step loss lr"
    yield from (f"{row.step} {row.loss} {row.lr:.6g}" for row in rows)


@trainer("nested-json", "log.jsonl", first=0, every=5, has="loss/train")
def nested_json(rows: Sequence[Row]) -> Iterator[str]:
    yield from (
        json.dumps(
            {
                "time": 1,
                "data": {
                    "state": {"counters": {"global_step": row.step}},
                    "metrics": {"train": {"losses": {"total": {"value": row.loss}}}},
                },
            }
        )
        for row in rows
    )


@trainer("wandb-export", "wandb_export.csv", first=0, every=10, has="loss/train")
def wandb_export(rows: Sequence[Row]) -> Iterator[str]:
    yield '"Step","sage-wind-12 - train/loss","sage-wind-12 - train/loss__MIN","sage-wind-12 - train/loss__MAX"'
    yield from (f'"{row.step}","{row.loss}","{row.loss}","{row.loss}"' for row in rows)


@trainer("wandb-output", "output.log", first=0, every=10, has="loss/train")
def wandb_output(rows: Sequence[Row]) -> Iterator[str]:
    yield from (f"iter {row.step}: loss {row.loss:.4f}, time 312.11ms, mfu 31.22%" for row in rows)
    yield from ("wandb: Run history:", "wandb: train/loss █▇▅▂▁", "wandb: Run summary:", "wandb: train/loss 2.51", "wandb:      loss nan")
