"""The package's logger, `logging.getLogger("headstart")`, and lines for people who have not set up logging."""

from __future__ import annotations

import logging
import sys

log = logging.getLogger("headstart")


def announce(text: str) -> None:
    """Log a line that says what happens. On a terminal or in a notebook it is shown even if logging is not set up."""
    log.info("%s", text)
    watched = "ipykernel" in sys.modules or (sys.stderr is not None and sys.stderr.isatty())
    if watched and not log.hasHandlers():
        print(text, file=sys.stderr)
