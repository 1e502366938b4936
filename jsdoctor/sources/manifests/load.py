"""Reading manifests: every file's declarations in one value, and what could not be read as its problem."""

from __future__ import annotations

import glob
import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path, PurePath

import msgspec

from jsdoctor.manifests.containers import joined, sidecars
from jsdoctor.manifests.read import CONF, YAML, FileDeclarations, Readers, YamlReader, may_declare, read_manifest
from jsdoctor.manifests.tree import ManifestError, Tree
from jsdoctor.model.manifest import FilePosition, ManifestFile, Manifests
from jsdoctor.model.problems import UsageProblem
from jsdoctor.redaction.redact import scrub_line

MAX = 64 * 1024 * 1024
"""Maximum size of a manifest in bytes; the largest are plans of Terraform."""

SHOWN_STDIN = "stdin"

_PATCH = (
    "it is a patch of a kustomization, and has only the differences: give the output of kustomize build as --manifest -"
)


def load_manifests(paths: Sequence[str]) -> Manifests:
    """Read them all. Raises `UsageProblem` for a path that is not there, and where YAML has no reader installed."""
    files: list[ManifestFile] = []
    base = repository_root()
    all_of, included, manifest_paths = FileDeclarations(), _Includes(base), find(paths)
    patches = patches_of(path.path for path in manifest_paths if not path.named)
    for path in manifest_paths:
        if not path.named and os.path.normpath(path.path) in patches:
            files.append(ManifestFile(path=_report_path(path.path, base), problem=_PATCH))
            continue
        shown = SHOWN_STDIN if path.path == STDIN else _report_path(path.path, base)
        text, problem = _read_text(path)
        if text is None:
            files.append(ManifestFile(path=shown, problem=problem, named=path.named))
            continue
        try:
            declared = read_manifest(shown, text, Readers(included.read, _yaml_reader(shown), _read_hcl))
        except ManifestError as error:
            wanted = path.named or may_declare(text)
            files.append(ManifestFile(path=shown, problem=error.says, place=error.place, named=wanted))
            continue
        files += _file_results(shown, declared, named=path.named)
        for name in ("streams", "consumers", "servers", "logins", "mounts", "generated", "objects"):
            getattr(all_of, name).extend(getattr(declared, name))
    servers = [server for server in all_of.servers if os.path.normpath(server.place.file) not in included.paths]
    return Manifests(
        files=tuple(files),
        streams=tuple(all_of.streams),
        consumers=tuple(all_of.consumers),
        servers=tuple(joined(servers, all_of.mounts, all_of.generated)),
        logins=tuple(all_of.logins),
        sidecars=tuple(sidecars(all_of.objects)),
    )


def repository_root() -> Path:
    """The root of the repository that the run is in, from which its pipelines count paths; else the directory."""
    here = Path.cwd()
    return next((parent for parent in (here, *here.parents) if (parent / ".git").exists()), here)


def _report_path(path: str, base: Path) -> str:
    full = Path(os.path.normpath(Path.cwd() / path))
    return full.relative_to(base).as_posix() if full.is_relative_to(base) else path


def _file_results(path: str, declared: FileDeclarations, *, named: bool) -> list[ManifestFile]:
    if not declared.found and not declared.problems and not declared.objects and named:
        return [ManifestFile(path=path, problem="nothing in it is a manifest that is known here", named=True)]
    problems = [ManifestFile(path=path, problem=text, place=place, named=True) for text, place in declared.problems]
    return [ManifestFile(path=path, found=declared.found, named=named), *problems]


def _read_text(path: ManifestPath) -> tuple[str | None, str]:
    """The text and no problem, or None and why it cannot be read."""
    try:
        if path.path == STDIN:
            data = sys.stdin.buffer.read(MAX + 1)
        else:
            with Path(path.path).open("rb") as file:
                data = file.read(MAX + 1)
    except OSError as error:
        return None, f"it could not be read: {error.strerror or error}"
    if len(data) > MAX:
        return None, f"it is larger than {MAX >> 20} MiB"
    try:
        # nats-server refuses a configuration that begins with a byte order mark: it is kept there, and reported.
        return data.decode("utf-8" if path.path.lower().endswith(CONF) else "utf-8-sig"), ""
    except UnicodeDecodeError:
        return None, "it is not text in UTF-8"


_LARGEST_INCLUDE = 16 << 20
"""Maximum size in bytes: what is read is held as a tree."""


