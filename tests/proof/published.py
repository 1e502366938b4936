"""The results behind docs/proof.md in one file of the repository: `make proof` of the same state goes on from them."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Sequence
from pathlib import Path

from tests.proof.results import KEPT, collected_path
from tests.servers import ROOT

PUBLISHED = ROOT / "docs" / "proof.tar.xz"


def publish(digests: Sequence[str], kept: Path = KEPT, published: Path = PUBLISHED) -> None:
    """Pack the results of states that a page is made from.

    The texts of failures, which have paths of a machine, are left out.
    Raises OSError where nothing was run for one of the states.
    """
    with tarfile.open(published, "w:xz") as archive:
        for digest in digests:
            own = collected_path(digest, kept)
            results = sorted(path for path in (kept / digest).rglob("*.jsonl") if path != own)
            for path in (kept / digest / "state.json", own, *results):
                # Without time and owner: the same results give the same archive.
                member = tarfile.TarInfo(path.relative_to(kept).as_posix())
                member.size = path.stat().st_size
                archive.addfile(member, io.BytesIO(path.read_bytes()))


def restore(digest: str, kept: Path = KEPT, published: Path = PUBLISHED) -> bool:
    """Unpack the published results of this state, if there are none of it here. Whether it did."""
    if (kept / digest).exists() or not published.exists():
        return False
    with tarfile.open(published) as archive:
        members = [member for member in archive.getmembers() if member.name.startswith(f"{digest}/")]
        archive.extractall(kept, members, filter="data")
    return bool(members)
