"""A recipe as a patch: the right value is changed, nothing else is, and what is not clear is said."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
import tomlkit
import yaml

from sismo.errors import UsageError
from sismo.incident.settings import proposed
from sismo.incident.types import Patch, Prescription
from sismo.patch.make import kinds, patch
from sismo.records.types import Header, Run
from sismo.tree.catalogue import remedies

YAML = """\
# the good run
optim:
    lr:   3e-4        # peak
    betas: [0.9, 0.95]
    max_grad_norm: 1.0
train: {warmup_steps: 0, fp16: true, bf16: false}
names: ["lr", 'x']
"""
TOML = """\
# the good run
[optim]
lr = 3e-4          # peak
max_grad_norm = 1.0
betas = [0.9, 0.95]

[train]
warmup_steps = 0
fp16 = true
bf16 = false
"""
JSON = """\
{"optim": {"lr": 3e-4,   "betas": [0.9, 0.95], "max_grad_norm": 1.0},
 "train": {"warmup_steps": 0, "fp16": true, "bf16": false}, "names": ["lr", {"lr": null}]
}
"""
FILES = {"c.yaml": YAML, "c.toml": TOML, "c.json": JSON.replace(', "names": ["lr", {"lr": null}]', ', "names": ["lr"]')}


def prescription(cause: str, **header: object) -> Prescription:
    run = Run("train.log", Header("text", **header), {})  # type: ignore[arg-type]
    changes = [proposed(change, run) for change in remedies()[cause].changes]
    return Prescription(cause, "recipe", 0.9, None, None, changes=changes)


def patched(text: str, cause: str, folder: Path, name: str = "c.yaml", planned: int | None = None) -> tuple[Patch, str]:
    """The patch, and the file after ``patch -p0`` was run on it."""
    file = folder / name
    file.write_text(text, encoding="utf-8", newline="")
    found = patch(str(file), prescription(cause), planned)
    if found.diff:
        subprocess.run(["patch", "-p0", "--binary", "--quiet", str(file)], input=found.diff.encode(), check=True)
    return found, file.read_bytes().decode()


def changed(before: str, after: str) -> list[str]:
    return [new for old, new in zip(before.splitlines(), after.splitlines(), strict=True) if old != new]


@pytest.mark.parametrize("name", FILES)
def test_only_the_values_change(name: str, tmp_path: Path) -> None:
    found, after = patched(FILES[name], "exploding-gradients", tmp_path, name)
    assert {edit.key for edit in found.edits} == {"optim.max_grad_norm", "optim.lr"}
    assert after == FILES[name].replace("3e-4", "0.00015").replace("norm: 1.0", "norm: 0.5").replace("norm = 1.0", "norm = 0.5").replace(
        'norm": 1.0', 'norm": 0.5'
    )


@pytest.mark.parametrize("name", FILES)
def test_switches_of_precision_are_turned_together(name: str, tmp_path: Path) -> None:
    _, after = patched(FILES[name], "fp16-overflow", tmp_path, name)
    read = {"c.yaml": yaml.safe_load, "c.toml": tomlkit.parse, "c.json": yaml.safe_load}[name](after)
    assert (read["train"]["fp16"], read["train"]["bf16"]) == (False, True)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("precision: 16-mixed", "precision: bf16-mixed"),
        ("dtype: 'float16'", "dtype: 'bfloat16'"),
        ("torch_dtype: torch.float16 # t", "torch_dtype: torch.bfloat16 # t"),
        ("fp16: {enabled: true}\nbf16: {enabled: false}", "fp16: {enabled: false}\nbf16: {enabled: true}"),
        ("train:\n    lr: 1  # peak\n    fp16: true  # half", "train:\n    lr: 1  # peak\n    bf16: true\n    fp16: false  # half"),
        ("train: {lr: 1, fp16: true}", "train: {lr: 1, bf16: true, fp16: false}"),
        ("- fp16: true", "- bf16: true\n  fp16: false"),
        ("fp16:\n  enabled: true\n  loss_scale: 0", "bf16: {enabled: true}\nfp16:\n  enabled: false\n  loss_scale: 0"),
    ],
)
def test_each_spelling_of_precision(old: str, new: str, tmp_path: Path) -> None:
    assert patched(old + "\n", "fp16-overflow", tmp_path)[1] == new + "\n"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            '{"lr": 1, "fp16": {"enabled": true, "loss_scale": 0}}',
            '{"lr": 1, "bf16": {"enabled": true}, "fp16": {"enabled": false, "loss_scale": 0}}',
        ),
        ('{\n  "fp16": {\n    "enabled": true\n  }\n}\n', '{\n  "bf16": {"enabled": true},\n  "fp16": {\n    "enabled": false\n  }\n}\n'),
        ('{"args": {"fp16": true}}', '{"args": {"bf16": true, "fp16": false}}'),
    ],
)
def test_a_switch_that_is_not_there_yet_is_put_beside_the_other(old: str, new: str, tmp_path: Path) -> None:
    """DeepSpeed's configuration, and arguments that name the one precision which is on."""
    found, after = patched(old, "fp16-overflow", tmp_path, "c.json")
    assert after == new
    assert any("is new in the file" in str(left.said) for left in found.left)


