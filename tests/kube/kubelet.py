"""What the API server asks a kubelet for: logs of containers, over HTTPS. No node runs, so this stands in for it."""

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from tests.sources.certificates import Certificates
from tests.support.http_server import QuietHandler, serving


@dataclass
class Kubelet:
    """Serves files as logs. `logs` has the file of each pod, and of the run before under `POD previous`."""

    port: int = 0
    logs: dict[str, Path] = field(default_factory=dict)
    requested_paths: list[str] = field(default_factory=list)

    def reply(self, url: str) -> tuple[int, bytes]:
        """Status and content for `/containerLogs/NAMESPACE/POD/CONTAINER?previous=true&limitBytes=N`."""
        self.requested_paths.append(url)
        parts = urlsplit(url)
        options = parse_qs(parts.query)
        pod = parts.path.split("/")[3]
        path = self.logs.get(f"{pod} previous" if options.get("previous") == ["true"] else pod)
        if path is None:
            return 400, b"previous terminated container not found"
        body = path.read_bytes()
        return 200, body[: int(options.get("limitBytes", [str(len(body))])[0])]


@contextmanager
def running_kubelet(address: str, directory: Path) -> Iterator[Kubelet]:
    """A kubelet on a free port of an address, with a certificate that it makes in a directory."""
    kubelet = Kubelet()

    class Handler(QuietHandler):
        def do_GET(self) -> None:
            self.respond(*kubelet.reply(self.path), Content_Type="text/plain")

    certificate, key = Certificates(directory).localhost
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with serving(Handler, host=address, tls=context) as kubelet.port:
        yield kubelet
