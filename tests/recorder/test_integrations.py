"""Each integration with the real library."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from recorder.loops import build, train
from torch import Tensor, nn

from sismo.recorder import Recorder
from sismo.records.reader import read_run

pytestmark = pytest.mark.slow


def test_hugging_face_trainer(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    from sismo.recorder.integrations.huggingface import RecorderCallback

    config = transformers.GPT2Config(vocab_size=64, n_positions=32, n_embd=32, n_layer=2, n_head=2)
    rows = [{"input_ids": row, "labels": row} for row in torch.randint(0, 64, (40, 16), generator=torch.Generator().manual_seed(0))]

    def run(callbacks: list[Any]) -> tuple[list[Tensor], list[float]]:
        transformers.set_seed(1)
        model = transformers.GPT2LMHeadModel(config)
        arguments = transformers.TrainingArguments(
            output_dir=str(tmp_path / "out"), max_steps=6, per_device_train_batch_size=2, gradient_accumulation_steps=2, logging_steps=1,
            report_to=[], use_cpu=True, save_steps=3, disable_tqdm=True, eval_strategy="steps", eval_steps=3,
        )  # fmt: skip
        trainer = transformers.Trainer(model=model, args=arguments, train_dataset=rows, eval_dataset=rows[:4], callbacks=callbacks)
        trainer.train()
        losses = [row["loss"] for row in trainer.state.log_history if "loss" in row]
        return [parameter.detach().clone() for parameter in model.parameters()], losses

    weights, losses = run([RecorderCallback(tmp_path / "run", budget=None)])
    plain, _ = run([])
    assert all(torch.equal(one, other) for one, other in zip(weights, plain, strict=True))
    found = read_run(tmp_path / "run")
    assert found.series["loss/train"].values.tolist() == pytest.approx(losses, rel=1e-3)
    assert found.series["loss/val"].steps.tolist() == [2, 5]
    assert {
        "act_mean_abs/transformer.h.0.attn",
        "head_entropy/transformer.h.1.attn.0",
        "grad_norm/pre",
        "grad_norm/post",
    } <= found.series.keys()
    assert found.header.status == "completed"
    assert found.header.accumulation == 2
    assert len(found.events_of("checkpoint")) == 2


@pytest.mark.parametrize("kind", ["own compute_loss", "function", "smoothed"])
def test_a_loss_that_hugging_face_is_told_how_to_work_out_is_recorded_with_its_graph(tmp_path: Path, kind: str) -> None:
    transformers = pytest.importorskip("transformers")
    from sismo.recorder.integrations.huggingface import RecorderCallback

    config = transformers.GPT2Config(
        vocab_size=64, n_positions=32, n_embd=32, n_layer=2, n_head=2, resid_pdrop=0, embd_pdrop=0, attn_pdrop=0
    )
    rows = [{"input_ids": row, "labels": row} for row in torch.randint(0, 64, (40, 16), generator=torch.Generator().manual_seed(0))]

    class Own(transformers.Trainer):
        def compute_loss(self, model: Any, inputs: Any, return_outputs: bool = False, num_items_in_batch: Any = None) -> Any:
            inputs = dict(inputs)
            labels = inputs.pop("labels")
            return nn.functional.cross_entropy(model(**inputs).logits.softmax(-1).flatten(0, 1), labels.flatten())

    def own(outputs: Any, labels: Tensor, num_items_in_batch: Any = None) -> Tensor:
        scores = outputs.logits.softmax(-1).flatten(0, 1)
        return nn.functional.cross_entropy(scores, labels.flatten(), reduction="sum") / num_items_in_batch

    transformers.set_seed(1)
    arguments = transformers.TrainingArguments(
        output_dir=str(tmp_path / "out"), max_steps=4, per_device_train_batch_size=2, gradient_accumulation_steps=2, logging_steps=1,
        report_to=[], use_cpu=True, save_strategy="no", disable_tqdm=True, label_smoothing_factor=0.1 if kind == "smoothed" else 0.0,
    )  # fmt: skip
    trainer = (Own if kind == "own compute_loss" else transformers.Trainer)(
        model=transformers.GPT2LMHeadModel(config), args=arguments, train_dataset=rows, callbacks=[RecorderCallback(tmp_path / "run")],
        compute_loss_func=own if kind == "function" else None,
    )  # fmt: skip
    trainer.train()
    found = read_run(tmp_path / "run")
    logged = [row["loss"] for row in trainer.state.log_history if "loss" in row]
    assert found.series["loss/train"].values.tolist() == pytest.approx(logged, rel=1e-3)
    (graph,) = found.events_of("graph")
    assert graph.data["squashed"] == (None if kind == "smoothed" else "softmax")


def test_hugging_face_tries_again_after_it_ran_out_of_memory_and_names_its_validation_sets(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    from sismo.recorder.integrations.huggingface import RecorderCallback

    class Full(transformers.TrainerCallback):
        told = False

        def on_step_begin(self, args: Any, state: Any, control: Any, **given: Any) -> None:
            if state.global_step == 2 and not self.told:
                self.told = True
                raise RuntimeError("CUDA out of memory. Tried to allocate")

    config = transformers.GPT2Config(vocab_size=64, n_positions=32, n_embd=32, n_layer=2, n_head=2)
    rows = [{"input_ids": row, "labels": row} for row in torch.randint(0, 64, (40, 16), generator=torch.Generator().manual_seed(0))]
    for how in ("by itself", "by hand"):
        path = tmp_path / how
        arguments = transformers.TrainingArguments(
            output_dir=str(tmp_path / "out"), max_steps=4, per_device_train_batch_size=4, report_to=[], use_cpu=True, save_strategy="no",
            disable_tqdm=True, auto_find_batch_size=how == "by itself", eval_strategy="steps", eval_steps=2,
        )  # fmt: skip
        model, full = transformers.GPT2LMHeadModel(config), Full()

        def train(
            path: Path = path, arguments: Any = arguments, model: Any = model, full: Any = full
        ) -> None:  # each time with a callback of its own, as a cell of a notebook that is run again
            sets = {"here": rows[:4], "there": rows[4:8]}
            callbacks = [RecorderCallback(path), full]
            transformers.Trainer(model=model, args=arguments, train_dataset=rows, eval_dataset=sets, callbacks=callbacks).train()

        if how == "by hand":
            with pytest.raises(RuntimeError, match="out of memory"):
                train()
        train()
        found = read_run(path)
        assert found.series["loss/train"].steps.tolist() == [0, 1, 2, 3]
        assert found.series["loss_val/here"].steps.tolist() == found.series["loss_val/there"].steps.tolist() == [1, 3]
        assert found.header.status == "completed"
        assert not any(module._forward_pre_hooks for module in model.modules())


@pytest.mark.filterwarnings("ignore:.is_gradient_checkpointing. is deprecated:FutureWarning")
def test_peft_records_the_adapters_and_finds_nothing_wrong_with_frozen_weights(tmp_path: Path) -> None:
    peft = pytest.importorskip("peft")
    transformers = pytest.importorskip("transformers")
    import sismo

    transformers.set_seed(1)
    config = transformers.GPT2Config(vocab_size=64, n_positions=32, n_embd=32, n_layer=2, n_head=2)
    adapters = peft.LoraConfig(r=4, target_modules=["c_attn"], fan_in_fan_out=True, lora_dropout=0.0)
    model = peft.get_peft_model(transformers.GPT2LMHeadModel(config), adapters)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)  # as most loops have it: with the frozen ones
    with Recorder(model, optimizer, tmp_path, budget=None) as recorder:
        for _ in range(60):
            rows = torch.randint(0, 8, (8, 1)) + torch.arange(16)
            loss = model(input_ids=rows, labels=rows).loss
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            recorder.step(loss)
        assert recorder.recording
    run = read_run(tmp_path)
    spectra = [name for name in run.series if name.startswith("spectral/")]
    assert len(spectra) == 4
    assert all("lora_" in name for name in spectra)
    assert {
        "act_mean_abs/base_model.model.transformer.h.1.mlp",
        "head_entropy/base_model.model.transformer.h.0.attn.1",
    } <= run.series.keys()
    loud = {cause.id for cause in sismo.diagnose(run).causes if cause.severity != "note"}
    assert not loud & {"frozen-by-mistake", "parameter-not-in-optimizer", "update-changes-nothing"}


@pytest.mark.filterwarnings("ignore:.isinstance.treespec, LeafSpec.. is deprecated:FutureWarning")
def test_lightning_trainer(tmp_path: Path) -> None:
    lightning = pytest.importorskip("lightning")
    from sismo.recorder.integrations.lightning import RecorderCallback

    class Module(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))

        def training_step(self, batch: list[Tensor], index: int) -> Tensor:
            return self.net(batch[0]).square().mean()

        def validation_step(self, batch: list[Tensor], index: int) -> None:
            self.log("val_loss", self.net(batch[0]).square().mean())

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return torch.optim.AdamW(self.parameters(), 1e-3)

    torch.manual_seed(0)
    data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(24, 4)), batch_size=4)
    trainer = lightning.Trainer(
        max_steps=5, accelerator="cpu", logger=False, enable_progress_bar=False, enable_model_summary=False, gradient_clip_val=0.5,
        default_root_dir=tmp_path, callbacks=[RecorderCallback(tmp_path / "run", budget=None)], enable_checkpointing=False,
    )  # fmt: skip
    trainer.fit(Module(), data, data)
    found = read_run(tmp_path / "run")
    assert len(found.series["loss/train"]) == 5
    assert len(found.series["batch/fingerprint"]) == 5
    assert {"Addmm", "Mean", "Pow", "Relu"} <= set(found.events_of("graph")[0].data["ops"])
    assert {"grad_norm/pre", "grad_norm/post", "lr/0"} <= found.series.keys()
    assert found.header.status == "completed"


@pytest.mark.filterwarnings("ignore:.isinstance.treespec, LeafSpec.. is deprecated:FutureWarning")
def test_lightning_accumulation_records_the_loss_of_the_whole_step(tmp_path: Path) -> None:
    lightning = pytest.importorskip("lightning")
    from sismo.recorder.integrations.lightning import RecorderCallback

    class Module(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.net = nn.Linear(4, 1)
            self.seen: list[float] = []

        def training_step(self, batch: list[Tensor], index: int) -> Tensor:
            loss = self.net(batch[0]).square().mean()
            self.seen.append(loss.item())
            return loss

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return torch.optim.AdamW(self.parameters(), 1e-2)

    torch.manual_seed(0)
    data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(24, 4)), batch_size=4)
    trainer = lightning.Trainer(
        max_steps=3, accelerator="cpu", logger=False, enable_progress_bar=False, enable_model_summary=False, accumulate_grad_batches=2,
        default_root_dir=tmp_path, callbacks=[RecorderCallback(tmp_path / "run")], enable_checkpointing=False,
    )  # fmt: skip
    module = Module()
    trainer.fit(module, data)
    assert read_run(tmp_path / "run").series["loss/train"].values.tolist() == pytest.approx(
        [(one + other) / 2 for one, other in zip(module.seen[::2], module.seen[1::2], strict=True)]
    )


@pytest.mark.filterwarnings("ignore:.isinstance.treespec, LeafSpec.. is deprecated:FutureWarning")
@pytest.mark.filterwarnings(
    "ignore:Checkpoint directory .* exists and is not empty:UserWarning", "ignore:You.re resuming from a checkpoint:UserWarning"
)
@pytest.mark.parametrize(("name", "channels"), [("val/loss", ["loss/val"]), ("valid_loss", ["loss_val/0", "loss_val/1"]), ("other", [])])
def test_a_lightning_run_that_goes_on_from_a_checkpoint(
    tmp_path: Path, name: str, channels: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    lightning = pytest.importorskip("lightning")
    from sismo.recorder.integrations.lightning import RecorderCallback

    class Module(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.net = nn.Linear(4, 1)

        def training_step(self, batch: list[Tensor], index: int) -> Tensor:
            return self.net(batch[0]).square().mean()

        def validation_step(self, batch: list[Tensor], index: int, dataloader_idx: int = 0) -> None:
            self.log(name, self.net(batch[0]).square().mean())

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return torch.optim.AdamW(self.parameters(), 1e-2)

    torch.manual_seed(0)
    data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(24, 4)), batch_size=4)

    def fit(epochs: int, checkpoint: Path | None) -> None:
        saver = lightning.pytorch.callbacks.ModelCheckpoint(tmp_path / "saved", "{step}", every_n_train_steps=3, save_top_k=-1)
        trainer = lightning.Trainer(
            max_epochs=epochs, accelerator="cpu", logger=False, enable_progress_bar=False, enable_model_summary=False,
            default_root_dir=tmp_path, callbacks=[RecorderCallback(tmp_path / "run"), saver],
        )  # fmt: skip
        trainer.fit(Module(), data, [data, data] if len(channels) == 2 else data, ckpt_path=checkpoint)

    fit(1, None)
    fit(2, tmp_path / "saved" / "step=3.ckpt")
    found = read_run(tmp_path / "run")
    assert found.series["loss/train"].steps.tolist() == list(range(12))
    assert [(event.step, event.data) for event in found.events_of("resume")] == [(3, {"after": 5})]
    places = {(event.step, str(event.data["path"])) for event in found.events_of("checkpoint")}
    assert places >= {(step, str(tmp_path / "saved" / f"step={step + 1}.ckpt")) for step in (2, 5, 8, 11)}
    assert {series: found.series[series].steps.tolist() for series in channels} == {series: [5, 11] for series in channels}
    assert ("no validation loss is recorded" in caplog.text) is (not channels)
    assert found.header.total_steps == 12


def test_tensorboard(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from torch.utils.tensorboard import SummaryWriter

    from sismo.recorder.integrations.tensorboard import TensorBoardMirror

    model, optimizer = build()
    with (
        SummaryWriter(str(tmp_path / "logs")) as writer,
        Recorder(model, optimizer, tmp_path / "run", mirrors=[TensorBoardMirror(writer)]) as recorder,
    ):
        train(model, optimizer, 3, recorder.step)
    logs = EventAccumulator(str(tmp_path / "logs"))
    logs.Reload()
    mine = read_run(tmp_path / "run").series["loss/train"].values.tolist()
    assert [event.value for event in logs.Scalars("loss/train")] == pytest.approx(mine)


def test_wandb_offline(tmp_path: Path) -> None:
    wandb = pytest.importorskip("wandb")
    from sismo.recorder.integrations.wandb import WandbMirror

    model, optimizer = build()
    with wandb.init(mode="offline", dir=str(tmp_path), project="sismo") as run:
        with Recorder(model, optimizer, tmp_path / "run", mirrors=[WandbMirror(run)]) as recorder:
            train(model, optimizer, 3, recorder.step)
            assert recorder.recording
        assert run.summary["loss/train"] == pytest.approx(float(read_run(tmp_path / "run").series["loss/train"].values[-1]))


def test_mlflow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow = pytest.importorskip("mlflow")
    from sismo.recorder.integrations.mlflow import MlflowMirror

    model, optimizer = build()
    mlflow.set_tracking_uri((tmp_path / "mlruns").as_uri())
    with mlflow.start_run() as run, Recorder(model, optimizer, tmp_path / "run", mirrors=[MlflowMirror(mlflow)]) as recorder:
        train(model, optimizer, 3, recorder.step)
        assert recorder.recording
    history = mlflow.MlflowClient().get_metric_history(run.info.run_id, "loss/train")
    assert [point.value for point in history] == pytest.approx(read_run(tmp_path / "run").series["loss/train"].values.tolist())
