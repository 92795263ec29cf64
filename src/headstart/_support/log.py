"""The package's logger: `logging.getLogger("headstart")`. Names in its messages are escaped as in `printable`."""

from __future__ import annotations

import logging

from headstart._support.wording import printable

log = logging.getLogger("headstart")


def _escaped(record: logging.LogRecord) -> bool:
    record.msg, record.args = printable(record.getMessage(), keep="\n"), ()
    return True


log.addFilter(_escaped)
