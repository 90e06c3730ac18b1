"""Trainers of language models. Every log is written here, in the shape that the trainer prints."""

# ruff: noqa: E501 - lines of logs are as long as they are
from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from sismo.bench.trainers.kinds import Row, bar, python_dict, trainer

_FULL = "loss/train loss/val lr/0 grad_norm/pre"


def _fairseq(row: Row) -> dict[str, object]:
    return {"epoch": 1, "update": row.step / 4000, "loss": str(row.loss), "ppl": f"{2 * row.loss:.2f}", "wps": "11234.5", "ups": "0.88",
            "num_updates": str(row.step), "lr": f"{row.lr:.6g}", "gnorm": str(row.norm), "loss_scale": "64", "wall": "119"}  # fmt: skip


@trainer("fairseq-json", first=10, every=10, has=_FULL + " loss_scale")
def fairseq_json(rows: Sequence[Row]) -> Iterator[str]:
    yield "2021-05-20 10:00:00 | INFO | fairseq_cli.train | {'_name': None, 'common': {'fp16': True, 'fp16_init_scale': 128, 'nan': None}}"
    for row in rows:
        yield "2021-05-20 10:00:01 | INFO | train_inner | " + json.dumps(_fairseq(row))
        if row.val is not None:
            yield "2021-05-20 10:00:01 | INFO | valid | " + json.dumps(
                {"epoch": 1, "valid_loss": str(row.val), "valid_ppl": "2", "valid_num_updates": str(row.step)}
            )


@trainer("fairseq-hydra", first=10, every=10)
def fairseq_hydra(rows: Sequence[Row]) -> Iterator[str]:
    yield "[2021-08-21 12:34:56,789][fairseq_cli.train][INFO] - {'_name': None, 'common': {'log_interval': 10, 'fp16': True}}"
    for row in rows:
        yield "[2021-08-21 12:34:56,789][train_inner][INFO] - " + json.dumps(_fairseq(row))


@trainer("metaseq", first=25, every=25)
def metaseq(rows: Sequence[Row]) -> Iterator[str]:
    for row in rows:
        more = {
            "actv_norm": "55.1",
            "pos_norm": "0.4",
            "tok_norm": "0.9",
            "clip": "100",
            "scale_window": "256",
            "ewm_loss": str(row.loss + 0.2),
            "ewm_loss_ratio": "0.99",
        }
        yield "2022-01-01 00:00:00 | INFO | train_inner | " + json.dumps(_fairseq(row) | more)


@trainer("fairseq-text", first=10, every=10, has=_FULL)
def fairseq_text(rows: Sequence[Row]) -> Iterator[str]:
    yield "2021-05-20 10:00:00 | INFO | fairseq_cli.train | Namespace(adam_betas='(0.9, 0.98)', clip_norm=0.0, lr=[0.0005], max_update=1000)"
    for row in rows:
        yield (f"2021-05-20 10:00:01 | INFO | train_inner | epoch 001:  {row.step:5d} / 9000 loss={row.loss}, nll_loss={row.loss - 0.1:.3f}, ppl=30.1, "
               f"num_updates={row.step}, lr={row.lr:.6g}, gnorm={row.norm}, loss_scale=64, train_wall=114, gb_free=20.5, wall=119")  # fmt: skip
        if row.val is not None:
            yield f"2021-05-20 10:00:01 | INFO | valid | epoch 001 | valid on 'valid' subset | loss {row.val} | ppl 31.0 | wps 30000 | num_updates {row.step}"


@trainer("torchtitan", first=10, every=10, has="loss/train grad_norm/pre")
def torchtitan(rows: Sequence[Row]) -> Iterator[str]:
    yield "[rank0]:[titan] 2025-01-01 00:00:00,000 - root - INFO - Training starts at step 1, total steps 1000 (warmup 200)."
    for row in rows:
        yield (f"[rank0]:[titan] 2025-01-01 00:00:00,000 - root - INFO - \x1b[31mstep: {row.step:2}  \x1b[32mloss: {row.loss:7.4f}  "
               f"\x1b[38;2;180;60;0mgrad_norm: {row.norm:7.4f}  \x1b[33mmemory: 47.65GiB(50.16%)  \x1b[34mtps: 1,204  \x1b[35mmfu: 6.31%\x1b[39m")  # fmt: skip


@trainer("olmo", first=1)
def olmo(rows: Sequence[Row]) -> Iterator[str]:
    for row in rows:
        yield f"2024-02-01 10:00:00.000\thost:0\tolmo.train:816\tINFO\t[step={row.step}/740000]"
        yield from (f"    train/CrossEntropyLoss={row.loss}", "    train/Perplexity=66,420", f"    optim/total_grad_norm={row.norm}")
        yield from (f"    optim/learning_rate_group0={row.lr:.6g}", "    throughput/total_tokens=4,194,304")


