"""Patches of kustomizations: parts of resources that only mean something once they are merged."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path, PurePath

_NAMES = ("kustomization.yaml", "kustomization.yml", "Kustomization")
_SECTION = re.compile(r"^(patches|patchesStrategicMerge|patchesJson6902):.*\n((?:[ \t-].*\n?|\s*\n)*)", re.MULTILINE)
_FILE = re.compile(r"(?:path:|^[^\S\n]*-)\s*[\"']?([^\s\"':{}#]+\.ya?ml)", re.MULTILINE)


def patches_of(paths: Iterable[str]) -> set[str]:
    """Normal paths of the files that kustomizations among these name as patches."""
    patches: set[str] = set()
    for path in paths:
        if PurePath(path).name not in _NAMES:
            continue
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            continue
        parent = PurePath(path).parent
        for section in _SECTION.finditer(text):
            patches |= {os.path.normpath(parent / name) for name in _FILE.findall(section[2])}
    return patches