class _Includes:
    """Files that configurations of servers include: parts of those, and no servers of their own."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.paths: set[str] = set()

    def read(self, file: str, name: str) -> tuple[str, str] | None:
        """An included file, by its path from the including one (server: conf/parse.go)."""
        path = os.path.normpath(os.path.join(os.path.dirname(file), name.lstrip("/")))  # noqa: PTH118, PTH120 - as Go
        try:
            included = self.base / path
            if not included.is_file() or included.stat().st_size > _LARGEST_INCLUDE:
                return None  # a pipe would wait for a writer that never comes
            text = included.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError, ValueError):
            return None
        self.paths.add(path)
        return path, text


def _yaml_reader(path: str) -> YamlReader:
    try:
        from jsdoctor.manifests.yaml_tree import yaml_documents
    except ImportError as error:
        if not path.endswith(YAML):
            return _no_yaml
        raise UsageProblem(
            f"{path} is YAML, and PyYAML, which reads it, is not installed", "pip install 'jsdoctor[manifests]'"
        ) from error
    return yaml_documents


def _read_hcl(file: str, text: str) -> Tree:
    try:
        from jsdoctor.manifests.hcl_tree import hcl_document
    except ImportError as error:
        raise UsageProblem(
            f"{file} is Terraform, and python-hcl2, which reads it, is not installed",
            "pip install 'jsdoctor[manifests]', or give the plan: terraform show -json PLAN",
        ) from error
    return hcl_document(file, text)


def _no_yaml(file: str, text: str) -> Iterable[Tree]:
    del text
    raise ManifestError(
        "it may be YAML, which nothing here can read: pip install 'jsdoctor[manifests]'", FilePosition(file)
    )


_KUSTOMIZATIONS = ("kustomization.yaml", "kustomization.yml", "Kustomization")
_SECTION = re.compile(r"^(patches|patchesStrategicMerge|patchesJson6902):.*\n((?:[ \t-].*\n?|\s*\n)*)", re.MULTILINE)
_FILE = re.compile(r"(?:path:|^[^\S\n]*-)\s*[\"']?([^\s\"':{}#]+\.ya?ml)", re.MULTILINE)


def patches_of(paths: Iterable[str]) -> set[str]:
    """The normalised paths of the files that kustomizations among these name as patches."""
    patches: set[str] = set()
    for path in paths:
        if PurePath(path).name not in _KUSTOMIZATIONS:
            continue
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            continue
        parent = PurePath(path).parent
        for section in _SECTION.finditer(text):
            patches |= {os.path.normpath(parent / name) for name in _FILE.findall(section[2])}
    return patches


STDIN = "-"
SUFFIXES = (".yaml", ".yml", ".json", ".conf", ".cfg", ".tf")
_THIRD_PARTY = ("node_modules", "__pycache__", "charts")
"""Directories of third-party files. `charts` holds the dependencies of a Helm chart; its values are beside it."""
_CHART_DIRECTORIES = ("templates", "files", "crds", "test", "tests")
_NATS_CHART = re.compile(r"^name:\s*[\"']?(?:nats|nack|surveyor)\b", re.MULTILINE)
"""Charts of nats-io, wherever they lie: of those only values can be the user's own."""


class ManifestPath(msgspec.Struct, frozen=True):
    """A file to read, by its path in reports. `named`: the user gave it by name or glob."""

    path: str
    named: bool


def find(paths: Sequence[str]) -> list[ManifestPath]:
    """Every file once, in the order of the command line, directories in the order of names.

    Raises `UsageProblem` for a path that is not there.
    """
    manifest_paths: dict[str, ManifestPath] = {}
    for path in paths:
        for file in _expand(path):
            known = manifest_paths.get(file.path)
            if known is None or (file.named and not known.named):
                manifest_paths[file.path] = file
    return list(manifest_paths.values())


def _expand(path: str) -> Iterator[ManifestPath]:
    if path == STDIN:
        yield ManifestPath(STDIN, named=True)
    elif Path(path).is_dir():
        yield from _files_below(path)
    elif Path(path).exists():
        yield ManifestPath(path, named=True)
    else:
        matches = sorted(glob.glob(path, recursive=True)) if glob.has_magic(path) else []  # noqa: PTH207 - a Path has no absolute globs
        if not matches:
            raise UsageProblem(
                f"--manifest {path}: there is no such file or directory",
                "name a file, a directory, a glob in quotes, or - for standard input",
            )
        for match in matches:
            yield from _files_below(match) if Path(match).is_dir() else (ManifestPath(match, named=True),)


def _files_below(directory: str) -> Iterator[ManifestPath]:
    for parent, directories, files in os.walk(directory):
        skipped = (*_THIRD_PARTY, *(_CHART_DIRECTORIES if "Chart.yaml" in files and _is_vendored(parent) else ()))
        directories[:] = sorted(name for name in directories if name not in skipped and not name.startswith("."))
        for name in sorted(files):
            if name.endswith(SUFFIXES) and not name.startswith("."):
                yield ManifestPath(os.path.join(parent, name), named=False)  # noqa: PTH118 - a Path would drop a leading ./


def _is_vendored(directory: str) -> bool:
    try:
        return bool(_NATS_CHART.search((Path(directory) / "Chart.yaml").read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError):
        return False


_MAX_BYTES = 4 << 20
_SECRET_LINE = re.compile(r"pass|pwd|token|secret|seed|nkey|jwt|cred|key|auth\b|BEGIN|@|[\w+/=]{40}", re.IGNORECASE)
"""What names a secret, is in an address with a login, or is encoded: no line with one of these is shown."""
_SECRET_FILE = re.compile(r"\bkind[\"']?:\s*[\"']?\w*Secret")
"""A file in which any line may be a secret."""


def source_line(file: str, number: int) -> str:
    """A line of a manifest, without its end. Empty where it cannot be read, or may have a secret."""
    line = next(iter(_showable_lines(file)[number - 1 : number]), "").rstrip()
    return "" if _SECRET_LINE.search(line) or scrub_line(line) != line else line


@lru_cache(maxsize=32)
def _showable_lines(file: str) -> list[str]:
    path = repository_root() / file
    try:
        if file == SHOWN_STDIN or not path.is_file() or path.stat().st_size > _MAX_BYTES:
            return []  # a pipe would wait for a writer
        content = path.read_text(encoding="utf-8-sig")
    except (OSError, ValueError):
        return []
    return [] if _SECRET_FILE.search(content) else content.split("\n")
