"""Forms of secrets in text: those that are recognisable, and values that a name or place beside them identifies.

Forms of nkeys, JWTs and PEM are those of `nats-io/nkeys` and of RFC 7519 and 7468; those of other services are the
prefixes that their documentation states. A value without a form of its own is a secret only beside the name of one:
ordinary words, public keys and names of streams stay. See docs/adr/0008.
"""

from __future__ import annotations

import re
from typing import NamedTuple

# Long patterns for what few lines have are compiled, and kept by `re`, when they are first used.
# No pattern may search on from every place of a long word: a line of 64 KB would take minutes.
LOGIN = (
    # Azure names a container before the @, and jsdoctor's own hints show where a login goes.
    # A path of a file system has lost one slash.
    rb"://?(?<!abfs://)(?<!abfss://)(?<!wasb://)(?<!wasbs://)(?!git@|(?:USER:)?(?:PASSWORD|TOKEN)@)"
    rb"(?:(?P<user>[^\s\"/?#:@]*:)?(?P<secret>[^\s\"/?#]+)(?=@)"
    # A password with / ? or #, which should have been escaped; not a port and a path with an @ in it.
    rb"|(?P<user_>[^\s\"/?#:@\[]*:)(?!\d{1,5}[/?#])(?P<secret_>[^\s\"]{1,256}?)(?=@))"
)
BARE_LOGIN = (
    rb"(?<![\w.:/@\[-])(?P<user>[\w.-]+:)(?P<secret>[^\s\"/:@]{6,})(?=@(?!sha)(?:[\w-]+\.)*[\w-]+(?:\.\w+|:\d{2,5}\b))"
)
"""A URL that lost its scheme: `app:password@host:4222`."""
# Each begins with letters that are seldom, which is what makes looking for it fast.
SHAPES = {
    "pem": re.compile(rb"-----BEGIN [A-Z0-9 ]+-----[^\"]*?(?:-----END [A-Z0-9 ]+-----|(?=\")|\Z)"),
    "jwt": re.compile(rb"eyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]{5,}(?:\.[A-Za-z0-9_-]*)?|eyJ[A-Za-z0-9_-]{24,}"),
    "seed": re.compile(rb"S[UAOCNX][A-Z2-7]{56}"),  # nkeys `strkey.go`: prefix, type, key and checksum in base32
}
_PREFIXES = (
    *(b"AKIA", b"ASIA", b"ghp_", b"gho_", b"ghu_", b"ghs_", b"ghr_", b"github_pat_", b"glpat-", b"xox", b"_live_"),
    *(b"sk-", b"AIza", b"npm_", b"pypi-", b"hf_", b"dop_v1_", b"SG.", b"hvs.", b"hvb.", b"AGE-SECRET-KEY-", b"$2"),
    *(b"hooks.slack.com/", b"/api/webhooks/"),
)
_ISSUED = (
    rb"(?<![A-Za-z0-9_-])(?:A[KS]IA[A-Z0-9]{16}(?![A-Z0-9])|gh[pousr]_[A-Za-z0-9]{30,}|github_pat_\w{40,}"
    rb"|glpat-[\w-]{20,}|xox[abeoprs]-[A-Za-z0-9-]{20,}|[rs]k_live_[A-Za-z0-9]{20,}"
    rb"|sk-(?:[a-z]+[0-9]*-)*[A-Za-z0-9_]{32,}|AIza[\w-]{35}|npm_[A-Za-z0-9]{36}|pypi-[\w-]{50,}|hf_[A-Za-z0-9]{30,}"
    rb"|dop_v1_[0-9a-f]{64}|SG\.[\w-]{22}\.[\w-]{40,}|hv[sb]\.[\w-]{24,}|AGE-SECRET-KEY-1[A-Z0-9]{50,})"
    rb"|\$2[abxy]\$\d\d\$[./A-Za-z0-9]{53}"
    rb"|(?<=hooks\.slack\.com/)[\w/-]{20,}|(?<=/api/webhooks/)\d+/[\w-]{20,}"
)
SIGNS = (b"@", b"eyJ", b"-----BEGIN", *_PREFIXES)
"""Every login, issued token and shape but a seed has one of these."""
_WORDS = tuple(b"pass pwd token secret key cred seed jwt bearer cookie sig".split())
_WORDS_OF_NAMES = (*_WORDS, b"auth")
WORDS = (*_WORDS, b"authorization", *(b"auth" + bytes((sign,)) for sign in b"\\\"':= \t\n\r\f\v"))
"""Every name of a secret has one of these, in any case. `authentication` has none: servers log it so often that
examining each such line would take long.
"""
_REST_OF_NAME = re.compile(rb"[\w.-]*+")
_AFTER_NAME = re.compile(rb"[\s:=\\']")
_NAME = (
    rb"(?:[a-z0-9_.-]*(?:token|passw(?:or)?d|passphrase|secret)"
    rb"|(?:[a-z0-9_.-]*[_.-])?(?:pass|pwd|seed|jwt|authorization"
    rb"|(?:client)?secret[_-]?(?:access[_-]?)?key"
    rb"|(?:shared[_-]?)?(?:api|access|account|private|signing|encryption|cipher)[_-]?key))"
)
_PARTS = b"token pass pwd secret seed jwt authorization key"
"""Each `_NAME` has one of these."""
_EQ = rb"[\\\"']*\s*[:=]\s*[\\\"']*"
_REAL = rb"(?!\[redacted:|\(not shown|<<|\$\{?[A-Z_]+\b|[{\[](?:[\s\"'\\{]|[\w-]+\s*[:=])"
_REAL += rb"|(?:yes|no|true|false|null|none|on|off)\b)(?:(?<=[\"'=])|(?![a-z]{1,9}\s+[a-z]))"
"""Not redacted already, no reference to a variable, no object that holds the value somewhere, no sentence."""
_VALUE = b"|".join(
    (
        # Within quotes that are escaped themselves, as in JSON in JSON: a longer run of backslashes escapes a quote.
        rb"(?<=\\\\\\\")(?:[^\"\\]|\\+(?=[^\"\\])|\\{5,}\")+",
        rb"(?<=\\\")(?:[^\"\\]|\\+(?=[^\"\\])|\\{3,}\")+",
        rb"(?<=\")(?:[^\"\\]|\\.)+",
        rb"(?<=\\')(?:[^'\\]|\\+(?=[^'\\])|\\{3,}')+",
        rb"(?<=')(?:[^'\\]|\\+[^\\])+",
        rb"[^\s\"',;\\&]+",
    )
)
_VALUE = rb"(?:" + _VALUE + rb")"
_OPAQUE = rb"(?![a-z]{1,9}(?![^\s,.;:)]))(?![A-Z_]+(?![^\s,.;:)]))(?![<$\[{(.])"
"""Not a word of a sentence, not the name of a value as in `--token TOKEN`."""
_PARTS_OF_OPTIONS = b"token pass secret seed jwt api-key auth"
_OPTION = rb"(?i:(?<![\w-])--?(?:[a-z]+-)*(?:token|password|passwd|pass|secret|seed|jwt|api-key|auth))"
_ARGUMENT = rb"[ =]+[\\\"']*|\s+(?!-\s)|[\\\"']+\s*,\s*[\\\"']+(?!-)"
_ARGUMENT += rb"|[\\\"']*?[ \t]*(?:\r?\n|\\+n)[ \t]*-[ \t]+[\\\"']*(?!-)"
"""What is between an option and its value in a command, in an array, and in a list of YAML."""


