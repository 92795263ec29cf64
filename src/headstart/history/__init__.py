"""Past runs: which configurations were tried on which tasks, and how well each did.

May import: `space`. Hands on: `History`, one immutable object whatever the runs were kept in (data frame, CSV, Parquet,
HPO-B, Optuna, a history that ships with the package), and `read_history`, which reads any of them by name.
"""

from headstart.history.history import History
from headstart.history.task import Features, Task

__all__ = ["Features", "History", "Task"]
