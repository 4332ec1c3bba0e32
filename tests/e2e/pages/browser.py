"""A headless Chromium, driven by its debugging protocol over two pipes. Needs nothing but the program."""

import base64
import contextlib
import json
import os
import shutil
import subprocess
import tempfile
import time

PATIENCE_SECONDS = 240
# The first one that is there. Debian has both; the first is the smaller package.
PROGRAM = next(filter(None, map(shutil.which, ("chromium-headless-shell", "chromium"))), None)


class Browser:
    """One page of a browser with a profile of its own."""

    def __init__(self):
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        commands, self.out = os.pipe()
        self.answers, answers = os.pipe()
        # The browser reads commands from descriptor 3 and writes answers to 4. Its own sandbox needs rights that tests
        # may lack; the pages are ours.
        self.process = subprocess.Popen(
            ["bash", "-c", f'exec "$@" 3<&{commands} 4>&{answers}', "bash", PROGRAM, "--headless", "--no-sandbox",
             "--disable-gpu", "--disable-dev-shm-usage", "--no-proxy-server", "--remote-debugging-pipe", "--no-first-run",
             f"--user-data-dir={self.profile.name}", "about:blank"],
            pass_fds=(commands, answers), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(commands)
        os.close(answers)
        self.buffer = b""
        self.number = 0
        self.session = None
        self.complaints = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(domain + ".enable")

    def close(self):
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()
        self.process.wait()
        os.close(self.out)
        os.close(self.answers)
        self.profile.cleanup()

    def receive(self):
        while b"\0" not in self.buffer:
            part = os.read(self.answers, 1 << 20)
            if not part:
                raise RuntimeError("the browser has ended")
            self.buffer += part
        message, self.buffer = self.buffer.split(b"\0", 1)
        message = json.loads(message)
        if message.get("method") == "Log.entryAdded":
            self.complaints.append(message["params"]["entry"]["text"])
        elif message.get("method") == "Runtime.exceptionThrown":
            self.complaints.append(message["params"]["exceptionDetails"]["text"])
        return message

    def call(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def show(self, width, height, dark):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def open(self, url):
        self.call("Page.navigate", url=url)
        self.wait_for("document.readyState === 'complete' && location.href !== 'about:blank'")

    def evaluate(self, script):
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{script}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def wait_for(self, condition):
        """Until the condition, in JavaScript, holds. It is asked for again and again: a page may be loaded meanwhile."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            with contextlib.suppress(RuntimeError):
                if self.evaluate(condition):
                    return
            if time.monotonic() > deadline:
                raise AssertionError(f"never: {condition}")
            time.sleep(0.02)

    def press(self, key):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key,
                      windowsVirtualKeyCode={"Tab": 9, "Enter": 13}[key])

    def picture(self, path):
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))