@trainer("olmo-core", first=10, every=10)
def olmo_core(rows: Sequence[Row]) -> Iterator[str]:
    for row in rows:
        yield f"2025-01-13 20:31:01.330\thost-100:0\tolmo_core.train.callbacks.console_logger:43\tINFO\t[step={row.step}/25000,epoch=1]"
        yield from (
            f"    optim/total grad norm={row.norm}",
            f"    optim/LR (group 0)={row.lr:.6g}",
            f"    train/CE loss={row.loss}",
            "    train/PPL=22.1",
        )


@trainer("llmc-main", "main.log", has="loss/train loss/val lr/0 grad_norm/pre", rtol=6e-3)
def llmc_main(rows: Sequence[Row]) -> Iterator[str]:
    for row in rows:
        yield f"s:{row.step} trl:{row.loss:.4f} lr:{row.lr:.6f} norm:{row.norm:.2f}"
        if row.val is not None:
            yield from (f"s:{row.step} tel:{row.val:.4f}", f"s:{row.step} eval:0.2520")


@trainer("llmc", rtol=5e-3)
def llmc(rows: Sequence[Row]) -> Iterator[str]:
    yield from ("| max_steps             | -1                 |", "| learning rate (LR)    | 6.000000e-04       |", "val loss 10.950000")
    for row in rows:
        z = "(+nanz)" if row.step < 5 else "(-0.45z)"
        yield f"step {row.step:4d}/19560 | loss {row.loss:.6f} {z}| norm {row.norm:.4f} {z}| lr {row.lr:.2e} | 2501.21 ms | 54.2% bf16 MFU | 209614 tok/s"


@trainer("llama-factory", "trainer_log.jsonl", first=10, every=10, has="loss/train loss/val lr/0")
def llama_factory(rows: Sequence[Row]) -> Iterator[str]:
    for row in rows:
        place = {"current_steps": row.step, "total_steps": 3000, "epoch": row.step / 1500, "percentage": 1.0, "elapsed_time": "0:00:10"}
        yield json.dumps({"loss": row.loss, "lr": row.lr} | place)
        if row.val is not None:
            yield json.dumps({"eval_loss": row.val} | place)
    yield json.dumps({"current_steps": rows[-1].step, "total_steps": 3000, "epoch": 2.0, "percentage": 100.0})


@trainer("axolotl")
def axolotl(rows: Sequence[Row]) -> Iterator[str]:
    yield from (
        "[2024-05-01 10:00:00,123] [INFO] [axolotl.cli.train:99] [PID:77] loading tokenizer... None",
        "trainable params: 41,943,040 || all params: 7,283,675,136",
    )
    for row in rows:
        yield bar(row.step, len(rows) + 5, "")
        yield python_dict(loss=row.loss, grad_norm=row.norm, learning_rate=row.lr, epoch=round(row.step / 30, 2))


@trainer("trl-sft", first=10, every=10)
def trl_sft(rows: Sequence[Row]) -> Iterator[str]:
    for row in rows:
        yield (
            bar(row.step, 1000, "")
            + "\r"
            + python_dict(loss=row.loss, grad_norm=row.norm, learning_rate=row.lr, entropy=1.2, num_tokens=123456.0, epoch=row.step / 500)
        )


@trainer("trl-dpo", first=10, every=10)
def trl_dpo(rows: Sequence[Row]) -> Iterator[str]:
    for row in rows:
        more = {"rewards/chosen": 0.1, "rewards/rejected": -0.1, "rewards/accuracies": 0.6, "logps/chosen": -200.1, "logits/chosen": -2.1}
        yield (
            bar(row.step, 1000, "")
            + "\r"
            + str({"loss": row.loss, "grad_norm": row.norm, "learning_rate": row.lr} | more | {"epoch": row.step / 500})
        )


@trainer("trl-grpo")
def trl_grpo(rows: Sequence[Row]) -> Iterator[str]:
    for row in rows:
        more = {
            "completions/mean_length": 200.1,
            "rewards/format_reward/mean": 0.2,
            "reward": 0.5,
            "reward_std": 0.2,
            "kl": 0.0003,
            "clip_ratio/low_mean": 0.0,
        }
        yield str({"loss": row.loss, "grad_norm": row.norm, "learning_rate": row.lr} | more | {"epoch": row.step / 500})


@trainer("transformers-5")
def transformers_5(rows: Sequence[Row]) -> Iterator[str]:
    for row in rows:
        yield python_dict(loss=str(row.loss), grad_norm=str(row.norm), learning_rate=f"{row.lr:.4g}", epoch=str(row.step / 30))


