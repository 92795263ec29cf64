"""Past runs: which configurations were tried on which tasks, and how well each did.

May import: `space`. Hands on: `History`, one immutable object wherever the runs came from (data frame, CSV, Parquet,
HPO-B, Optuna, another tool's files, a history that ships with the package), and `read_past`, the one door through which
all of them come.
"""

from headstart.history.columns import build
from headstart.history.history import History
from headstart.history.past import read_past
from headstart.history.reading import Reading
from headstart.history.sources import read_history
from headstart.history.store import Store
from headstart.history.task import Features, Task

__all__ = ["Features", "History", "Reading", "Store", "Task", "build", "read_history", "read_past"]
