"""Entry point: prints `--version` at once; imports the command line only for other commands."""

from __future__ import annotations

import gc
import sys

from jsdoctor import __version__

_OBJECTS_BETWEEN_GARBAGE = 1_000_000
"""Nearly all that a run makes it needs to its end. Looking for garbage at Python's usual pace takes a sixth of the
time on a large cluster, as much of the start, and saves no memory. At the end it is not looked for at all."""


def main() -> None:
    """Run the command line and exit with its code."""
    gc.set_threshold(_OBJECTS_BETWEEN_GARBAGE)
    if sys.argv[1:] == ["--version"]:
        sys.stdout.write(f"jsdoctor {__version__}\n")
        return
    from jsdoctor.cli.app import run

    code = run(sys.argv[1:] or ["--help"])
    gc.freeze()
    sys.exit(code)


_OF_PODS = ("check", "capture", "preflight", "diagnose", "serve")
"""Commands that can look at the pods of a namespace."""


def kubectl() -> None:
    """`kubectl jsdoctor`: the same, and these commands look at pods unless files or a login are all that is meant."""
    if sys.argv[1:2] and sys.argv[1] in _OF_PODS and "--kube" not in sys.argv:
        sys.argv.insert(2, "--kube")
    main()


if __name__ == "__main__":
    main()