class _Form(NamedTuple):
    """A form of named secrets. Its pattern is compiled when a text has one of `words`, as all texts of the form do."""

    words: tuple[bytes, ...]
    pattern: bytes

    @property
    def shape(self) -> re.Pattern[bytes]:
        """The compiled pattern, which `re` caches."""
        return re.compile(self.pattern)


def _form(words: bytes, pattern: bytes) -> _Form:
    return _Form(tuple(words.split()), pattern)


_BESIDE_A_NAME = (
    _form(_PARTS, rb"(?i)(?<![a-z0-9_.-])(" + _NAME + _EQ + rb"(?:(?:bearer|basic|digest)\s+)?+)" + _REAL + _VALUE),
    # After the form with a colon: of `JWT "token": "VALUE"` both names are followed by something in quotes.
    _form(_PARTS, rb"(?i)(?<![a-z0-9_.-])(" + _NAME + rb"\s+\\?\")" + _REAL + _VALUE),
    _form(
        b"cred",
        rb"((?i:(?<![a-z0-9_.-])(?:[a-z0-9_.-]*[_.-])?(?:credentials?|creds)" + _EQ + rb"))" + _REAL + _OPAQUE + _VALUE,
    ),
    _form(_PARTS_OF_OPTIONS, rb"(" + _OPTION + rb"(?:" + _ARGUMENT + rb"))" + _OPAQUE + _VALUE),
    _form(b"pass", rb"((?i:\b(?:password|passwd|passphrase)\s+))(?=\S*[A-Za-z])(?=\S*\d)[^\s\"',;\\]{8,}"),
    _form(
        b"value",
        rb"(?i)(\b(?:name|key)" + _EQ + rb"[a-z0-9_.-]*(?:password|passwd|pwd|token|secret|seed|jwt|creds|key)"
        rb"[\\\"']*,?\s*[\\\"']*value" + _EQ + rb")" + _REAL + _VALUE,
    ),
    _form(b"bearer", rb"(?i)(\bbearer\s+)[a-z0-9._~+/=-]{16,}"),
    _form(b"auth", rb"(?i)(\bauth" + _EQ + rb")[a-z0-9+/]{16,}={0,2}"),
    _form(b"sig", rb"(?i)(\b(?:x-amz-)?sig(?:nature)?" + _EQ + rb")[a-z0-9+/%_=-]{16,}"),
    _form(b"cookie", rb"(?i)(\b(?:set-)?cookie[\\\"']*\s*:\s*[\\\"']*)[^\s\"=;]{1,256}=[^\"\\\r\n]+"),
)


