"""The API of Kubernetes through `kubectl proxy`, which supports every kind of login that a kubeconfig can contain.

The proxy listens on a socket in a directory of this user alone, and refuses all requests that change something.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from selectors import EVENT_READ, DefaultSelector
from shutil import which
from tempfile import TemporaryDirectory

import httpx2
import msgspec

from jsdoctor.model.problems import ConnectProblem, UsageProblem
from jsdoctor.model.typed import decode_as
from jsdoctor.sources.connect.refusal import printable
from jsdoctor.sources.http_api import TooLargeError, body_of
from jsdoctor.sources.servers.monitor_url import KUBECTL_HOST

BASE = f"http://{KUBECTL_HOST}"
_START_S = 15.0
_MAX_BYTES = 256 << 20
_MAX_ERROR_BYTES = 1 << 20
_MAX_MESSAGE_BYTES = 200
_READ_ONLY = (
    f"--accept-hosts=^{KUBECTL_HOST}$",
    "--reject-methods=^(POST|PUT|PATCH|DELETE|CONNECT)$",
    "--reject-paths=^/api/.*/pods/.*/(exec|attach|portforward)",
)


class RefusedError(Exception):
    """The API returned an error. `status` is the HTTP status, the text is the error message."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class KubeApi:
    """GET requests to the API. `socket` is where the proxy listens."""

    def __init__(self, socket: str, timeout_s: float) -> None:
        self.socket = socket
        self._client = httpx2.Client(base_url=BASE, transport=httpx2.HTTPTransport(uds=socket), timeout=timeout_s)

    def close(self) -> None:
        """Close the client; no request can be made afterwards."""
        self._client.close()

    def get(self, path: str) -> bytes:
        """The body of a reply. Raises RefusedError, and ConnectProblem where no reply came."""
        with self._response(path) as response:
            return body_of(response, _MAX_BYTES)

    def lines(self, path: str) -> Iterator[bytes]:
        """The body in pieces, as it comes. Raises what `get` raises."""
        with self._response(path) as response:
            yield from response.iter_bytes()

    @contextmanager
    def _response(self, path: str) -> Iterator[httpx2.Response]:
        try:
            with self._client.stream("GET", path) as response:
                if not response.is_success:
                    raise RefusedError(response.status_code, status_message(body_of(response, _MAX_ERROR_BYTES)))
                yield response
        except TooLargeError:
            raise ConnectProblem(f"the API of Kubernetes: the reply to {path} is too large", "") from None
        except (httpx2.HTTPError, OSError) as error:
            why = printable(str(error) or type(error).__name__)
            raise ConnectProblem(
                f"the API of Kubernetes: {why}", "try kubectl get pods, or a longer --timeout"
            ) from None


class _KubeStatus(msgspec.Struct):
    """The message of an error reply."""

    message: str = ""


def status_message(body: bytes) -> str:
    """The message of an error reply: that of a `Status` object, or its text."""
    try:
        return printable(decode_as(body, _KubeStatus).message)
    except msgspec.MsgspecError:
        return printable(body[:_MAX_MESSAGE_BYTES].decode(errors="replace").strip())


@contextmanager
def kube_api(context: str, timeout_s: float) -> Iterator[KubeApi]:
    """The API with the login of a kubeconfig context (empty: the current one).

    Raises UsageProblem without kubectl, and ConnectProblem where it does not start.
    """
    command = kubectl(context)
    with TemporaryDirectory(prefix="jsdoctor-kube-") as directory:
        socket = str(Path(directory) / "api.sock")
        process = subprocess.Popen(
            [*command, "proxy", f"--unix-socket={socket}", *_READ_ONLY],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        try:
            _await_start(process)
            api = KubeApi(socket, timeout_s)
            try:
                yield api
            finally:
                api.close()
        finally:
            process.terminate()
            process.wait()
            if process.stdout is not None:
                process.stdout.close()


def kubectl(context: str) -> list[str]:
    """The command, for a context. Raises UsageProblem where it is not installed."""
    path = which("kubectl")
    if path is None or os.name == "nt":
        why = "kubectl is not in PATH" if path is None else "its socket does not exist on Windows"
        raise UsageProblem(f"--kube runs `kubectl proxy`, and {why}", "install kubectl, or give --monitor and --logs")
    return [path, *(["--context", context] if context else [])]


def default_namespace(context: str) -> str:
    """The namespace of a context. Raises UsageProblem where kubectl knows no such context."""
    command = [*kubectl(context), "config", "view", "--minify", "-o", "jsonpath={..namespace}"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_START_S, check=False)
    except subprocess.TimeoutExpired:
        raise ConnectProblem("kubectl config view does not end", "try kubectl get pods") from None
    if done.returncode:
        raise UsageProblem(f"kubectl: {printable(done.stderr.strip())}", "choose one with --kube-context")
    return done.stdout.strip() or "default"


def _await_start(process: subprocess.Popen[bytes]) -> None:
    """Wait until the proxy reports that it serves. Raises ConnectProblem."""
    reported = process.stdout
    if reported is None:
        return
    with DefaultSelector() as selector:
        selector.register(reported, EVENT_READ)
        line = reported.readline() if selector.select(_START_S) else b""
    if not line.startswith(b"Starting to serve"):
        process.kill()
        rest = (line + reported.read()).decode(errors="replace").strip()
        raise ConnectProblem(
            f"kubectl proxy did not start: {printable(rest) or 'it says nothing'}", "try kubectl get pods"
        )
