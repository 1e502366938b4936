"""The flags by which another command, `nats` or `jsdoctor`, gets the settings that this command line has set.

What both read from the environment or from the selected context needs none. Secrets are named, never shown.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from jsdoctor.collect.connect.contexts import Context
from jsdoctor.collect.connect.credentials import Login, LoginKind
from jsdoctor.collect.connect.layers import CONTEXT, FLAGS, Layers
from jsdoctor.collect.connect.options import ConnectionOptions
from jsdoctor.collect.connect.secret_refs import scheme_of

_PLAIN = ("tlscert", "tlskey", "tlsca", "js_domain", "js_api_prefix", "inbox_prefix")
_LOGINS = ("user", "creds", "nkey", "user_jwt", "token")


def command_flags(
    options: ConnectionOptions, layers: Layers, context: Context | None, servers: Sequence[str], login: Login | None
) -> tuple[str, ...]:
    """Each flag with its value. `login` is that of the command line; None: another place states it.

    `nats` prefers a user in a context to `--creds` on the command line, so such a context is spelled out instead.
    """
    spelled = bool(context and login and any(layers.at(CONTEXT, name).value for name in _LOGINS))
    ranks = (FLAGS, CONTEXT) if spelled else (FLAGS,)

    def flags() -> Iterator[str]:
        if spelled or options.no_context:
            yield "--no-context"
        elif options.context:
            yield f"--context {shlex.quote(options.context)}"
        if layers.pick("server").rank in ranks:
            yield f"-s {shlex.quote(','.join(servers))}"
        yield from _login(login, options) if login else ()
        for name in _PLAIN:
            if (setting := layers.pick(name)).value and setting.rank in ranks:
                yield f"--{name.replace('_', '-')} {shlex.quote(setting.value or '')}"
        if options.tlsfirst or (spelled and context and context.tls_first):
            yield "--tlsfirst"

    return tuple(flags())


def _login(login: Login, options: ConnectionOptions) -> Iterator[str]:
    match login.kind:
        case LoginKind.USER:
            yield f"--user {shlex.quote(login.user or '')}"
            if options.password or not options.user:
                yield '--password "$NATS_PASSWORD"'
        case LoginKind.TOKEN:
            yield '--token "$NATS_TOKEN"'
        case LoginKind.CREDS:
            yield f"--creds {_file(options.creds, 'NATS_CREDS')}"
        case LoginKind.NKEY:
            yield f"--nkey {_file(options.nkey, 'NATS_NKEY')}"
        case LoginKind.NONE:
            pass


def _file(reference: str | None, variable: str) -> str:
    """A file as it was named. What holds the secret itself is left to the environment."""
    path = reference or ""
    return f'"${variable}"' if scheme_of(path) == "data" else shlex.quote(path)
