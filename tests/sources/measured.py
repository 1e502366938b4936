"""Run a command and report its exit code, time and memory: `measured.py RESULT COMMAND…` writes JSON to RESULT.

A process of its own, because a child of the test process begins with the memory of the test process as its peak.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path


def main() -> None:
    """Time is wall time less the wait for a processor, in seconds; memory is the peak resident size in MB."""
    started = time.monotonic()
    running = subprocess.Popen(sys.argv[2:], stdin=subprocess.DEVNULL)
    os.waitid(os.P_PID, running.pid, os.WEXITED | os.WNOWAIT)
    waited_s = int(Path(f"/proc/{running.pid}/schedstat").read_text().split()[1]) / 1e9
    took_s = time.monotonic() - started - waited_s
    _, status, usage = os.wait4(running.pid, 0)
    running.returncode = os.waitstatus_to_exitcode(status)
    result = {"code": running.returncode, "took_s": took_s, "peak_mb": usage.ru_maxrss // 1024}
    Path(sys.argv[1]).write_text(json.dumps(result))


if __name__ == "__main__":
    main()
