"""Certificates for TLS tests, made once per session by the openssl command."""

import subprocess
from pathlib import Path

_CA_EXTENSIONS = ("basicConstraints=critical,CA:TRUE", "keyUsage=critical,keyCertSign,cRLSign")


class Certificates:
    """A CA (`ca`), another one that signed nothing here (`other_ca`), and pairs of certificate and key by name.

    `localhost` is valid for localhost and 127.0.0.1, `elsewhere` for another host, `client` identifies a client.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.ca = self._authority("ca")
        self.other_ca = self._authority("other_ca")
        self.localhost = self._signed("localhost", "subjectAltName=DNS:localhost,IP:127.0.0.1")
        self.elsewhere = self._signed("elsewhere", "subjectAltName=DNS:elsewhere.example")
        self.client = self._signed("client", "subjectAltName=email:client@localhost")
        self.encrypted_key = directory / "encrypted.key"
        _openssl("pkey", "-in", self.client[1], "-aes256", "-passout", "pass:hidden", "-out", self.encrypted_key)

    def valid_for(self, days: int) -> tuple[Path, Path]:
        """A pair like `localhost` that expires after that many days."""
        return self._certificate(f"days-{days}", ("subjectAltName=DNS:localhost,IP:127.0.0.1",), signer="ca", days=days)

    def expired(self) -> tuple[Path, Path]:
        """A pair like `localhost` that expired yesterday: `openssl req` makes none."""
        certificate, key = self._directory / "expired.pem", self._directory / "expired.key"
        request = self._directory / "expired.csr"
        subject = ("-subj", "/CN=expired", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1")
        curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
        _openssl("req", *curve, *subject, "-keyout", key, "-out", request)
        signer = ("-CA", self.ca, "-CAkey", self.ca.with_suffix(".key"), "-CAcreateserial")
        _openssl(
            "x509", "-req", "-in", request, *signer, "-days", "-1", "-copy_extensions", "copy", "-out", certificate
        )
        return certificate, key

    def _authority(self, name: str) -> Path:
        return self._certificate(name, _CA_EXTENSIONS, signer=None)[0]

    def _signed(self, name: str, *extensions: str) -> tuple[Path, Path]:
        return self._certificate(name, ("basicConstraints=critical,CA:FALSE", *extensions), signer="ca")

    def _certificate(
        self, name: str, extensions: tuple[str, ...], signer: str | None, days: int = 2
    ) -> tuple[Path, Path]:
        certificate, key = self._directory / f"{name}.pem", self._directory / f"{name}.key"
        command = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
        command += ["-days", str(days), "-subj", f"/CN={name}", "-keyout", str(key), "-out", str(certificate)]
        for extension in extensions:
            command += ["-addext", extension]
        if signer:
            command += ["-CA", str(self._directory / f"{signer}.pem"), "-CAkey", str(self._directory / f"{signer}.key")]
        _openssl(*command)
        return certificate, key


def _openssl(*arguments: str | Path) -> None:
    subprocess.run(["openssl", *arguments], check=True, capture_output=True, stdin=subprocess.DEVNULL)
