"""A headless Chromium through its DevTools pipe: what a page logs, what it asks for, what its scripts make of it."""

import json
import os
import shutil
import subprocess
import time
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from select import select
from typing import Any

Json = dict[str, Any]

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
_WAIT_S = 60.0


class Tab:
    """One page. `problems` holds console errors, exceptions and blocked loads, `requests` every address asked for."""

    def __init__(self, read: int, write: int) -> None:
        self._read, self._write, self._rest, self._number, self._session = read, write, b"", 0, ""
        self.problems: list[str] = []
        self.requests: list[str] = []
        self.loaded = False

    def attach(self) -> None:
        """Open an empty page and listen to it."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def open(self, file: Path, width: int = 1280, height: int = 900, dark: bool = False) -> None:
        """Show a file and wait until it is loaded."""
        self.loaded, self.problems, self.requests = False, [], []
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.call("Emulation.setEmulatedMedia", features=scheme)
        self.call("Page.navigate", url=file.as_uri())
        deadline = time.monotonic() + _WAIT_S
        while not self.loaded:
            self._take(deadline)

    def value(self, expression: str) -> Any:
        """What a script expression gives."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def press(self, key: str) -> None:
        """A key, as a person presses it."""
        text = {"text": key} if len(key) == 1 else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key)

    def screenshot(self, file: Path) -> None:
        """The whole page as PNG."""
        file.write_bytes(b64decode(self.call("Page.captureScreenshot", captureBeyondViewport=True)["data"]))

    def call(self, method: str, **params: Any) -> Json:
        """A command and its result."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        os.write(self._write, json.dumps(message | ({"sessionId": self._session} if self._session else {})).encode())
        os.write(self._write, b"\0")
        deadline = time.monotonic() + _WAIT_S
        while (answer := self._take(deadline)).get("id") != self._number:
            pass
        assert "error" not in answer, answer
        result: Json = answer["result"]
        return result

    def _take(self, deadline: float) -> Json:
        while b"\0" not in self._rest:
            assert select([self._read], [], [], max(0.0, deadline - time.monotonic()))[0], "Chromium does not answer"
            more = os.read(self._read, 1 << 20)
            assert more, "Chromium has ended"
            self._rest += more
        frame, _, self._rest = self._rest.partition(b"\0")
        message: Json = json.loads(frame)
        self._note(message.get("method", ""), message.get("params", {}))
        return message

    def _note(self, method: str, params: Json) -> None:
        if method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
            self.problems.append(str(params["args"]))
        elif method == "Runtime.exceptionThrown":
            self.problems.append(str(params["exceptionDetails"]))
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.problems.append(str(params["entry"]))
        elif method == "Page.loadEventFired":
            self.loaded = True


@contextmanager
def browser(profile: Path) -> Iterator[Tab]:
    """A Chromium of its own, ended afterwards. It must be on the machine."""
    assert CHROMIUM is not None
    to_browser, from_us = os.pipe()
    to_us, from_browser = os.pipe()
    options = ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--disable-background-networking")
    command = [CHROMIUM, *options, "--remote-debugging-pipe", f"--user-data-dir={profile}", "about:blank"]
    shell = f'exec 3<&{to_browser} 4>&{from_browser}; exec "$0" "$@"'
    with subprocess.Popen(
        ["bash", "-c", shell, *command],
        pass_fds=(to_browser, from_browser),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        os.close(to_browser)
        os.close(from_browser)
        try:
            tab = Tab(to_us, from_us)
            tab.attach()
            yield tab
        finally:
            process.terminate()
            process.wait(30)
            os.close(to_us)
            os.close(from_us)
