"""Embeds a data set with a trained Siamese network, and names the numbers of an embedding.

torch is loaded when `embed` is called, not before.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from headstart.datasets.naming import described, embedding_names, named

if TYPE_CHECKING:
    from headstart.datasets.siamese import Model

__all__ = ["described", "embed", "embedding_names", "named"]


def embed(model: Model | str | os.PathLike[str], X: Any, y: Any = None) -> dict[str, float]:
    """The embedding of a data set by a trained Siamese network, as named numbers: the `features` of a new task.

    model: a `headstart.siamese.Model`, or the path of its file. X, y: as for `metafeatures`; a model for points or
    images takes X (n, d) or (n, channels, height, width) and no y.
    """
    from headstart.datasets.siamese import Model

    trained = model if isinstance(model, Model) else Model.load(model)
    return trained.features(X, y)
