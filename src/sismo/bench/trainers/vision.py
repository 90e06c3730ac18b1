"""Trainers of vision models. Every log is written here, in the shape that the trainer prints."""

# ruff: noqa: E501 - lines of logs are as long as they are
from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from sismo.bench.trainers.kinds import PER_EPOCH, Row, bar, trainer

_RULE = "#" * 70


@trainer("timm", first=0, every=20, rtol=6e-3, has="loss/train loss/val lr/0")
def timm(rows: Sequence[Row]) -> Iterator[str]:
    yield "Scheduled epochs: 5 (epochs + cooldown_epochs). LR stepped per epoch."
    for row in rows:
        epoch, batch = divmod(row.step, PER_EPOCH)
        yield (f"Train: {epoch} [{batch:>4d}/{PER_EPOCH} ({batch:>3.0f}%)]  Loss: {row.loss:#.3g} ({row.loss + 0.1:#.3g})  Time: 2.137s,   59.90/s  "
               f"(2.137s,   59.90/s)  LR: {row.lr:.3e}  Data: 1.201 (1.201)")  # fmt: skip
        if row.val is not None:
            yield "Test: [   0/48]  Time: 1.245 (1.245)  Loss:   9.000 ( 9.000)  Acc@1:  10.156 ( 10.156)"
            yield f"Test: [  48/48]  Time: 0.045 (0.145)  Loss:   9.000 ({row.val:>6.3f})  Acc@1:  10.156 ( 10.156)"
    yield "*** Best metric: 12.3 (epoch 4)"


@trainer("timm-summary", "summary.csv", first=0, has="loss/train lr/0")
def timm_summary(rows: Sequence[Row]) -> Iterator[str]:
    yield "epoch,train_loss,eval_loss,eval_top1,eval_top5,lr"
    yield from (f"{row.step},{row.loss},{row.loss + 0.1},50.0,60.0,{row.lr:.6g}" for row in rows)


@trainer("detr", first=0, every=20, has="loss/train loss/val")
def detr(rows: Sequence[Row]) -> Iterator[str]:
    yield "Namespace(lr=0.0001, lr_backbone=1e-05, batch_size=2, clip_max_norm=0.1, eval=False, nan=3)"
    for row in rows:
        epoch, batch = divmod(row.step, PER_EPOCH)
        yield (f"Epoch: [{epoch}]  [{batch:4d}/{PER_EPOCH}]  eta: 0:30:00  lr: 0.000100  class_error: 99.10  loss: {row.loss:.4f} ({row.loss + 1:.4f})  "
               f"loss_ce: {row.loss / 2:.4f} ({row.loss / 2:.4f})  loss_bbox: {row.loss / 2:.4f} (1.0)  time: 1.4123  data: 0.5123  max mem: 5012")  # fmt: skip
        if row.val is not None:
            yield f"Averaged stats: lr: 0.000100  class_error: 91.4  loss: {row.loss:.4f} (3.1000)"
            yield "Test:  [ 0/20]  eta: 0:00:10  class_error: 90.1  loss: 9.0 (9.0)  time: 0.5  data: 0.1  max mem: 5012"
            yield f"Test:  [19/20]  eta: 0:00:00  class_error: 90.1  loss: 9.0 ({row.val:.4f})  time: 0.5  data: 0.1  max mem: 5012"
            yield f"Averaged stats: class_error: 90.1  loss: 9.0 ({row.val:.4f})"
            yield " Average Precision  (AP) @[ IoU=0.50:0.95 | area= small | maxDets=100 ] = -1.000"


@trainer("detr-json", "log.txt", first=0, has="loss/train lr/0")
def detr_json(rows: Sequence[Row]) -> Iterator[str]:
    for row in rows:
        yield json.dumps(
            {
                "train_lr": row.lr,
                "train_loss": row.loss,
                "train_loss_ce": 1.0,
                "test_loss": row.loss,
                "test_coco_eval_bbox": [0.1, 0.2],
                "epoch": row.step,
                "n_parameters": 41302368,
            }
        )


