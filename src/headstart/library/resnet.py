"""The third paper's meta-data set, rebuilt in small: residual networks on subsampled image data sets.

Fig. 8 of *Learning to Transfer Initializations for Bayesian Hyperparameter Optimization* (the Siamese paper):
batch size and initial learning rate of a residual network on a grid of 10 × 10, for data sets of five classes.
The paper trained ResNet-26 on 10,000 images for 20 epochs; here it is a smaller network, 400 images and 10
epochs, so that the whole history takes half an hour on one core. `images` says which data sets there are.

The network: a 3×3 convolution with stride 2, then three residual blocks of two 3×3 convolutions with 8, 16
and 32 channels, the second and third with stride 2 and a 1×1 convolution as their shortcut, batch
normalisation after every convolution, global average pooling, one linear layer: eight weight layers.

The training: stochastic gradient descent with momentum 0.9 and weight decay 1e-4 on the cross entropy; the
learning rate falls from its initial value to 0 along half a cosine; the last batch of an epoch may be smaller.
Initial weights and the order of the images depend on the seed and the data set, so that the grid's points
differ in the two hyperparameters only. Normalisation uses the statistics of the batch in training and those
of the whole training part in validation (running averages would not have settled after 20 steps).

The value is the share of wrong answers on the validation part. A network whose outputs are not finite has
diverged and counts as one that always gives the same answer: 1 - 1 / number of classes.
"""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from headstart.datasets.siamese import one_thread, torch
from headstart.library import building, images, pieces
from headstart.library.images import ImageSet

if TYPE_CHECKING:
    from headstart.history import History
    from headstart.space import Space

BATCH_SIZES = (8, 12, 17, 25, 37, 55, 81, 119, 174, 256)
RATES = tuple(float(f"{10 ** (4 * k / 9 - 4):.3g}") for k in range(10))

EPOCHS = 10
CHANNELS = (8, 16, 32)
MOMENTUM = 0.9
DECAY = 1e-4

Array = npt.NDArray[Any]
Config = Mapping[str, Any]
Tensor = torch.Tensor
Shapes = dict[str, tuple[int, ...]]
Statistics = dict[str, tuple[Tensor, Tensor]]

F = torch.nn.functional


def space() -> Space:
    """The search space of the grid, in native units."""
    from headstart.space import Float, Int, Space

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
# Networks that differ in their learning rate only are trained side by side: the channels of K networks stand
# next to each other, and a convolution in K groups keeps them apart. All weights of a network are one row of
# a matrix, K × (number of weights), so that a step of gradient descent is one line.


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

    statistics: mean and variance of every normalisation; with ``training`` they are those of X and are
    written there, without it they are read.
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
    """Train one network per learning rate side by side; their outputs (K, n, classes) and weights (K, ...).

    Each of them is what it would be if it were trained alone, up to rounding. The outputs are those for the
    validation part. It computes in the precision of the images, float32 unless they are given otherwise.
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
        # The sum over the networks: the gradient of each has nothing of the others in it.
        loss = F.cross_entropy(outputs.flatten(0, 1), y[rows].repeat(len(rates)), reduction="sum") / len(rows)
        (gradient,) = torch.autograd.grad(loss, weights)
        with torch.no_grad():
            velocity.mul_(MOMENTUM).add_(gradient).add_(weights, alpha=DECAY)
            weights -= rate * ((1 + math.cos(math.pi * t / len(batches))) / 2) * velocity
    with torch.no_grad():
        forward(weights, X, statistics, classes=classes, training=True)  # leaves the training part's statistics
        outputs = forward(weights, X_test, statistics, classes=classes, training=False)
    return outputs.numpy(), weights.detach().numpy()


def standardised(data: ImageSet) -> tuple[Array, Array]:
    """The images of both parts, with mean 0 and variance 1 over all pixels of the training part."""
    mean, std = data.X_train.mean(), data.X_train.std()
    return (data.X_train - mean) / std, (data.X_test - mean) / std


def error(outputs: Array, y: Array) -> float:
    """Share of wrong answers of one network, given its outputs (n, classes)."""
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
    """``evaluate`` on the whole grid, in half the time: small batches gain most from company.

    The seconds of a row are its share of the CPU seconds that the ten networks of a batch size took together.
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


def build(
    out: str | Path,
    *,
    seed: int = 0,
    jobs: int = -1,
    work: str | Path | None = None,
    only: Sequence[str] | None = None,
    progress: bool = True,
) -> History:
    """Train everything, save the history to ``out`` and return it; see `svm.build` for the arguments."""
    return building.build(
        out,
        list(images.NAMES if only is None else only),
        work=work,
        space=space(),
        table=lambda names, work: table(names, seed=seed, jobs=jobs, work=work, progress=progress),
        features=functools.partial(features, seed=seed),
        info=functools.partial(provenance, seed=seed),
    )


def table(
    names: Sequence[str], *, seed: int = 0, jobs: int = -1, work: str | Path, progress: bool = True
) -> list[dict[str, Any]]:
    """All rows of the named data sets, kept piece by piece in ``work``.

    The sources take turns, so that what is there early has something of each; the whole ones come first.
    """
    order = sorted(names, key=lambda name: (not name.endswith("whole"), name.partition("-")[2], name))
    compute = functools.partial(evaluate_dataset, seed=seed)
    done = pieces.run(order, compute, work, signature=signature(seed), jobs=jobs, progress=progress)
    return [row for name in names for row in done[name]]


def signature(seed: int) -> dict[str, Any]:
    """What a piece depends on besides the name of its data set."""
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


def features(names: Sequence[str], *, seed: int = 0) -> pd.DataFrame:
    """The meta-features of the training images, each pixel a column."""
    from headstart.datasets.features import metafeatures

    parts = {name: images.images(name, seed=seed) for name in names}
    return pd.DataFrame({name: metafeatures(X.reshape(len(X), -1), y) for name, (X, y) in parts.items()}).T


def provenance(names: Sequence[str], *, seed: int) -> dict[str, Any]:
    """Everything needed to build the same history again."""
    packages = ("torch", "scikit-learn", "numpy", "mlxtend")
    return {
        **signature(seed),
        "packages": building.versions(packages),
        "source_classes": {name: list(images.load(name, seed=seed).classes) for name in names},
    }