def without_issued(text: bytes, mark: bytes) -> tuple[bytes, int]:
    """Replace tokens and keys of other services, and hashes of passwords. Returns the text and their number."""
    if not any(prefix in text for prefix in _PREFIXES):
        return text, 0
    return re.subn(_ISSUED, mark, text)


def has_no_secret(line: bytes) -> bool:
    """Whether a line has no sign of a secret of any form, as most log lines have none."""
    for sign in SIGNS:  # a loop: a generator takes twice the time, and an audit calls this for each line that it shows
        if sign in line:
            return False
    lower = line.lower()
    for word in WORDS:
        if word in lower:
            return False
    return SHAPES["seed"].search(line) is None


def may_name_a_secret_inside(body: bytes) -> bool:
    """Whether a value in a JSON document may name a secret. Names of fields do not count: a quote follows them."""
    lower = body.lower()
    for word in _WORDS_OF_NAMES:
        at = lower.find(word)
        while at >= 0:
            name = _REST_OF_NAME.match(body, at)
            end = name.end() if name else at
            if _AFTER_NAME.match(body, end):
                return True
            at = lower.find(word, end)  # the same follows other such words in this name
    return False


def without_named(text: bytes, mark: bytes) -> bytes:
    """Replace values beside the name of a secret: `password=…`, `--token …`, `Cookie: …`."""
    lower = text.lower()
    for form in _BESIDE_A_NAME:
        if any(word in lower for word in form.words):
            text = form.shape.sub(lambda match: match[1] + mark, text)
    return text
