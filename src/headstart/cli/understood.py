"""How past runs were understood, in about ten lines, so that a misreading is seen before anything is learned."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headstart._support.wording import some

if TYPE_CHECKING:
    from headstart.history import History

PARAMETERS = 8  # shown on lines of their own
WIDTH = 110  # characters of a line about a parameter; a list of choices may be long


def understood(history: History, origin: str = "inferred from it") -> str:
    """What was read and skipped, the results, the tasks, and one line per parameter. origin: of the search space."""
    sizes = [int(task.counts.sum()) for task in history]
    trials = f"{min(sizes):,} to {max(sizes):,}" if min(sizes) < max(sizes) else f"{sizes[0]:,}"
    tasks = f"the tasks are {some(history.tasks)}, with {trials} {'trial' if trials == '1' else 'trials'} each"
    space, names = history.space, list(history.space)
    lines = [_cut(f"  {name}: {space.describe(name)}") for name in names[:PARAMETERS]]
    if more := names[PARAMETERS:]:
        lines.append(f"  and {len(more)} more: {some(more)}")
    return "\n".join([*history.notes, tasks, f"the search space {origin}:", *lines])


def _cut(line: str) -> str:
    return line if len(line) <= WIDTH else line[: WIDTH - 2].rstrip() + " …"
