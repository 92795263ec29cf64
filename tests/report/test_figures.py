"""Pictures for papers and the demo: labels that leave the curves readable."""

from __future__ import annotations

import numpy as np
import pytest

from headstart.report import figures

plt = pytest.importorskip("matplotlib.pyplot")


@pytest.mark.parametrize("lower", [0.2, 0.35])  # how far the curve of what saves trials is below the arrow
def test_the_label_of_what_is_saved_covers_no_curve_where_there_is_room(lower: float) -> None:
    x = np.arange(1, 21)
    upper, ours = 30 / x, 30 * lower / x
    figure, axes = plt.subplots(figsize=(5.8, 3.9))
    for y in (upper, ours):
        axes.plot(x, y)
    axes.set_yscale("log")
    left = int(np.flatnonzero(ours <= upper[-1])[0]) + 1
    figures.span(axes, left, 20, upper[-1], "14 trials saved")
    text = next(text for text in axes.texts if text.get_text())
    box = text.get_window_extent()
    at = np.linspace(1, 20, 2000)
    for y in (upper, ours):
        curve = axes.transData.transform(np.column_stack([at, np.interp(at, x, y)]))
        assert not box.count_contains(curve)
    assert axes.get_window_extent().contains(*box.min)
    plt.close(figure)
