"""Which key becomes which channel."""

# ruff: noqa: E501 - lines of logs are as long as they are
from __future__ import annotations

import pytest

from sismo.sources.keys import meaning
from sismo.sources.naming import name_channels


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        (["loss", "eval_loss"], {"loss": "loss/train", "eval_loss": "loss/val"}),
        (["train/loss", "val/loss"], {"train/loss": "loss/train", "val/loss": "loss/val"}),
        (["lm loss", "grad norm", "loss scale"], {"lm loss": "loss/train", "grad norm": "grad_norm/pre", "loss scale": "loss_scale"}),
        (["trl", "tel", "norm"], {"trl": "loss/train", "tel": "loss/val", "norm": "grad_norm/pre"}),
        (["total_loss", "loss_cls", "loss_box_reg"], {"total_loss": "loss/train", "loss_cls": "loss_term/cls", "loss_box_reg": "loss_term/box_reg"}),
        (["loss", "inner_loss"], {"loss": "loss/train", "inner_loss": "loss_term/inner"}),
        (["loss", "learning_rate", "lr-AdamW/pg1"], {"loss": "loss/train", "learning_rate": "lr/0", "lr-AdamW/pg1": "lr/1"}),
        (["loss", "lr/pg0", "lr/pg1"], {"loss": "loss/train", "lr/pg0": "lr/0", "lr/pg1": "lr/1"}),
        (["loss", "val_acc", "AP", "perplexity", "time"], {"val_acc": "metric/val_acc", "AP": "metric/AP", "perplexity": "metric/perplexity"}),
        (["loss", "loss_weight", "best_loss"], {"loss": "loss/train", "loss_weight": "metric/loss_weight", "best_loss": "metric/best_loss"}),
        (["loss", "grad_norm_clipped"], {"grad_norm_clipped": "grad_norm/post"}),
        (["loss", "number of skipped iterations", "number of nan iterations"],
         {"number of skipped iterations": "skipped", "number of nan iterations": "nonfinite"}),
        (["train_loss", "val_loss", "test_loss"], {"val_loss": "loss/val", "test_loss": "metric/test_loss"}),
        (["loss", "update_ratio/embed"], {"update_ratio/embed": "update_ratio/embed"}),
        (["val", "lr", "grad_norm"], {"val": "loss/val", "lr": "lr/0", "grad_norm": "grad_norm/pre"}),
        (["epoch", "mse"], {"mse": "loss/train"}),
    ],
)  # fmt: skip
def test_keys_become_channels(keys: list[str], expected: dict[str, str]) -> None:
    named = name_channels(dict.fromkeys(keys, 10), {}).channels
    assert {key: named.get(key) for key in expected} == expected


def test_terms_without_a_total_are_summed_and_noted() -> None:
    naming = name_channels(dict.fromkeys(["train/box_loss", "train/cls_loss", "val/box_loss", "val/cls_loss"], 10), {})
    assert naming.sums == {"loss/train": ["train/box_loss", "train/cls_loss"], "loss/val": ["val/box_loss", "val/cls_loss"]}
    assert naming.channels["val/cls_loss"] == "loss_term_val/cls"
    assert [note.code for note in naming.notes] == ["renamed", "renamed"]


def test_the_first_evaluation_set_stands_for_the_validation_loss() -> None:
    naming = name_channels(dict.fromkeys(["loss", "eval_g0_loss", "eval_g1_loss"], 10), {})
    assert naming.channels["eval_g1_loss"] == "loss_val/g1"
    assert naming.aliases == {"loss/val": "eval_g0_loss"}


def test_a_per_step_loss_is_preferred_to_an_epoch_mean() -> None:
    naming = name_channels({"train_loss_epoch": 100, "train_loss_step": 126}, {})
    assert naming.channels == {"train_loss_step": "loss/train", "train_loss_epoch": "metric/train_loss_epoch"}
    naming = name_channels({"loss": 1000, "total_loss": 10}, {})
    assert naming.channels["loss"] == "loss/train"


@pytest.mark.parametrize(
    ("keys", "objective"),
    [
        (["loss", "reward", "kl", "completions/mean_length"], "rl"),
        (["policy_loss", "value_loss"], "rl"),
        (["loss", "rewards/chosen", "rewards/rejected"], None),
        (["loss", "mean_return"], "rl"),
        (["losses/td_loss", "losses/q_values"], "rl"),
        (["train/actor_loss", "train/critic_loss"], "rl"),
        (["loss", "daily_return"], None),
        (["loss_G", "loss_D"], "gan"),
        (["errD", "errG"], "gan"),
        (["critic_loss", "gen_loss"], "gan"),
        (["real_loss", "fake_loss"], "gan"),
        (["d_loss", "loss"], None),
        (["loss", "lr"], None),
    ],
)
def test_the_objective_shows_in_the_keys(keys: list[str], objective: str | None) -> None:
    assert name_channels(dict.fromkeys(keys, 10), {}).objective == objective


@pytest.mark.parametrize("key", ["", "/", "___", "loss" * 50, "ÿ", "loss\n", "1", "val/", "a/b/c/d/e", "loss/loss/loss"])
def test_any_key_means_something(key: str) -> None:
    assert meaning(key).role
