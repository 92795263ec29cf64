"""The package's logger, `logging.getLogger("headstart")`, its verbosity, and lines for people without logging set up.

Names in its messages are escaped as in `printable`.
"""

from __future__ import annotations

import logging
import sys

from headstart._support.wording import closest, printable
from headstart.errors import ArgumentError

LEVELS = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
    "critical": logging.CRITICAL,
}

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


class _Shown(logging.Handler):
    """Writes messages to standard error unless the application has handlers of its own, so that none comes twice."""

    def emit(self, record: logging.LogRecord) -> None:
        if sys.stderr is not None and not logging.getLogger().hasHandlers():
            print(self.format(record), file=sys.stderr)


def set_verbosity(level: int | str) -> None:
    """Show messages of this level and above: "debug", "info", "warning", "error", "critical", or a number of `logging`.

    "info" says what was read, skipped, learned and converted; "error" keeps everything else quiet. Where logging is not
    set up, messages go to standard error. It works as `optuna.logging.set_verbosity` does.
    """
    if isinstance(level, str):
        if level.lower() not in LEVELS:
            names = ", ".join(map(repr, LEVELS))
            raise ArgumentError(f"no verbosity {level!r}{closest(level.lower(), list(LEVELS))} (choose from: {names})")
        level = LEVELS[level.lower()]
    elif isinstance(level, bool) or not isinstance(level, int):
        raise ArgumentError(f"a verbosity is a name such as 'info' or a number of logging, but got {level!r}")
    log.setLevel(level)
    if not any(isinstance(handler, _Shown) for handler in log.handlers):
        shown = _Shown()
        shown.setFormatter(logging.Formatter("headstart: %(message)s"))
        log.addHandler(shown)


def get_verbosity() -> int:
    """The level that `set_verbosity` set, or that the application's logging gives to headstart, as a number."""
    return log.getEffectiveLevel()
