"""TLS towards a server: what to verify with, and what a failed handshake means. Verification is never off."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from functools import cache

from jsdoctor.model.problems import UsageProblem
from jsdoctor.sources.connect.refusal import ConnectionRefusal, Stage
from jsdoctor.sources.connect.secret_refs import shown_path
from jsdoctor.sources.connect.server_urls import ServerUrl
from jsdoctor.sources.connect.settings import ConnectionSettings

# X509_V_ERR_* of openssl/x509_vfy.h
_EXPIRED, _NOT_YET_VALID = 10, 9
_UNKNOWN_ISSUER = (18, 19, 20, 21)  # self-signed, self-signed in the chain, no issuer locally, cannot verify the first
_WRONG_NAME = (62, 64)  # host name, IP address
_PLAIN_TEXT_REASONS = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "PACKET_LENGTH_TOO_LONG", "HTTP_REQUEST")
_CERTIFICATE_ALERTS = ("CERTIFICATE_REQUIRED", "BAD_CERTIFICATE", "HANDSHAKE_FAILURE")


@dataclass(frozen=True, slots=True)
class TlsPlan:
    """How to do TLS: certificates that were given, whether a server must offer it, whether it comes before INFO."""

    given: ssl.SSLContext | None
    required: bool
    first: bool
    own_ca: bool
    own_certificate: bool

    @property
    def context(self) -> ssl.SSLContext:
        """The context to verify with. The CAs of this machine are read when a server uses TLS, not before."""
        return self.given or _default_context()


@cache
def _default_context() -> ssl.SSLContext:
    return ssl.create_default_context()


def plan_tls(settings: ConnectionSettings) -> TlsPlan:
    """Load the certificates. Raises UsageProblem for files that are no PEM, or a key that is not the certificate's."""
    ca, cert, key = settings.tls_ca, settings.tls_cert, settings.tls_key
    try:
        context = ssl.create_default_context(cafile=ca) if ca or cert else None
    except (ssl.SSLError, OSError):
        origin = settings.origins.get("tls_ca", "--tlsca")
        raise UsageProblem(
            f"{origin}: no certificate in {shown_path(str(ca))}", "give a PEM file (BEGIN CERTIFICATE)"
        ) from None
    if cert and context:
        origin = settings.origins.get("tls_cert", "--tlscert")
        try:
            # Without a password function OpenSSL would ask on the terminal and wait.
            context.load_cert_chain(cert, key, password=lambda: "")
        except (ssl.SSLError, OSError) as error:
            mismatch = isinstance(error, ssl.SSLError) and error.reason == "KEY_VALUES_MISMATCH"
            if mismatch:
                what = f"the key {shown_path(str(key))} does not belong to the certificate {shown_path(str(cert))}"
                hint = "compare: openssl x509 -noout -pubkey -in CERTIFICATE; openssl pkey -pubout -in KEY"
            else:
                both = f"{shown_path(str(cert))} and {shown_path(str(key))}"
                what = f"{both} are not a PEM certificate and its unencrypted PEM key"
                hint = "a key without its passphrase: openssl pkey -in KEY -out PLAIN_KEY"
            raise UsageProblem(f"{origin}: {what}", hint) from None
    return TlsPlan(context, settings.tls_required, settings.tls_first, ca is not None, cert is not None)


def tls_refusal(error: OSError, server: ServerUrl, plan: TlsPlan) -> ConnectionRefusal:
    """What an error during or right after the TLS handshake means."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return _certificate_refusal(error, server, plan)
    reason = (isinstance(error, ssl.SSLError) and error.reason) or ""
    if any(sign in reason for sign in _PLAIN_TEXT_REASONS):
        return ConnectionRefusal(
            Stage.TLS,
            "it responds to the TLS handshake in plain text: it does not start with TLS",
            "leave out --tlsfirst (tls_first in the context); TLS still starts as soon as the server requests it",
        )
    if any(sign in reason for sign in _CERTIFICATE_ALERTS):
        if plan.own_certificate:
            return ConnectionRefusal(
                Stage.TLS,
                "it does not accept our client certificate",
                "check that --tlscert is signed by a CA that the server's tls block names, and has not expired",
            )
        return ConnectionRefusal(Stage.TLS, "it wants a client certificate", "add --tlscert FILE --tlskey FILE")
    if isinstance(error, TimeoutError):
        return ConnectionRefusal(
            Stage.TLS,
            "the TLS handshake did not finish in time",
            "check the port; without --tlsfirst jsdoctor looks what is behind it",
        )
    detail = reason.replace("_", " ").lower() or "the connection was closed"
    return ConnectionRefusal(
        Stage.TLS,
        f"the TLS handshake failed: {detail}",
        "look for this connection in the server's log; compare its tls block with what is given here",
    )


def _certificate_refusal(error: ssl.SSLCertVerificationError, server: ServerUrl, plan: TlsPlan) -> ConnectionRefusal:
    code = error.verify_code
    if code in _WRONG_NAME:
        reason = f"its certificate is not valid for {server.host!r}"
        hint = "connect by a name or address that the certificate lists (subjectAltName)"
    elif code == _EXPIRED:
        reason, hint = "its certificate has expired", "renew the server's certificate; check this machine's clock"
    elif code == _NOT_YET_VALID:
        reason, hint = "its certificate is not valid yet", "check the clocks of this machine and of the CA"
    elif code in _UNKNOWN_ISSUER and plan.own_ca:
        reason = "its certificate is not signed by the CA that was given"
        hint = "give the CA that signed the server's certificate with --tlsca FILE"
    elif code in _UNKNOWN_ISSUER:
        reason = "it uses TLS with a certificate from a CA that this machine does not trust"
        hint = "give that CA with --tlsca FILE (PEM)"
    else:
        reason = f"its certificate cannot be verified: {error.verify_message}"
        hint = "give the right CA with --tlsca FILE, or have the certificate issued again"
    return ConnectionRefusal(Stage.TLS, reason, hint)
