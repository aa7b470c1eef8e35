"""A real headless Chromium over its debugging pipe, with nothing but the standard library; tests skip where there is none."""

import base64
import contextlib
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
PATIENCE = 30  # seconds for an answer
# the pipes get the numbers that Chromium looks at, whatever numbers they have here
MOVE = """import fcntl, os, sys
ends = [fcntl.fcntl(int(number), fcntl.F_DUPFD, 20) for number in sys.argv[1:3]]
for number, end in zip((3, 4), ends):
    os.dup2(end, number)
os.execv(sys.argv[3], sys.argv[3:])"""


def program():
    """The path of a Chromium; skips the test that asks where there is none."""
    path = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if path is None or os.name == "nt":
        pytest.skip("no Chromium on this machine")
    return path


class Browser:
    """One page of a headless Chromium: messages go to its file descriptor 3, answers come from 4, each ended by a NUL."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="crftrain-browser-")
        flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--no-first-run", "--disable-dev-shm-usage"]
        (theirs_in, self.to), (self.back, theirs_out) = os.pipe(), os.pipe()
        command = [sys.executable, "-c", MOVE, str(theirs_in), str(theirs_out), program(), *flags, f"--user-data-dir={self.folder}"]
        quiet = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
        self.process = subprocess.Popen([*command, "about:blank"], pass_fds=(theirs_in, theirs_out), **quiet)
        os.close(theirs_in)
        os.close(theirs_out)
        self.number, self.rest, self.events, self.session = 0, b"", [], None
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(target["targetId"] for target in targets if target["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method, **params):
        """Send a message and wait for its answer; events that come in between are kept."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": params, **({"sessionId": self.session} if self.session else {})}
        os.write(self.to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive(time.monotonic() + PATIENCE)
            if answer.get("id") == self.number:
                assert "error" not in answer, f"{method}: {answer['error']}"
                return answer["result"]
            self.events.append(answer)

    def _receive(self, until):
        while b"\0" not in self.rest:
            ready, _, _ = select.select([self.back], [], [], max(0, until - time.monotonic()))
            data = os.read(self.back, 1 << 20) if ready else b""
            assert data, "Chromium does not answer"
            self.rest += data
        message, _, self.rest = self.rest.partition(b"\0")
        return json.loads(message)

    def wait_for(self, method, since=0):
        until = time.monotonic() + PATIENCE
        while not any(event.get("method") == method for event in self.events[since:]):
            self.events.append(self._receive(until))

    def open(self, path):
        """Load a file; seconds until it was loaded and drawn."""
        since, started = len(self.events), time.perf_counter()
        self.call("Page.navigate", url=f"file://{path}")
        self.wait_for("Page.loadEventFired", since)
        self.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        return time.perf_counter() - started

    def run(self, script):
        """The value of a JavaScript expression, awaited."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def look(self, width, height=900, *, dark=False, media=""):
        """How the page is looked at."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500)
        features = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.call("Emulation.setEmulatedMedia", media=media, features=features)

    def press(self, key):
        for kind in ("keyDown", "keyUp"):
            text = {"text": "\r"} if key == "Enter" and kind == "keyDown" else {}
            self.call(
                "Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode={"Enter": 13, "Tab": 9}.get(key, 0), **text
            )

    def screenshot(self, path, selector=None):
        """Of the whole page, or of one element."""
        if selector is None:
            clip = {}
        else:
            box = self.run(f"(() => {{ const b = document.querySelector({json.dumps(selector)}).getBoundingClientRect();"
                           " return [b.x + scrollX, b.y + scrollY, b.width, b.height] })()")  # fmt: skip
            clip = {"clip": dict(zip(("x", "y", "width", "height"), box, strict=True), scale=1)}
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True, **clip)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

    def asked(self):
        """The addresses that were asked for, but files and data."""
        urls = [event["params"]["request"]["url"] for event in self.events if event.get("method") == "Network.requestWillBeSent"]
        return [url for url in urls if not url.startswith(("file:", "data:", "about:"))]

    def complaints(self):
        """Errors of scripts, and what the page's policy refused."""
        thrown = [event["params"] for event in self.events if event.get("method") == "Runtime.exceptionThrown"]
        logged = [event["params"]["entry"] for event in self.events if event.get("method") == "Log.entryAdded"]
        return thrown + [entry for entry in logged if entry["level"] == "error"]

    def close(self):
        with contextlib.suppress(Exception):
            self.session = None
            self.call("Browser.close")
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(10)
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.to)
        os.close(self.back)
        shutil.rmtree(self.folder, ignore_errors=True)
