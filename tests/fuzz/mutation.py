"""Small changes to bytes, JSON, text and ZIP files, all drawn from one `Random`: the same state, the same change."""

import io
import json
import re
import warnings
import zipfile
from collections.abc import Callable, Sequence
from copy import deepcopy
from hashlib import sha256
from math import isfinite
from random import Random
from typing import Any

Mutate = Callable[[Random, bytes, Sequence[bytes]], bytes]
"""A changed copy of some bytes; the third argument is the whole corpus, to take pieces from."""

_DEEP = "\x00deep\x00"
_BYTES = (b"\x00", b"\xff", b"\xed\xa0\x80", b"\xc3", b'"', b"\\", b"{", b"]", b"\n", b"0", b"-", b"e999", b"\r\n\r\n")
_TOKENS = (
    *("", " ", "\n", "0", "-1", "1e400", "9" * 400, "0x1F", "NaN", "true", "null", "\x00", "\x1b[31m", "[/red]"),
    *("é" * 50, "\u202e", "A" * 70_000, "..", "a.b.*.>", "{{7*7}}", "0s", "5m", "1.5h", "-3s", "1d2w", "∞"),
    *("0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999999Z", "2026-02-30T00:00:00Z", "2026-01-01T00:00:00+99:99"),
    *("io.nats.monitor.enabled", "nats://u:p@h:1", "JSD401", "+++", "## Fix", "[rules.JSD401]", "warn_pending = 5"),
)
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T")
_TIMES = (
    *("0001-01-01T00:00:00Z", "0001-01-01T00:00:00+23:59", "1969-12-31T23:59:59.999999999Z", "2026-01-01T00:00:00Z"),
    *("9999-12-31T23:59:59.999999999Z", "9999-12-31T23:59:59-23:59", "2262-04-11T23:47:17Z", "2026-12-31T23:59:60Z"),
)
_VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2**31, 2**63 - 1, 2**63, 2**64, -(2**63), 10**30, 0.5, -0.0, 1e308),
    *([], {}, [None], [[]], {"": None}, [{}], _DEEP, *_TOKENS, "\ud800"),
)


def mutate_bytes(random: Random, data: bytes, corpus: Sequence[bytes]) -> bytes:
    """A few bytes changed, put in, taken out, doubled, or taken from elsewhere."""
    changed = bytearray(data)
    for _ in range(random.choice((1, 1, 2, 4, 8))):
        at, length = random.randrange(len(changed) + 1), random.choice((1, 1, 2, 8, 64, 1024))
        piece = bytes(changed[at : at + length])
        other = random.choice(corpus)
        start = random.randrange(len(other) + 1)
        taken = other[start : start + length]
        new = (b"", random.choice(_BYTES), random.randbytes(min(length, 8)), piece * random.choice((2, 500)), taken)
        changed[at : at + random.choice((0, len(piece)))] = random.choice(new)
    return bytes(changed[: random.randrange(len(changed) + 1)] if random.random() < 0.05 else changed)


def mutate_text(random: Random, data: bytes, corpus: Sequence[bytes]) -> bytes:
    """A word, line or token changed: what is still text."""
    lines = data.decode(errors="replace").splitlines(keepends=True) or [""]
    for _ in range(random.choice((1, 1, 2, 3))):
        at = random.randrange(len(lines))
        match random.randrange(6):
            case 0:
                lines[at] = ""
            case 1:
                lines.insert(at, random.choice(lines))
            case 2:
                lines[at], lines[0] = lines[0], lines[at]
            case 3:
                words = lines[at].split(" ")
                words[random.randrange(len(words))] = random.choice(_TOKENS)
                lines[at] = " ".join(words)
            case 4:
                cut = random.randrange(len(lines[at]) + 1)
                lines[at] = lines[at][:cut] + random.choice(_TOKENS) + lines[at][cut:]
            case _:
                return mutate_bytes(random, "".join(lines).encode(), corpus)
    return "".join(lines).encode(errors="surrogatepass")


