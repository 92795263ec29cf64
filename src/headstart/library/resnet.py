"""The third paper's meta-data set, rebuilt at a smaller scale: residual networks on subsampled image data sets.

Fig. 8 of *Learning to Transfer Initializations for Bayesian Hyperparameter Optimization* (the Siamese paper): batch
size and initial learning rate of a residual network on a grid of 10 × 10, for data sets of five classes. The paper
trained ResNet-26 on 10,000 images for 20 epochs; here a smaller network trains on 400 images for 10 epochs, so that
the whole history takes half an hour on one core. `images` lists the data sets.

The network: a 3×3 convolution with stride 2, then three residual blocks of two 3×3 convolutions with 8, 16 and 32
channels, the second and third with stride 2 and a 1×1 convolution as their shortcut, batch normalisation after every
convolution, global average pooling, one linear layer: eight weight layers.

The training: stochastic gradient descent with momentum 0.9 and weight decay 1e-4 on the cross entropy; the learning
rate falls from its initial value to 0 along half a cosine; the last batch of an epoch may be smaller. Initial weights
and the order of the images depend on the seed and the data set, so that points of the grid differ in the two
hyperparameters only. Normalisation uses the statistics of the batch in training and those of the whole training part
in validation (running averages would not have settled after 20 steps).

The value is the error rate on the validation part. A network whose outputs are not finite has diverged and counts as
one that always gives the same answer: 1 - 1 / number of classes.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from headstart.datasets.siamese import one_thread, torch
from headstart.library import images
from headstart.library.building import Builder
from headstart.library.datasets import AnyArray as Array
from headstart.library.images import ImageSet
from headstart.space import Float, Int, Space

BATCH_SIZES = (8, 12, 17, 25, 37, 55, 81, 119, 174, 256)
RATES = tuple(float(f"{10 ** (4 * k / 9 - 4):.3g}") for k in range(10))

EPOCHS = 10
CHANNELS = (8, 16, 32)
MOMENTUM = 0.9
DECAY = 1e-4

Config = Mapping[str, Any]
Tensor = torch.Tensor
Shapes = dict[str, tuple[int, ...]]
Statistics = dict[str, tuple[Tensor, Tensor]]

F = torch.nn.functional


def space() -> Space:
    """The search space of the grid, in native units."""
    return Space(
        {
            "batch_size": Int(BATCH_SIZES[0], BATCH_SIZES[-1], log=True),
            "learning_rate": Float(RATES[0], RATES[-1], log=True),
        }
    )


def grid() -> list[dict[str, Any]]:
    """The 100 configurations: 10 batch sizes times 10 initial learning rates, both evenly spaced on a log scale."""
    return [{"batch_size": size, "learning_rate": rate} for size in BATCH_SIZES for rate in RATES]


# ---------------------------------------------------------------------------------------------- the network
#
# Networks that differ in their learning rate only are trained side by side: the channels of K networks are stacked, and
# a convolution in K groups keeps them apart. All weights of a network are one row of a matrix, K × (number of weights),
# so that a step of gradient descent is one line.


def shapes(classes: int) -> Shapes:
    """Names and shapes of the weights, in their order in a row of the matrix."""
    convolutions: Shapes = {"stem": (CHANNELS[0], 1, 3, 3)}
    before = CHANNELS[0]
    for block, channels in enumerate(CHANNELS):
        convolutions[f"{block}.first"] = (channels, before, 3, 3)
        convolutions[f"{block}.second"] = (channels, channels, 3, 3)
        if channels != before:
            convolutions[f"{block}.shortcut"] = (channels, before, 1, 1)
        before = channels
    norms = {f"{name}.{part}": shape[:1] for name, shape in convolutions.items() for part in ("scale", "shift")}
    return {**convolutions, **norms, "answer": (classes, before), "answer.shift": (classes,)}


def initial(classes: int, *, rng: np.random.Generator) -> Array:
    """He et al.'s initial weights of one network: normal with variance 2 / fan-in; scales 1, shifts 0."""
    parts = []
    for name, shape in shapes(classes).items():
        if len(shape) == 1:
            parts.append(np.full(shape, float(name.endswith("scale"))))
        else:
            parts.append(rng.normal(scale=math.sqrt(2 / math.prod(shape[1:])), size=shape).ravel())
    return np.concatenate(parts)


