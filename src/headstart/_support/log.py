"""The package's logger, `logging.getLogger("headstart")`, and lines for people who have not set up logging.

Names in its messages are escaped as in `printable`.
"""

from __future__ import annotations

import logging
import sys

from headstart._support.wording import printable

log = logging.getLogger("headstart")


def _escaped(record: logging.LogRecord) -> bool:
    record.msg, record.args = printable(record.getMessage(), keep="\n"), ()
    return True


log.addFilter(_escaped)


def announce(text: str) -> None:
    """Log a line that says what happens. On a terminal or in a notebook it is shown even if logging is not set up."""
    log.info("%s", text)
    watched = "ipykernel" in sys.modules or (sys.stderr is not None and sys.stderr.isatty())
    if watched and not log.hasHandlers():
        print(printable(text, keep="\n"), file=sys.stderr)
