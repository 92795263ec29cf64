"""The package's logger: `logging.getLogger("headstart")`."""

from __future__ import annotations

import logging

log = logging.getLogger("headstart")
