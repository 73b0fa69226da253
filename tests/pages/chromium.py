"""A browser without a window, driven over its own pipe: no further library is needed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--remote-debugging-pipe",
    "--window-size=1280,1000",
)  # fmt: skip
PATIENCE = 120.0


def found() -> str | None:
    """The browser, where there is one."""
    return next((path for path in map(shutil.which, NAMES) if path), None)


class Chromium:
    """One page in one browser; a context manager."""

    def __init__(self, folder: Path) -> None:
        browser = found()
        assert browser is not None
        from_us, to_it = os.pipe()
        from_it, to_us = os.pipe()

        # The browser reads from descriptor 3 and writes to 4; the shell puts the pipes there.
        plug = f'exec "$0" "$@" 3<&{from_us} 4>&{to_us}'
        self._process = subprocess.Popen(
            ["bash", "-c", plug, browser, *FLAGS, f"--user-data-dir={folder}", "about:blank"],
            pass_fds=(from_us, to_us),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(from_us)
        os.close(to_us)
        self._out, self._in = os.fdopen(to_it, "wb", buffering=0), os.fdopen(from_it, "rb", buffering=0)
        self._number, self._left, self._session = 0, b"", ""

    def __enter__(self) -> Chromium:
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError, AssertionError):
            self._session = ""
            self.ask("Browser.close")
        self._process.terminate()
        self._process.wait(10)
        self._out.close()
        self._in.close()

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Call a method of the protocol and wait for its answer."""
        self._number += 1
        call = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            call["sessionId"] = self._session
        self._out.write(json.dumps(call).encode() + b"\0")
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            said = self._next()
            if said.get("id") == self._number:
                assert "error" not in said, said
                return said["result"]
        raise AssertionError(f"the browser did not answer {method}")

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._left:
            more = self._in.read(65536)
            assert more, "the browser has gone"
            self._left += more
        line, _, self._left = self._left.partition(b"\0")
        return json.loads(line)

    def open(self, path: Path) -> None:
        """Show a page and wait until it is ready."""
        self.ask("Page.enable")
        self.ask("Page.navigate", url=path.as_uri())
        end = time.monotonic() + PATIENCE
        while self.value("document.body && document.body.dataset.ready") != "yes":
            assert time.monotonic() < end, "the page never became ready"
            time.sleep(0.05)

    def value(self, expression: str) -> Any:
        """What an expression is in the page."""
        found = self.ask("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def point(self, x: float, y: float, kind: str = "mouseMoved", **more: Any) -> None:
        self.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def press(self, key: str, code: int) -> None:
        for kind in ("rawKeyDown", "keyUp"):
            self.ask("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code)

    def picture(self) -> bytes:
        """A PNG of what is seen."""
        import base64

        return base64.b64decode(self.ask("Page.captureScreenshot", format="png")["data"])