@trainer("swin", first=0, every=10, rtol=6e-3, has="loss/train grad_norm/pre lr/0")
def swin(rows: Sequence[Row]) -> Iterator[str]:
    for row in rows:
        epoch, batch = divmod(row.step, PER_EPOCH)
        yield (f"[2021-04-01 00:00:00 swin_tiny](main.py 226): INFO Train: [{epoch}/300][{batch}/{PER_EPOCH}]\teta 5:00:00 lr {row.lr:.6f}\t"
               f"time 1.2345 (1.2345)\tloss {row.loss:.4f} (6.9)\tgrad_norm {row.norm:.4f} (1.9)\tmem 100MB")  # fmt: skip


@trainer("detectron2-json", "metrics.json", first=19, every=20, has="loss/train lr/0")
def detectron2_json(rows: Sequence[Row]) -> Iterator[str]:
    for row in rows:
        yield json.dumps(
            {
                "data_time": 0.01,
                "eta_seconds": 100.1,
                "iteration": row.step,
                "loss_box_reg": 0.1,
                "loss_cls": 0.2,
                "lr": row.lr,
                "total_loss": row.loss,
            }
        )
    yield '{"bbox/AP": 1.2, "bbox/AP-person": NaN, "bbox/APs": NaN, "iteration": ' + str(rows[-1].step) + "}"


@trainer("detectron2", first=19, every=20, has="loss/train lr/0")
def detectron2(rows: Sequence[Row]) -> Iterator[str]:
    yield "[11/18 18:37:10 d2.engine.train_loop]: Starting training from iteration 0"
    for row in rows:
        yield (f"[11/18 18:37:24 d2.utils.events]:  eta: 20:37:14  iter: {row.step}  total_loss: {row.loss}  loss_cls: 1.5  loss_box_reg: 1.0  "
               f"time: 0.53  last_time: 0.51  data_time: 0.01   lr: {row.lr:.5g}  max_mem: 11811M")  # fmt: skip


@trainer("mmcv-json", "20210101_000000.log.json", first=20, every=20, has="loss/train lr/0")
def mmcv_json(rows: Sequence[Row]) -> Iterator[str]:
    yield json.dumps({"env_info": "sys.platform: linux", "config": "model = dict(loss=dict(a=1))\nlr = nan", "seed": 0, "exp_name": "a.py"})
    for row in rows:
        epoch, batch = divmod(row.step - 1, PER_EPOCH)
        yield json.dumps(
            {"mode": "train", "epoch": epoch + 1, "iter": batch + 1, "lr": row.lr, "memory": 3888, "loss_cls": 0.2, "loss": row.loss}
        )
        if batch + 1 == PER_EPOCH:
            yield json.dumps({"mode": "val", "epoch": epoch + 1, "iter": 50, "lr": row.lr, "bbox_mAP": 0.1, "bbox_mAP_s": -1.0})


