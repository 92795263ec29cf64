"""Histories that ship with the package, and the builders that made them.

| name       | tasks                              | what was tuned                                     | builder       |
| ---------- | ---------------------------------- | -------------------------------------------------- | ------------- |
| `adaboost` | real classification data sets      | AdaBoost: iterations, product terms                | `adaboost.py` |
| `resnet`   | image data sets, most of 5 classes | a residual network: batch size, learning rate      | `resnet.py`   |
| `svm`      | real classification data sets      | a support vector machine: kernel, C, gamma, degree | `svm.py`      |

The models people tune today, such as `lightgbm-classification`, have histories with several metrics, one of each for
classification and regression. `models.py` lists them, `problems.py` their data sets, and `tuned.py` builds them. Only
those that ship can be loaded: `names()`.

May import: `search` and below. Hands on: `load`, which returns a shipped history, and the builders.

>>> history = load("svm")
>>> history.best("wine")
{'kernel': 'rbf', 'C': 0.125, 'gamma': 0.05}
"""

from headstart.history.shipped import load, metrics, names

__all__ = ["load", "metrics", "names"]
