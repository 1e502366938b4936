"""Runs one command and writes its exit code, seconds, processor seconds and peak memory to a file, as JSON.

The kernel counts the peak of a process from its fork on, with what its parent used then: a benchmark that has read
a large file would measure itself. This process is small (about 10 MB). Run as a file: `launcher.py DESCRIPTOR COMMAND`.
"""

import json
import os
import subprocess
import sys
import time


def main() -> None:
    """An interrupted command is killed."""
    started = time.perf_counter()
    process = subprocess.Popen(sys.argv[2:])
    try:
        _, status, used = os.wait4(process.pid, 0)
    except BaseException:
        process.kill()
        raise
    seconds = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)  # it has been waited for: subprocess must not do so again
    figures = [process.returncode, seconds, used.ru_utime + used.ru_stime, used.ru_maxrss]
    os.write(int(sys.argv[1]), json.dumps(figures).encode())


if __name__ == "__main__":
    main()
