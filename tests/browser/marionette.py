"""Firefox by its own remote protocol, which needs no driver program: Marionette."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import socket
import subprocess
import time
from pathlib import Path
from typing import Any

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
"""The key of an element's name, in WebDriver."""


def firefox() -> str | None:
    """The browser that $FIREFOX names, or the first of the usual ones."""
    names = [os.environ.get("FIREFOX"), "firefox-esr", "firefox"]
    return next((found for name in names if name and (found := shutil.which(name))), None)


class Firefox:
    """A browser with a fresh profile, without a window."""

    def __init__(self, program: str, folder: Path, languages: str = "en") -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        settings = {"marionette.port": port, "intl.accept_languages": languages}
        lines = [f"user_pref({json.dumps(k)}, {json.dumps(v)});" for k, v in settings.items()]
        (folder / "user.js").write_text("\n".join(lines), "utf-8")
        command = [program, "--headless", "--marionette", "--no-remote", "--profile", str(folder)]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.process = subprocess.Popen(command, **quiet, env=os.environ | {"HOME": str(folder)})
        self.numbers = itertools.count()
        self.socket = self._connect(port)
        self._receive()
        self("WebDriver:NewSession", capabilities={})
        self("WebDriver:SetTimeouts", implicit=8000)

    def _connect(self, port: int) -> socket.socket:
        for _ in range(300):
            try:
                return socket.create_connection(("127.0.0.1", port), timeout=30)
            except ConnectionRefusedError:
                time.sleep(0.1)
        self.process.kill()
        raise TimeoutError("Firefox does not answer.")

    def _receive(self) -> Any:
        length = b""
        while not length.endswith(b":"):
            length += self.socket.recv(1)
        size, data = int(length[:-1]), b""
        while len(data) < size:
            data += self.socket.recv(size - len(data))
        return json.loads(data)

    def __call__(self, command: str, **parameters: Any) -> Any:
        message = json.dumps([0, next(self.numbers), command, parameters]).encode()
        self.socket.sendall(b"%d:%b" % (len(message), message))
        _, _, error, result = self._receive()
        if error:
            raise AssertionError(f"{command}: {error['error']}: {error['message']}")
        return result

    def find(self, selector: str) -> str:
        """The name of an element, once it is there."""
        found = self("WebDriver:FindElement", using="css selector", value=selector)
        return found["value"][ELEMENT]

    def click(self, selector: str) -> None:
        self("WebDriver:ElementClick", id=self.find(selector))

    def type(self, selector: str, text: str) -> None:
        self("WebDriver:ElementSendKeys", id=self.find(selector), text=text)

    def text(self, selector: str) -> str:
        return self("WebDriver:GetElementText", id=self.find(selector))["value"]

    def run(self, script: str) -> Any:
        return self("WebDriver:ExecuteScript", script=script, args=[])["value"]

    def stop(self) -> None:
        self("Marionette:Quit", flags=["eForceQuit"])
        self.socket.close()
        self.process.wait(30)
