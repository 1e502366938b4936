"""Carries out the Dockerfile without an engine: a stage is a directory, RUN is a command in a chroot.

Debian's base images become a debootstrap of the same release. Stages that copy from other images cannot be made here.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import msgspec

from tests.servers.binaries import ROOT

_BASES = ROOT / ".cache" / "debian"
_LIKE_SLIM = ("usr/share/doc", "usr/share/man", "usr/share/locale", "usr/share/info", "usr/share/lintian")
"""What Debian's slim images leave out."""


class Stage(msgspec.Struct):
    """What a stage is made of, and what it leaves to the engine."""

    base: str
    steps: list[tuple[str, str]] = msgspec.field(default_factory=list)


def stages(text: str) -> dict[str, Stage]:
    """Stages by name; the last one is `""`, too."""
    by_name: dict[str, Stage] = {}
    for line in re.sub(r"\\\n", " ", re.sub(r"(?m)^#.*\n", "", text)).splitlines():
        instruction, _, rest = line.strip().partition(" ")
        if instruction == "FROM":
            base, _, name = rest.partition(" AS ")
            by_name[name.strip()] = Stage(base.strip())
        elif instruction:
            list(by_name.values())[-1].steps.append((instruction, rest.strip()))
    return by_name


class Image(msgspec.Struct):
    """A root file system and how its program is started."""

    root: Path
    environment: dict[str, str]
    user: str = "0:0"
    directory: str = "/"
    entrypoint: list[str] = msgspec.field(default_factory=list)

    def run(
        self, *arguments: str, timeout: float = 120, env: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """The entry point as its user, who can gain no rights, on a root that nobody can write but for /tmp.

        As an engine does, it lays the names of this machine over /etc/hosts.
        """
        user, _, group = self.user.partition(":")
        root = shlex.quote(str(self.root))
        script = (
            f"cd {root} && mount --bind . . && cd {root} && mount -t tmpfs tmpfs tmp && mount -t proc proc proc"
            " && mkdir -p dev etc && mount --rbind /dev dev && touch etc/hosts && mount --bind /etc/hosts etc/hosts"
            f" && mount -o remount,bind,ro . && exec setpriv --no-new-privs"
            f' unshare --root=. --wd={shlex.quote(self.directory)} --setgid={group} --setuid={user} -- "$@"'
        )
        command = ["unshare", "--mount", "bash", "-c", script, "bash", *self.entrypoint, *arguments]
        settings = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/tmp", **self.environment, **(env or {})}  # noqa: S108
        return subprocess.run(command, env=settings, capture_output=True, text=True, check=False, timeout=timeout)

    def size(self) -> int:
        """Bytes of all files, as layers count them."""
        files = (path.lstat() for path in self.root.rglob("*") if not path.is_dir() or path.is_symlink())
        return sum({status.st_ino: status.st_size for status in files}.values())


class Builder:
    """Makes stages of a Dockerfile below a directory, each once."""

    def __init__(self, dockerfile: Path, directory: Path) -> None:
        self._context, self._directory = dockerfile.parent, directory
        self._stages = stages(dockerfile.read_text("utf-8"))
        self._made: dict[str, Image] = {}

    def build(self, name: str = "") -> Image:
        """The image of a stage."""
        if name not in self._made:
            stage = self._stages[name]
            image = self._begin(stage.base, self._directory / (name or "last"))
            for instruction, rest in stage.steps:
                self._step(image, instruction, rest)
            self._made[name] = image
        return self._made[name]

    def _begin(self, base: str, root: Path) -> Image:
        if base == "scratch":
            root.mkdir()
            return Image(root, {})
        if base in self._stages:
            before = self.build(base)
            _copy(before.root, root)
            return Image(root, dict(before.environment), before.user, before.directory, list(before.entrypoint))
        release = re.fullmatch(r"debian:(\w+)-slim", base)
        assert release, f"no base for {base}"
        _copy(debian(release[1]), root)
        return Image(root, {})

    def _step(self, image: Image, instruction: str, rest: str) -> None:
        if instruction == "RUN":
            _in_chroot(image, rest)
        elif instruction == "COPY":
            self._take(image, rest)
        elif instruction == "ENV":
            image.environment |= dict(pair.split("=", 1) for pair in shlex.split(rest))
        elif instruction == "USER":
            image.user = rest
        elif instruction == "WORKDIR":
            image.directory = rest
            (image.root / rest.lstrip("/")).mkdir(parents=True, exist_ok=True)
        elif instruction == "ENTRYPOINT":
            image.entrypoint = json.loads(rest)
        else:
            assert instruction == "CMD", f"{instruction} is not known here"

    def _take(self, image: Image, rest: str) -> None:
        source = self._context
        if rest.startswith("--from="):
            stage, _, rest = rest.removeprefix("--from=").partition(" ")
            source = self.build(stage).root
        *names, target = shlex.split(rest)
        place = image.root / target.lstrip("/")
        for name in names:
            origin = source / name.lstrip("/")
            into = place / origin.name if origin.is_file() and target.endswith("/") else place
            into.parent.mkdir(parents=True, exist_ok=True)
            _copy(origin, into)


def debian(release: str) -> Path:
    """A root like that of Debian's slim image. Made once, in some minutes."""
    root = _BASES / release
    if not (root / ".ready").exists():
        shutil.rmtree(root, ignore_errors=True)
        root.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["debootstrap", "--variant=minbase", release, str(root)], check=True, capture_output=True)
        for name in (*_LIKE_SLIM, "var/cache/apt/archives", "var/lib/apt/lists"):
            shutil.rmtree(root / name, ignore_errors=True)
        for name in ("var/cache/apt/archives/partial", "var/lib/apt/lists/partial"):
            (root / name).mkdir(parents=True)
        (root / ".ready").touch()
    return root


def _copy(origin: Path, target: Path) -> None:
    if origin.is_dir():
        target.mkdir(parents=True, exist_ok=True)
        command = ["cp", "--archive", f"{origin}/.", str(target)]
    else:
        command = ["cp", "--archive", str(origin), str(target)]
    subprocess.run(command, check=True)


def _in_chroot(image: Image, command: str) -> None:
    """With the names, certificates and settings of pip that this machine has: they are no part of the image."""
    root = shlex.quote(str(image.root))
    certificates = os.environ.get("PIP_CERT", "/etc/ssl/certs/ca-certificates.crt")
    script = (
        f"mount -t proc proc {root}/proc && mount --rbind /dev {root}/dev && mount -t tmpfs tmpfs {root}/run"
        f" && cp {shlex.quote(certificates)} {root}/run/machine.crt"
        f" && touch {root}/etc/resolv.conf && mount --bind /etc/resolv.conf {root}/etc/resolv.conf"
        f' && chroot {root} /bin/sh -c "cd $0 && $1"'
    )
    settings = {name: value for name, value in os.environ.items() if name.lower().endswith("_proxy")}
    settings |= {"PIP_CERT": "/run/machine.crt", "DEBIAN_FRONTEND": "noninteractive", "PIP_ROOT_USER_ACTION": "ignore"}
    settings |= {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root"}
    done = subprocess.run(
        ["unshare", "--mount", "bash", "-c", script, image.directory, command],
        env=settings | image.environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=3000,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
