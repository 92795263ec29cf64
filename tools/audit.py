"""Ask a vulnerability service about every version in constraints.txt (`make audit`).

pip-audit does the asking. Where its service cannot be reached, it says of every package that it was not found, and ends
as if all were well; so what was really looked up is counted here.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SERVICES = ("pypi", "osv")
COMMAND = ["-m", "pip_audit", "--requirement", "constraints.txt", "--disable-pip", "--no-deps", "--format", "json"]


def asked(service: str) -> list[dict[str, Any]]:
    """What a service answered about each package that it knows; nothing if it cannot be reached."""
    command = [sys.executable, *COMMAND, "--progress-spinner", "off", "--vulnerability-service", service]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    try:
        answers = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError):
        return []
    return [answer for answer in answers if "skip_reason" not in answer]


def summary(found: list[dict[str, Any]], pinned: int) -> tuple[str, int]:
    """What to print, and the exit code: 0 if all is well, 1 for vulnerabilities, 2 if nothing could be looked up."""
    if not found:
        services = " nor ".join(SERVICES)
        return f"no vulnerability service is within reach (neither {services}): nothing was audited", 2
    lines = [
        f"{answer['name']} {answer['version']}: {bug['id']}, fixed in {', '.join(bug['fix_versions']) or 'no version'}"
        for answer in found
        for bug in answer["vulns"]
    ]
    count = f"{len(found)} of {pinned} pinned packages were looked up"
    if lines:
        return "\n".join([*lines, f"{count}; {len(lines)} known vulnerabilities"]), 1
    return f"{count}; no known vulnerability", 0


def main() -> int:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pinned = len({line.partition("==")[0] for line in lines if "==" in line})
    found = next((answers for service in SERVICES if (answers := asked(service))), [])
    text, code = summary(found, pinned)
    print(text, file=sys.stderr if code == 2 else sys.stdout)
    return code


if __name__ == "__main__":
    sys.exit(main())
