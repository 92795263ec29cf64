"""Past runs: which configurations were tried on which tasks, and how well each did.

May import: `space`. Hands on: `History`, one immutable object wherever the runs came from (data frame, CSV, Parquet,
HPO-B, Optuna, another tool's files, a history that ships with the package), and `read_history`, which reads any of them
by name.
"""

from headstart.history.history import History, build
from headstart.history.reading import Reading
from headstart.history.sources import read_history
from headstart.history.task import Features, Task

__all__ = ["Features", "History", "Reading", "Task", "build", "read_history"]