def test_a_switch_that_is_not_there_yet_in_toml(tmp_path: Path) -> None:
    _, after = patched("[train]\nfp16 = true # half\n\n[data]\nx = 1\n", "fp16-overflow", tmp_path, "c.toml")
    assert tomlkit.parse(after) == {"train": {"fp16": False, "bf16": True}, "data": {"x": 1}}
    assert "fp16 = false # half" in after


@pytest.mark.parametrize(
    ("clip", "text", "new"),
    [
        (None, "max_grad_norm: 1.0\n", 0.5),
        (1.0, "max_grad_norm: 5.0\n", 0.5),
        (None, "max_grad_norm: 5.0\n", 1.0),
        (0.4, "max_grad_norm: 1.0\n", None),
    ],
)
def test_recipe_and_patch_have_one_number(clip: float | None, text: str, new: float | None, tmp_path: Path) -> None:
    file = tmp_path / "c.yaml"
    file.write_text(text)
    found = patch(str(file), prescription("long-tail-batch", clip=clip))
    assert [change.new for change in found.changes] == ([new] if new else [])
    assert [edit.new for edit in found.edits] == ([str(new)] if new else [])


@pytest.mark.parametrize(
    ("text", "cause", "said"),
    [
        ("gen: {lr: 1e-3}\ndisc: {lr: 1e-3}\n", "lr-too-high", "gen.lr, disc.lr"),
        ("optim: {learning_rate: 1e-3, lr: 1e-3}\n", "lr-too-high", "not clear"),
        ("steps: 10\n", "lr-too-high", "no key for it"),
        ("lr: auto\n", "lr-too-high", "no number"),
        ("lr: null\n", "lr-too-high", "no number"),
        ("fp16: false\n", "fp16-overflow", "not clear"),
        ("a: {fp16: true}\nb: {fp16: true}\n", "fp16-overflow", "not clear"),
        ("fp16: false\nbf16: true\n", "fp16-overflow", "already"),
        ("warmup_steps: 0\nwarmup_iters: 0\n", "missing-warmup", "not clear"),
        ("warmup_steps: 100\n", "missing-warmup", "already"),
        ("max_grad_norm: 0.25\n", "long-tail-batch", "already"),
    ],
)
def test_what_is_not_clear_is_said_and_left(text: str, cause: str, said: str, tmp_path: Path) -> None:
    found, after = patched(text, cause, tmp_path)
    assert after == text
    assert any(said in str(left.said) for left in found.left)


def test_a_value_that_an_alias_repeats_is_one(tmp_path: Path) -> None:
    text = "base: &opt\n  lr: 1e-3\nother: *opt\n"
    assert "lr: 0.0005" in patched(text, "lr-too-high", tmp_path)[1]


