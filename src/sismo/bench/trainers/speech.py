"""Trainers of speech and translation models. Every log is written here, in the shape that the trainer prints."""

# ruff: noqa: E501 - lines of logs are as long as they are
from __future__ import annotations

from collections.abc import Iterator, Sequence

from sismo.bench.trainers.kinds import PER_EPOCH, Row, trainer


@trainer("espnet", first=20, every=20, has="loss/train loss/val grad_norm/pre")
def espnet(rows: Sequence[Row]) -> Iterator[str]:
    yield from (
        "# python3 -m espnet2.bin.asr_train --use_preprocessor true",
        "[host] 2021-01-01 00:00:00,000 (asr:523) INFO: Vocabulary size: 5000",
    )
    for row in rows:
        epoch, batch = divmod(row.step - 1, PER_EPOCH)
        yield (f"[host] 2021-01-01 00:00:00,000 (trainer:732) INFO: {epoch + 1}epoch:train:{batch - 18}-{batch + 1}batch: iter_time=0.101, loss_ctc={row.loss * 1.1:.3f}, acc=0.1, "
               f"loss={row.loss}, grad_norm={row.norm}, clip=100.000, loss_scale=1.000, optim0_lr0={row.lr:.3e}, train_time=1.101")  # fmt: skip
        if row.val is not None:
            yield f"[host] 2021-01-01 00:00:00,000 (trainer:338) INFO: {epoch + 1}epoch results: [train] loss_ctc=110.0, loss=5.1, time=10 minutes and 3.1 seconds, total_count=500, [valid] loss_ctc=2.0, acc=0.3, loss={row.val}, time=20.1 seconds"


@trainer("icefall", first=0, every=20, has="loss/train loss/val lr/0")
def icefall(rows: Sequence[Row]) -> Iterator[str]:
    for row in rows:
        epoch, batch = divmod(row.step, PER_EPOCH)
        yield (f"2022-06-01 00:00:00,123 INFO [train.py:850] (0/4) Epoch {epoch + 1}, batch {batch}, loss[loss={row.loss}, simple_loss=0.5, over 4444.00 frames.], "
               f"tot_loss[loss={row.loss + 0.1:.4f}, simple_loss=0.5, over 800000.00 frames.], batch size: 18, lr: {row.lr:.3e}, grad_scale: 16.0")  # fmt: skip
        if row.val is not None:
            yield f"2022-06-01 00:00:00,123 INFO [train.py:886] (0/4) Epoch {epoch + 1}, validation: loss={row.val}, simple_loss=0.5, over 944034.00 frames. "


@trainer("kaldi", first=99, every=100, has="loss/train")
def kaldi(rows: Sequence[Row]) -> Iterator[str]:
    for row in rows:
        yield (f"LOG (nnet3-train[5.5.1]:PrintStatsForThisPhase():nnet-training.cc:282) Average objective function for 'output' for minibatches "
               f"{row.step - 99}-{row.step} is {-row.loss} over 64000 frames.")  # fmt: skip


@trainer("tacotron-2", first=0, has="loss/train loss/val grad_norm/pre")
def tacotron(rows: Sequence[Row]) -> Iterator[str]:
    yield "Epoch: 0"
    for row in rows:
        yield f"Train loss {row.step} {row.loss:.6f} Grad Norm {row.norm:.6f} 2.14s/it"
        if row.val is not None:
            yield from (
                f"Validation loss {row.step}: {row.val:9f}  ",
                f"Saving model and optimizer state at iteration {row.step} to out/checkpoint_{row.step}",
            )


@trainer("coqui", first=25, every=25)
def coqui(rows: Sequence[Row]) -> Iterator[str]:
    for row in rows:
        yield f"\x1b[1m   --> TIME: 2022-06-01 00:00:00 -- STEP: {row.step % 100}/100 -- GLOBAL_STEP: {row.step}\x1b[0m"
        yield from (
            f"     | > loss: {row.loss}  ({row.loss + 0.1:.3f})",
            f"     | > grad_norm: {row.norm}  (1.1)",
            f"     | > current_lr: {row.lr:.6g} ",
        )


@trainer("speechbrain", "train_log.txt", rtol=6e-3, has="loss/train lr/0")
def speechbrain(rows: Sequence[Row]) -> Iterator[str]:
    for row in rows:
        yield f"epoch: {row.step}, lr: {row.lr:.2e} - train loss: {row.loss:.2e} - valid loss: {row.loss:.2e}, valid ACC: 5.1e-01"


@trainer("marian", first=1000, every=1000, has="loss/train loss/val lr/0")
def marian(rows: Sequence[Row]) -> Iterator[str]:
    yield from ("[2020-06-01 00:00:00] [config] after: 0e", "[2020-06-01 00:00:00] [config] cost-type: ce-mean-words")
    for row in rows:
        yield f"[2020-06-01 00:00:00] Ep. 1 : Up. {row.step} : Sen. {row.step * 64:,} : Cost {row.loss:.8f} * 1,234,567 @ 1,234 after 12,345,678 : Time 100.10s : 12345.00 words/s : L.r. {row.lr:.4e}"
        if row.val is not None:
            yield f"[2020-06-01 00:00:00] [valid] Ep. 1 : Up. {row.step} : ce-mean-words : {row.val} : new best"
            yield f"[2020-06-01 00:00:00] [valid] Ep. 1 : Up. {row.step} : perplexity : 11.2 : new best"


@trainer("opennmt", first=50, every=50, rtol=6e-3, has="loss/train")
def opennmt(rows: Sequence[Row]) -> Iterator[str]:
    for row in rows:
        yield f"[2020-06-01 00:00:00,123 INFO] Step {row.step}/100000; acc:   5.12; ppl: 30.00; xent: {row.loss:4.2f}; lr: {row.lr:7.5f}; 10000/9000 tok/s;     20 sec"


@trainer("mxnet", first=20, every=20, has="loss/train")
def mxnet(rows: Sequence[Row]) -> Iterator[str]:
    for row in rows:
        epoch, batch = divmod(row.step - 1, PER_EPOCH)
        yield f"INFO:root:Epoch[{epoch}] Batch [{batch + 1}]\tSpeed: 1000.10 samples/sec\taccuracy=0.100000\tcross-entropy={row.loss}"
        if batch + 1 == PER_EPOCH:
            yield from (
                f"INFO:root:Epoch[{epoch}] Train-cross-entropy=3.1",
                f"INFO:root:Epoch[{epoch}] Time cost=10.1",
                f"INFO:root:Epoch[{epoch}] Validation-cross-entropy=2.1",
            )
