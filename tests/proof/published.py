"""The results behind docs/proof.md in one file of the repository: `make proof` of the same state goes on from them."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Sequence
from pathlib import Path

from tests.proof.results import KEPT, collected_path, results_path
from tests.proof.slices import Slice, modules_of
from tests.servers import ROOT

PUBLISHED = ROOT / "docs" / "proof.tar.xz"


def publish(slices: Sequence[Slice], digest: str, kept: Path = KEPT, published: Path = PUBLISHED) -> None:
    """Pack the results of a state and of the tests as they are now.

    The texts of failures, which have paths of a machine, are left out.
    Raises OSError where nothing was run for the state.
    """
    first = [kept / digest / "state.json", collected_path(digest, kept)]
    pieces = [
        results_path(digest, name, module, kept) for name, of_slice in modules_of(slices).items() for module in of_slice
    ]
    with tarfile.open(published, "w:xz") as archive:
        for path in [*first, *(piece for piece in pieces if piece.exists())]:
            # Without time and owner: the same results give the same archive.
            member = tarfile.TarInfo(path.relative_to(kept).as_posix())
            member.size = path.stat().st_size
            archive.addfile(member, io.BytesIO(path.read_bytes()))


def restore(digest: str, kept: Path = KEPT, published: Path = PUBLISHED) -> bool:
    """Unpack the published results if they are of this state and there are none of it here. Whether it did."""
    if (kept / digest).exists() or not published.exists():
        return False
    with tarfile.open(published) as archive:
        if archive.getnames()[:1] != [f"{digest}/state.json"]:
            return False
        archive.extractall(kept, filter="data")
    return True