def forward(weights: Tensor, X: Tensor, statistics: Statistics, *, classes: int, training: bool) -> Tensor:
    """The outputs (K, n, classes) of K networks for n images.

    statistics: mean and variance of every normalisation. In training they are computed from X and written there,
    otherwise they are read.
    """
    K = len(weights)
    named = shapes(classes)
    rows = torch.split(weights, [math.prod(shape) for shape in named.values()], dim=1)
    part = {name: row.reshape(-1, *shape[1:]) for (name, shape), row in zip(named.items(), rows, strict=True)}

    def layer(x: Tensor, name: str, stride: int, groups: int = K) -> Tensor:
        x = F.conv2d(x, part[name], stride=stride, padding=part[name].shape[-1] // 2, groups=groups)
        scale, shift = part[f"{name}.scale"], part[f"{name}.shift"]
        mean, variance = statistics.setdefault(name, (torch.zeros_like(scale), torch.zeros_like(scale)))
        return F.batch_norm(x, mean, variance, scale, shift, training=training, momentum=1.0)

    x = F.relu(layer(X, "stem", 2, groups=1))
    for block in range(len(CHANNELS)):
        stride = 1 if block == 0 else 2
        inner = layer(F.relu(layer(x, f"{block}.first", stride)), f"{block}.second", 1)
        x = F.relu(inner + (layer(x, f"{block}.shortcut", stride) if f"{block}.shortcut" in part else x))
    pooled = x.mean(dim=(2, 3)).reshape(len(X), K, -1).transpose(0, 1)
    answer = part["answer"].reshape(K, classes, -1).transpose(1, 2)
    return torch.baddbmm(part["answer.shift"].reshape(K, 1, classes), pooled, answer)


def train(
    data: ImageSet, batch_size: int, rates: Sequence[float], *, epochs: int = EPOCHS, seed: int = 0
) -> tuple[Array, Array]:
    """Train one network per learning rate side by side; returns their outputs (K, n, classes) and weights (K, ...).

    Up to rounding, each network is the same as if it were trained alone. The outputs are those for the validation
    part. The precision is that of the images, float32 unless they are given in another.
    """
    rng = np.random.default_rng([seed, *data.name.encode()])
    classes, n = len(data.classes), len(data.X_train)
    X, X_test = (torch.from_numpy(part) for part in standardised(data))
    y = torch.from_numpy(data.y_train)
    weights = torch.from_numpy(initial(classes, rng=rng)).to(X.dtype).repeat(len(rates), 1).requires_grad_()
    velocity = torch.zeros_like(weights)
    rate = torch.tensor(rates, dtype=X.dtype)[:, None]
    statistics: Statistics = {}
    batches = [rows for _ in range(epochs) for rows in torch.split(torch.from_numpy(rng.permutation(n)), batch_size)]
    for t, rows in enumerate(batches):
        outputs = forward(weights, X[rows], statistics, classes=classes, training=True)
        # Summed over the networks: the gradient of each does not depend on the others.
        loss = F.cross_entropy(outputs.flatten(0, 1), y[rows].repeat(len(rates)), reduction="sum") / len(rows)
        (gradient,) = torch.autograd.grad(loss, weights)
        with torch.no_grad():
            velocity.mul_(MOMENTUM).add_(gradient).add_(weights, alpha=DECAY)
            weights -= rate * ((1 + math.cos(math.pi * t / len(batches))) / 2) * velocity
    with torch.no_grad():
        forward(weights, X, statistics, classes=classes, training=True)  # writes the statistics of the training part
        outputs = forward(weights, X_test, statistics, classes=classes, training=False)
    return outputs.numpy(), weights.detach().numpy()


def standardised(data: ImageSet) -> tuple[Array, Array]:
    """The images of both parts, with mean 0 and variance 1 over all pixels of the training part."""
    mean, std = data.X_train.mean(), data.X_train.std()
    return (data.X_train - mean) / std, (data.X_test - mean) / std


def error(outputs: Array, y: Array) -> float:
    """Error rate of one network, given its outputs (n, classes)."""
    if not np.isfinite(outputs).all():
        return float(1 - 1 / outputs.shape[1])
    return float(np.mean(outputs.argmax(axis=1) != y))


# ------------------------------------------------------------------------------------------- one data set


def evaluate(data: ImageSet, config: Config, *, epochs: int = EPOCHS, seed: int = 0) -> float:
    """Validation error of one configuration of the space."""
    with one_thread():
        outputs, _ = train(data, int(config["batch_size"]), [config["learning_rate"]], epochs=epochs, seed=seed)
    return error(outputs[0], data.y_test)


def evaluate_grid(
    data: ImageSet, batch_sizes: Sequence[int] = BATCH_SIZES, *, epochs: int = EPOCHS, seed: int = 0
) -> list[dict[str, Any]]:
    """`evaluate` on the whole grid, in half the time; small batches gain most from training side by side.

    The seconds of a row are a tenth of the CPU seconds that the ten networks of its batch size took together.
    """
    rows = []
    for size in batch_sizes:
        with one_thread():
            start = time.thread_time()
            outputs, _ = train(data, size, RATES, epochs=epochs, seed=seed)
            seconds = (time.thread_time() - start) / len(RATES)
        rows += [
            {"batch_size": size, "learning_rate": rate, "error": error(out, data.y_test), "seconds": round(seconds, 6)}
            for rate, out in zip(RATES, outputs, strict=True)
        ]
    return rows


def evaluate_dataset(name: str, *, seed: int = 0) -> list[dict[str, Any]]:
    """The 100 rows of one data set: dataset, batch_size, learning_rate, error, seconds."""
    rows = evaluate_grid(images.load(name, seed=seed), seed=seed)
    return [{"dataset": name, **row} for row in rows]


# ---------------------------------------------------------------------------------------------- the build


def in_turn(name: str) -> tuple[bool, str, str]:
    """Sorts data sets: the whole ones first, then the sources take turns, so that each is represented early."""
    return not name.endswith("whole"), name.partition("-")[2], name


def signature(seed: int) -> dict[str, Any]:
    """The settings that a piece depends on, besides the name of its data set."""
    return {
        "builder": "resnet",
        "seed": seed,
        "batch_sizes": list(BATCH_SIZES),
        "learning_rates": list(RATES),
        "epochs": EPOCHS,
        "channels": list(CHANNELS),
        "momentum": MOMENTUM,
        "decay": DECAY,
        "image_size": images.SIZE,
        "train": images.TRAIN,
        "test": images.TEST,
        "classes": images.CLASSES,
    }


def features(names: Sequence[str], seed: int = 0) -> pd.DataFrame:
    """The meta-features of the training images, each pixel a column."""
    from headstart.datasets.features import metafeatures

    parts = {name: images.images(name, seed=seed) for name in names}
    return pd.DataFrame({name: metafeatures(X.reshape(len(X), -1), y) for name, (X, y) in parts.items()}).T


def source_classes(names: Sequence[str], seed: int = 0) -> dict[str, Any]:
    """The classes of the source that each data set has."""
    return {"source_classes": {name: list(images.load(name, seed=seed).classes) for name in names}}


build = Builder(
    names=images.NAMES,
    space=space,
    compute=evaluate_dataset,
    order=in_turn,
    features=features,
    signature=signature,
    packages=("torch", "scikit-learn", "numpy", "mlxtend"),
    sources=source_classes,
).build