@trainer("unsloth-notebook", has="loss/train")
def unsloth(rows: Sequence[Row]) -> Iterator[str]:
    yield from (
        "==((====))==  Unsloth - 2x faster free finetuning | Num GPUs used = 1",
        "   \\\\   /|    Num examples = 1,000 | Num Epochs = 1 | Total steps = 30",
    )
    yield "Step\tTraining Loss"
    yield from (f"{row.step}\t{row.loss:.6f}" for row in rows)


@trainer("llm-foundry", has="loss/train lr/0")
def llm_foundry(rows: Sequence[Row]) -> Iterator[str]:
    yield from (
        "2023-06-01 00:00:00,000: rank0[100][MainThread]: INFO: composer.trainer.trainer: Setting seed to 17",
        "Config:",
        "rank_zero_seed: 17",
    )
    for row in rows:
        yield from (f"[batch={row.step}/4800]:", f"\t Train time/batch: {row.step - 1}", f"\t Train loss/train/total: {row.loss}")
        yield from ("\t Train metrics/train/LanguagePerplexity: 10.1", f"\t Train lr-DecoupledAdamW/group0: {row.lr:.6g}")


@trainer("gpt-neox", first=10, every=10, has="loss/train lr/0 loss_scale", rtol=2e-3)
def gpt_neox(rows: Sequence[Row]) -> Iterator[str]:
    for row in rows:
        yield (f" samples/sec: 10.1 | iteration {row.step:8d}/    1000 | elapsed time per iteration (ms): 1234.5 | learning rate: {row.lr:.3E} | "
               f"lm_loss: {row.loss:.6E} | loss scale: 65536.0 | number of skipped iterations:   0 | number of nan iterations:   0 |")  # fmt: skip


@trainer("nanotron", rtol=5e-3)
def nanotron(rows: Sequence[Row]) -> Iterator[str]:
    for row in rows:
        yield (f"06/01/2024 00:00:00 [INFO|DP=0|PP=0|TP=0|ip-1]: iteration: {row.step} / 1000 | consumed_tokens: 2.1M | tokens_per_sec: 1.1M | "
               f"global_batch_size: 1.02K | lm_loss: {row.loss:.3g} | lr: {row.lr:.3g} | grad_norm: {row.norm}")  # fmt: skip


@trainer("litgpt", has="loss/train")
def litgpt(rows: Sequence[Row]) -> Iterator[str]:
    for row in rows:
        yield f"Epoch 1 | iter {row.step} step {row.step} | loss train: {row.loss:.3f}, val: n/a | iter time: 512.12 ms (step) remaining time: 0:10:00"


@trainer("torchtune", "log_1700000000.txt")
def torchtune(rows: Sequence[Row]) -> Iterator[str]:
    for row in rows:
        yield f"Step {row.step} | loss:{row.loss} lr:{row.lr:.6g} tokens_per_second_per_gpu:1234.5 peak_memory_active:20.1 grad_norm:{row.norm} "


@trainer("maxtext", first=0, has="loss/train")
def maxtext(rows: Sequence[Row]) -> Iterator[str]:
    yield "Config param learning_rate: 3e-05"
    for row in rows:
        yield f"completed step: {row.step}, seconds: 1.234, TFLOP/s/device: 50.123, Tokens/s/device: 1234.567, total_weights: 65536, loss: {row.loss:.3f}"


@trainer("deepspeed", first=10, every=10, has="loss/train")
def deepspeed(rows: Sequence[Row]) -> Iterator[str]:
    for row in rows:
        yield f"[2023-06-01 00:00:00,123] [INFO] [logging.py:96:log_dist] [Rank 0] step={row.step}, skipped=4, lr=[{row.lr:.6g}], mom=[[0.9, 0.95]]"
        yield f"steps: {row.step} loss: {row.loss:.4f} iter time (s): 1.234 samples/sec: 100.1"


@trainer("paddlenlp", first=10, every=10, has="loss/train lr/0")
def paddlenlp(rows: Sequence[Row]) -> Iterator[str]:
    for row in rows:
        yield f"\x1b[32m[2023-06-01 00:00:00,123] [    INFO]\x1b[0m - loss: {row.loss}, learning_rate: {row.lr:.6g}, global_step: {row.step}, interval_runtime: 2.1, progress_or_epoch: 0.1\x1b[0m"


@trainer("spacy", first=0, every=200, has="loss/train", rtol=6e-3)
def spacy(rows: Sequence[Row]) -> Iterator[str]:
    yield from (
        "ℹ Pipeline: ['tok2vec', 'ner']",
        "E    #       LOSS TOK2VEC  LOSS NER  ENTS_F  ENTS_P  ENTS_R  SCORE ",
        "---  ------  ------------  --------  ------  ------  ------  ------",
    )
    for row in rows:
        yield f"{row.step // 1000:3d}  {row.step:6d}          0.00  {row.loss:8.2f}    0.00    0.00    0.00    0.00"