@pytest.mark.parametrize(
    ("text", "planned", "line"),
    [
        ("warmup_steps: 0", None, "warmup_steps: 100"),
        ("warmup_steps: 0", 50_000, "warmup_steps: 500"),
        ("warmup_ratio: 0.0", None, "warmup_ratio: 0.01"),
        ("warmup_ratio: 0.0", 2_000, "warmup_ratio: 0.05"),
        ("warmup_ratio: 0.0\nwarmup_steps: 0", None, "warmup_ratio: 0.0\nwarmup_steps: 100"),
        ("warmup_ratio: 0.001\nwarmup_steps: 0", None, "warmup_ratio: 0.01\nwarmup_steps: 0"),
    ],
)
def test_warmup_in_steps_or_as_a_share(text: str, planned: int | None, line: str, tmp_path: Path) -> None:
    assert patched(text + "\n", "missing-warmup", tmp_path, planned=planned)[1] == line + "\n"


def test_a_small_number_stays_a_number_for_every_reader(tmp_path: Path) -> None:
    _, after = patched("lr: 1.0e-6\n", "lr-too-high", tmp_path)
    assert yaml.safe_load(after) == {"lr": 5e-7}


@pytest.mark.parametrize("text", ["lr: 1e-3", "lr: 1e-3\r\nx: 1\r\n", "\ufefflr: 1e-3\nx: 1\n"])
def test_line_ends_stay_as_they_are(text: str, tmp_path: Path) -> None:
    assert patched(text, "lr-too-high", tmp_path)[1] == text.replace("1e-3", "0.0005")


def test_a_file_of_another_run_is_pointed_out(tmp_path: Path) -> None:
    file = tmp_path / "c.yaml"
    file.write_text("max_grad_norm: 5.0\n")
    found = patch(str(file), prescription("long-tail-batch", clip=2.0), None)
    assert [str(left.said) for left in found.left] == [
        "changed, but max_grad_norm is 5.0 and the run had 2: is this its file?",
    ]


@pytest.mark.parametrize(
    ("name", "text"),
    [("c.yaml", "a: [1\n"), ("c.toml", "a = \n"), ("c.json", "{,}"), ("c.ini", "a=1"), ("c.json", "\udcff")],
)
def test_what_cannot_be_read_is_one_clear_line(name: str, text: str, tmp_path: Path) -> None:
    file = tmp_path / name
    file.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(UsageError) as error:
        patch(str(file), prescription("lr-too-high"), None)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("suffix", kinds())
def test_a_file_without_values_needs_no_change(suffix: str, tmp_path: Path) -> None:
    found, _ = patched("{}" if suffix == ".json" else "", "lr-too-high", tmp_path, f"c{suffix}")
    assert not found.diff


def test_json_keys_at_every_depth() -> None:
    spots = kinds()[".json"].spots('{"a": {"b": [1, {"c": 2}], "d": "x,:{"}, "e": null, "f": []}')
    assert [(spot.path, spot.raw) for spot in spots] == [(("a", "b", "[]", "c"), "2"), (("a", "d"), '"x,:{"'), (("e",), "null")]


REAL = {
    "training_args.json": (
        '{\n  "learning_rate": 5e-05,\n  "warmup_ratio": 0.0,\n  "warmup_steps": 0,\n  "fp16": true,\n  "max_grad_norm": 1.0\n}\n',
        {'"warmup_steps": 0': '"warmup_steps": 100'},
    ),
    "nanogpt.toml": (
        "# train a gpt\n[optim]\nlearning_rate = 6e-4 # max\nmax_iters = 5_000\nwarmup_iters = 0   # none!\nmin_lr = 6e-5\n",
        {"warmup_iters = 0": "warmup_iters = 100"},
    ),
    "hydra.yaml": (
        "# @package _global_\ndefaults:\n  - _self_\n  - model: gpt   # 124M\ncommon: &common\n  lr: 6.0e-4   # peak\n"
        "optim:\n  <<: *common\nschedule:\n  warmup_steps: 0  # TODO\nsteps: ${total}\ntotal: 10000\n",
        {"warmup_steps: 0": "warmup_steps: 100"},
    ),
}
"""Files as Hugging Face, nanoGPT and hydra write them, and all that may change in them."""


@pytest.mark.parametrize("name", REAL)
def test_files_as_they_are_written_out_there(name: str, tmp_path: Path) -> None:
    text, changes = REAL[name]
    wanted = text
    for old, new in changes.items():
        wanted = wanted.replace(old, new)
    assert patched(text, "missing-warmup", tmp_path, name=name)[1] == wanted
