"""Builds the documentation site: `make site`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tools.site.build import SiteError, build
from tools.site.pages import ROOT


def main() -> int:
    """Build, and say where the first page is; 1 if the generator refuses the site."""
    parser = argparse.ArgumentParser(prog="make site", description=__doc__)
    parser.add_argument("--url", default="", help="address at which the site is published")
    parser.add_argument(
        "--repository", default="", help="address of the repository, for links to files beside the site"
    )
    parser.add_argument("out", nargs="?", type=Path, default=ROOT / "build" / "site", help="directory to replace")
    given = parser.parse_args()
    try:
        made = build(given.out, given.url, given.repository.rstrip("/"))
    except SiteError as error:
        sys.stderr.write(str(error))
        return 1
    sys.stdout.write(f"{len(made)} pages: {given.out / 'index.html'}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
