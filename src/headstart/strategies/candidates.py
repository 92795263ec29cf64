"""A list of the only configurations that may be tried, for searches in tables of results."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from headstart._support.types import Array
from headstart.errors import ExhaustedError
from headstart.space import Space
from headstart.space.rows import among
from headstart.strategies.base import Told


@dataclass(frozen=True, eq=False)
class Candidates:
    """Configurations V (m, p), in the order of the user's list."""

    space: Space
    V: Array

    @cached_property
    def Z(self) -> Array:
        """Their encoding (m, d)."""
        return self.space.encode_values(self.V)

    def nearest(self, v: Array, told: Told) -> int:
        """The position of the untried candidate closest to v; the first one if several are equally close."""
        distance = ((self.Z - self.space.encode_values(v[None])) ** 2).sum(axis=1)
        distance[among(self.V, told.V)] = math.inf
        i = int(np.argmin(np.round(distance, 12)))  # ties up to rounding
        if math.isinf(distance[i]):
            raise ExhaustedError(f"all {len(self):,} candidates have been tried")
        return i

    def __len__(self) -> int:
        return len(self.V)
