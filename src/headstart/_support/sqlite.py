"""What a file of SQLite must not do: show more than it holds.

A view, a virtual table or a generated column computes what it shows, so that a file of a few kilobytes can have rows
without end. None of the programs whose databases are read here make any.
"""

from __future__ import annotations

from collections.abc import Iterable


def computed(tables: Iterable[str]) -> str:
    """A query for those of these tables that compute what they show. The names are constants of ours."""
    names = ", ".join(f"'{name}'" for name in sorted(tables))
    return (
        f"SELECT name FROM sqlite_master AS entry WHERE type IN ('table', 'view') AND lower(name) IN ({names}) "
        "AND (type = 'view' OR upper(sql) LIKE '%VIRTUAL%' "
        "OR EXISTS (SELECT 1 FROM pragma_table_xinfo(entry.name) WHERE hidden > 0)) ORDER BY name"
    )
