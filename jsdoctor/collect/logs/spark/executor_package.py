"""jsdoctor for the executors: its Python modules as a ZIP file that Spark hands to every worker."""

from __future__ import annotations

import hashlib
import zipfile
from pathlib import Path

import jsdoctor

_NOT_ON_EXECUTORS = {"cli", "demo", "render", "remedy", "checks", "engine"}
_LONG_AGO = (1980, 1, 1, 0, 0, 0)


def zipped_package(directory: Path) -> Path:
    """Write the ZIP file. Its name contains a digest, so that an executor never uses one of another version.

    Modules that executors never use are left out. Executors need msgspec as well, which is compiled and cannot be sent
    like this; behind Spark Connect they also need pyarrow, pandas and numpy, because Spark requires them.
    """
    package = Path(jsdoctor.__file__).parent
    modules = sorted(
        path for path in package.rglob("*.py") if path.relative_to(package).parts[0] not in _NOT_ON_EXECUTORS
    )
    content = [(str(Path("jsdoctor") / path.relative_to(package)), path.read_bytes()) for path in modules]
    digest = hashlib.sha256(repr(content).encode()).hexdigest()[:12]
    target = directory / f"jsdoctor-{jsdoctor.__version__}-{digest}.zip"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in content:
            file.writestr(zipfile.ZipInfo(name, _LONG_AGO), data)
    return target