def mutate_json(random: Random, data: bytes, corpus: Sequence[bytes]) -> bytes:
    """One to three values of other kinds, missing, doubled or out of place; or many of the same kind; or bytes."""
    if random.random() < 0.1:
        return mutate_bytes(random, data, corpus)
    try:
        tree = json.loads(data)
    except (ValueError, RecursionError):
        return mutate_bytes(random, data, corpus)
    holder = [tree]
    if random.random() < 0.4:
        for _ in range(random.choice((1, 3, 10, 50))):
            _change_gently(random, holder)
    else:
        for _ in range(random.choice((1, 1, 1, 2, 3))):
            _change(random, holder)
    depth = random.choice((10, 1_000, 100_000))
    text = json.dumps(holder[0], ensure_ascii=random.random() < 0.5)
    deep = random.choice(("[" * depth + "]" * depth, '{"a":' * depth + "1" + "}" * depth, "[" * depth))
    return text.replace(json.dumps(_DEEP), deep).encode(errors="surrogatepass")


def _change(random: Random, holder: list[Any]) -> None:
    """Walk to some place of the tree and change what is there."""
    place, key = _walk(random, holder, 0.93)
    value = place[key]
    match random.randrange(5):
        case 0 if place is not holder:
            del place[key]
        case 1 if isinstance(place, dict) and len(place) > 1:
            place[random.choice(list(place))] = deepcopy(value)
        case 2 if isinstance(place, list) and place is not holder:
            place.extend(deepcopy(value) for _ in range(random.choice((1, 3))))
        case 3:
            place[key] = _similar(random, value)
        case _:
            place[key] = deepcopy(random.choice(_VALUES))


def _change_gently(random: Random, holder: list[Any]) -> None:
    """Another value of the same kind: what readers take, and rules have to judge."""
    place, key = _walk(random, holder, 1.0)
    place[key] = _similar(random, place[key])


def _walk(random: Random, holder: list[Any], on: float) -> tuple[Any, Any]:
    place: Any = holder
    key: Any = 0
    while isinstance(place[key], dict | list) and place[key] and random.random() < on:
        place = place[key]
        key = random.choice(list(place)) if isinstance(place, dict) else random.randrange(len(place))
    return place, key


def _similar(random: Random, value: Any) -> Any:
    match value:
        case bool():
            return not value
        case int():
            return random.choice((value + 1, value - 1, -value, value * 2, value * 10**9, 0, -1, 2**63 - 1, -(2**63)))
        case float():
            whole = int(value) if isfinite(value) else 0
            return random.choice((-value, value * 1e9, value / 1e9, 0.0, 1e308, whole))
        case str() if _TIME.match(value):
            return random.choice(_TIMES)
        case str():
            return random.choice((value + value, value[1:], value.upper(), value + random.choice(_TOKENS), ""))
        case _:
            return deepcopy(random.choice(_VALUES))


def mutate_zip(random: Random, data: bytes, corpus: Sequence[bytes]) -> bytes:
    """A member changed, renamed, doubled or left out, in most cases with the manifest's digests put right again."""
    if random.random() < 0.15:
        return mutate_bytes(random, data, corpus)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
    except Exception:  # noqa: BLE001 - a ZIP that is broken already
        return mutate_bytes(random, data, corpus)
    names = sorted(members)
    name = random.choice(names)
    written = [*members]
    match random.randrange(8):
        case 0:
            written.remove(name)
        case 1:
            renamed = random.choice(("../x.json", "/x", "manifest.json", name + "x", "é" * 20, random.choice(names)))
            written[written.index(name)] = renamed
            members[renamed] = members[name]
        case 2:
            written.append(name)
        case _:
            pool = [content for content in members.values() if content] or [b"{}"]
            members[name] = mutate_json(random, members[name], pool)
    if random.random() < 0.9:
        _put_digests_right(members)
    return pack([(name, members[name]) for name in written], random.choice((zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED)))


def pack(members: Sequence[tuple[str, bytes]], packing: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A ZIP with these members, some of which may have the same name. The clock is not looked at."""
    target = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(target, "w") as archive:
        warnings.simplefilter("ignore", UserWarning)  # two members of one name
        for name, content in members:
            archive.writestr(zipfile.ZipInfo(name), content, packing)
    return target.getvalue()


def _put_digests_right(members: dict[str, bytes]) -> None:
    """So that what was changed is read, and not only refused."""
    try:
        manifest = json.loads(members["manifest.json"])
        for entry in manifest["members"]:
            content = members.get(entry["name"], b"")
            entry.update(sha256=sha256(content).hexdigest(), size=len(content))
        members["manifest.json"] = json.dumps(manifest).encode()
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
        return
