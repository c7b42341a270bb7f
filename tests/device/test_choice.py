"""Which device and which precision a name stands for."""

from pathlib import Path

import onnxruntime
import pytest
import torch

from dragoman import device
from dragoman.config.load import load, validate
from dragoman.device import choose_device
from dragoman.errors import DragomanError, UsageError
from dragoman.inference.model import load as load_model
from dragoman.inference.runtimes.onnx import CPU, CUDA, providers_of
from dragoman.training import precision
from dragoman.training.precision import choose, dtype_of
from support.exported_folder import exported_folder


def test_without_a_gpu_auto_is_the_cpu() -> None:
    if torch.accelerator.is_available():
        pytest.skip("there is a GPU")
    assert choose_device("auto", "training.device") == torch.device("cpu")
    with pytest.raises(UsageError, match="cannot use a device of type cuda") as caught:
        choose_device("cuda", "--device")
    assert caught.value.where == "--device"


def test_a_rank_uses_the_gpu_with_its_number(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen: list[int] = []
    monkeypatch.setattr(device, "count", lambda kind: 2 if kind == "cuda" else 0)
    monkeypatch.setattr(torch.accelerator, "set_device_index", chosen.append)
    monkeypatch.setenv("LOCAL_RANK", "1")
    assert choose_device("auto", "") == torch.device("cuda:1")
    assert choose_device("cuda:0", "") == torch.device("cuda:0")
    assert chosen == [1, 0]
    monkeypatch.setenv("LOCAL_RANK", "2")
    with pytest.raises(UsageError, match=r"There is no cuda:2: 2 device\(s\) were found"):
        choose_device("cuda", "")


def test_precisions() -> None:
    cpu = torch.device("cpu")
    assert dtype_of("fp32", cpu) == torch.float32
    assert dtype_of("bf16", cpu) == torch.bfloat16
    with pytest.raises(UsageError, match="tf32 does not exist on cpu"):
        dtype_of("tf32", cpu)


@pytest.mark.parametrize(
    ("preset", "device", "expected"),
    [
        ("transformer-small", "cpu", "bf16"),
        ("transformer-tiny", "cpu", "fp32"),
        ("conv-small", "cpu", "bf16"),
        ("rnn-small", "cpu", "fp32"),
        ("bahdanau2015", "cpu", "fp32"),
        ("rnn-small", "cuda", "bf16"),
    ],
)
def test_bf16_is_chosen_where_it_is_faster(
    preset: str, device: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = validate({"data": {"train": ["a.en", "a.de"]}, "model": {"preset": preset}}).model
    monkeypatch.setattr(precision, "multiplies_bf16_fast", lambda device: True)
    assert choose(torch.device(device), model) == expected
    monkeypatch.setattr(precision, "multiplies_bf16_fast", lambda device: False)
    assert choose(torch.device(device), model) == "fp32"


@pytest.mark.parametrize(
    ("setting", "what"), [("precision=fp16", "fp16 overflows"), ("device=gpu", "training.device")]
)
def test_what_is_refused(setting: str, what: str) -> None:
    with pytest.raises(DragomanError) as caught:
        load(None, [f"training.{setting}"], base={"data": {"train": ["a.tsv"]}})
    assert what in str(caught.value)


@pytest.mark.parametrize("runtime", ["torch", "ct2"])
def test_a_device_that_is_not_there_is_refused(runtime: str, tmp_path: Path) -> None:
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    folder = exported_folder(tmp_path / "model")
    with pytest.raises(UsageError, match="cannot use"):
        load_model(folder, runtime=runtime, device="cuda")
    assert load_model(folder, runtime=runtime, device="auto")("a dog").text


def test_onnx_runtime_names_devices_by_its_providers() -> None:
    if CUDA in onnxruntime.get_available_providers():
        pytest.skip("there is a GPU")
    assert providers_of("cpu") == providers_of("auto") == [CPU]
    for name in ("cuda", "mps"):
        with pytest.raises(UsageError, match=f"ONNX Runtime cannot use the device {name}"):
            providers_of(name)