@trainer("mmengine-json", "20230101_000000.json", first=20, every=20, has="loss/train lr/0")
def mmengine_json(rows: Sequence[Row]) -> Iterator[str]:
    for row in rows:
        yield json.dumps(
            {
                "lr": row.lr,
                "data_time": 0.05,
                "loss": row.loss,
                "loss_cls": 0.2,
                "epoch": 1 + row.step // 120,
                "iter": row.step,
                "memory": 3888,
                "step": row.step,
            }
        )
        if row.step % 120 == 0:
            yield json.dumps({"coco/bbox_mAP": 0.1, "coco/bbox_mAP_s": -1.0, "data_time": 0.1, "step": row.step // 120})


@trainer("mmengine", first=20, every=20, has="loss/train lr/0 grad_norm/pre")
def mmengine(rows: Sequence[Row]) -> Iterator[str]:
    yield from (
        "2023/01/01 00:00:00 - mmengine - INFO - Config:",
        "model = dict(",
        "    loss_cls=dict(loss_weight=1.0, type='CrossEntropyLoss'))",
    )
    for row in rows:
        epoch, batch = divmod(row.step - 1, PER_EPOCH)
        yield (f"2023/01/01 00:00:00 - mmengine - INFO - Epoch(train)  [{epoch + 1}][{batch + 1:3d}/{PER_EPOCH}]  base_lr: 1.0000e-02 lr: {row.lr:.4e}  "
               f"eta: 1 day, 4:30:58  time: 0.5123  memory: 3888  grad_norm: {row.norm}  loss: {row.loss}  loss_cls: 0.2")  # fmt: skip
        if batch + 1 == PER_EPOCH:
            yield f"2023/01/01 00:00:00 - mmengine - INFO - Epoch(val) [{epoch + 1}][100/100]    coco/bbox_mAP: 0.1  coco/bbox_mAP_s: -1.0000  time: 0.1"


@trainer("ultralytics", "results.csv", has="loss/train lr/0")
def ultralytics(rows: Sequence[Row]) -> Iterator[str]:
    yield "                  epoch,         train/box_loss,         train/cls_loss,      metrics/mAP50(B),           val/box_loss,           val/cls_loss,                 lr/pg0,                 lr/pg1"
    yield from (
        f"{row.step:>23},{row.loss * 0.75:>23.5f},{row.loss * 0.25:>23.5f},{0.5:>23},{1.1:>23},{1.1:>23},{row.lr:>23.6g},{row.lr:>23.6g}"
        for row in rows
    )


@trainer("ultralytics-terminal", has="loss/train")
def ultralytics_terminal(rows: Sequence[Row]) -> Iterator[str]:
    yield from ("Ultralytics YOLOv8.0.196 Python-3.10 torch-2.0 CUDA:0", "AMP: checks passed ✅")
    for row in rows:
        yield "      Epoch    GPU_mem   box_loss   cls_loss  Instances       Size"
        head = f"      {row.step}/90      2.31G     {row.loss * 0.75:.5g}     {row.loss * 0.25:.5g}         31        640: "
        yield "\r".join(bar(done, 10, "", head).strip("\r") for done in (1, 5, 10))
        yield "                   all        128        929      0.642      0.531        nan        0.45"


@trainer("ssd", first=10, every=10, has="loss/train lr/0")
def ssd(rows: Sequence[Row]) -> Iterator[str]:
    yield "Loading Dataset..."
    for row in rows:
        epoch, batch = divmod(row.step - 1, PER_EPOCH)
        yield (f"Epoch:{epoch + 1} || epochiter: {batch + 1}/{PER_EPOCH}|| Totel iter {row.step} || L: {row.loss * 0.25:.6g} C: {row.loss * 0.75:.6g}||"
               f"Batch time: 0.4131 sec. ||LR: {row.lr:.8f}")  # fmt: skip


@trainer("yolox", first=10, every=10, has="loss/train lr/0")
def yolox(rows: Sequence[Row]) -> Iterator[str]:
    yield "2023-01-01 00:00:00 | INFO     | yolox.core.trainer:192 - Training start..."
    for row in rows:
        epoch, batch = divmod(row.step - 1, PER_EPOCH)
        yield (f"2023-01-01 00:00:00 | INFO     | yolox.core.trainer:261 - epoch: {epoch + 1}/5, iter: {batch + 1}/{PER_EPOCH}, gpu mem: 1491Mb, mem: 1.1Gb, iter_time: 0.487s, "
               f"total_loss: {row.loss}, iou_loss: 1.0, l1_loss: 0.0, lr: {row.lr:.3e}, size: 640, ETA: 1:54:27")  # fmt: skip
    yield "| person | nan | car | 1.2 |"


@trainer("nnunet-2", "training_log_2023_5_1.txt", first=0, has="loss/train lr/0")
def nnunet_2(rows: Sequence[Row]) -> Iterator[str]:
    yield from (
        _RULE,
        "Please cite the following paper when using nnU-Net:",
        _RULE,
        " {'batch_size': 2, 'patch_size': [128, 128, 128], 'batch_dice': False} ",
    )
    at = "2023-05-01 10:00:00.123456: "
    for row in rows:
        yield from (
            at,
            f"{at}Epoch {row.step}",
            f"{at}Current learning rate: {row.lr:.6g}",
            f"{at}train_loss {row.loss}",
            f"{at}val_loss {row.loss + 0.05:.4f}",
        )
        yield from (f"{at}Pseudo dice [0.5, nan]", f"{at}Epoch time: 120.11 s", f"{at}Yayy! New best EMA pseudo Dice: 0.5512")


@trainer("nnunet-1", "training_log_2020_5_1.txt", first=0, has="loss/train")
def nnunet_1(rows: Sequence[Row]) -> Iterator[str]:
    at = "2020-05-01 10:00:00.123456: "
    for row in rows:
        yield from (at, f"epoch:  {row.step}", f"{at}train loss : {row.loss:.4f}", f"{at}validation loss: {row.loss + 0.05:.4f}")
        yield from (f"{at}Average global foreground Dice: [0.81, 0.52]", f"{at}lr: 0.009991", f"{at}This epoch took 145.111111 s")


@trainer("paddle-classification", first=0, every=10, has="loss/train lr/0")
def paddle_classification(rows: Sequence[Row]) -> Iterator[str]:
    for row in rows:
        epoch, batch = divmod(row.step, PER_EPOCH)
        yield (f"[2021/06/01 00:00:00] root INFO: [Train][Epoch {epoch + 1}/120][Iter: {batch}/{PER_EPOCH}]lr: {row.lr:.6g}, top1: 0.00000, CELoss: {row.loss}, loss: {row.loss}, "
               "batch_cost: 1.1s, reader_cost: 0.5, ips: 256.1 images/sec, eta: 1:00:00")  # fmt: skip
        if batch == PER_EPOCH - 10:
            yield f"[2021/06/01 00:00:00] root INFO: [Train][Epoch {epoch + 1}/120][Avg]top1: 0.1, CELoss: 5.1, loss: 5.1"
            yield f"[2021/06/01 00:00:00] root INFO: [Eval][Epoch {epoch + 1}][Iter: 0/10]CELoss: 9.1, loss: 9.1, top1: 0.1"
            yield f"[2021/06/01 00:00:00] root INFO: [Eval][Epoch {epoch + 1}][Avg]CELoss: {row.loss:.4f}, loss: {row.loss:.4f}, top1: 0.1"


@trainer("paddle-detection", first=0, every=20, has="loss/train lr/0")
def paddle_detection(rows: Sequence[Row]) -> Iterator[str]:
    for row in rows:
        epoch, batch = divmod(row.step, PER_EPOCH)
        yield (f"[06/01 00:00:00] ppdet.engine INFO: Epoch: [{epoch}] [ {batch:2d}/{PER_EPOCH}] learning_rate: {row.lr:.6f} loss_xy: 0.1 loss_wh: 0.2 loss: {row.loss} "
               "eta: 1 day, 0:00:00 batch_cost: 1.1 data_cost: 0.0003 ips: 7.1 images/s")  # fmt: skip


@trainer("tf-detection", first=100, every=100, has="loss/train lr/0")
def tf_detection(rows: Sequence[Row]) -> Iterator[str]:
    for row in rows:
        yield f"INFO:tensorflow:Step {row.step} per-step time 0.512s"
        yield f"I0601 00:00:00.123456 140000000000000 model_lib_v2.py:705] Step {row.step} per-step time 0.512s"
        yield from (
            f"INFO:tensorflow:{{'Loss/classification_loss': {row.loss / 2},",
            f" 'Loss/total_loss': {row.loss},",
            f" 'learning_rate': {row.lr:.6g}}}",
        )
