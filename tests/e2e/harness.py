"""Real binaries for end-to-end tests: a server in a folder of its own, and the client's results."""

import contextlib
import ctypes
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.error
import urllib.request

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from programs import BIN  # noqa: E402

# Generous: sanitizers and busy machines are slow. Reached only when something is broken.
PATIENCE_SECONDS = 240


def die_with_parent():
    """In a child: so that a test that is killed leaves nothing behind that others wait for."""
    PR_SET_PDEATHSIG = 1
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Server:
    """quotientd on a free port; the port stays the same when it is started again."""

    def __init__(self, folder, env, *flags, preexec=die_with_parent):
        self.folder = pathlib.Path(folder)
        self.env = dict(env)
        self.flags = flags
        self.preexec = preexec
        self.address = "127.0.0.1:0"
        self.process = None
        self.log = self.folder / "server.log"
        self.start()

    def start(self):
        port_file = self.folder / "address"
        port_file.unlink(missing_ok=True)
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [BIN / "quotientd", "--listen", self.address, "--data-dir", self.folder / "data",
                 "--port-file", port_file, *self.flags],
                stdout=log, stderr=log, env=self.env, preexec_fn=self.preexec)
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            # It goes again when the server is told to end.
            with contextlib.suppress(FileNotFoundError):
                self.address = port_file.read_text().strip()
                return
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError("the server did not start:\n" + self.log.read_text())
            time.sleep(0.02)

    def metrics(self):
        """The page that Prometheus reads; of a server with --metrics-listen."""
        return self.page("/metrics")[1]

    def page(self, path, host=None):
        """The status and the text of a page, asked for by another name of its host if one is given; of a server with
        --metrics-listen."""
        url = re.findall(r"metrics on (\S+)/metrics", self.log.read_text())[-1] + path
        request = urllib.request.Request(url, headers={"Host": host} if host else {})
        try:
            with urllib.request.urlopen(request, timeout=30) as page:
                return page.status, page.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def kill(self):
        """The processes of its jobs end with it, which may take a moment."""
        jobs = descendants(self.process.pid, "quotient-job")
        self.process.kill()
        self.process.wait()
        for job in jobs:
            await_end(job)

    def stop(self):
        """SIGTERM; returns the exit status."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE_SECONDS)


class Result:
    def __init__(self, completed):
        self.code = completed.returncode
        self.out = completed.stdout
        self.err = completed.stderr

    def json(self):
        return json.loads(self.out)

    def __repr__(self):
        return f"exit {self.code}\n--- stdout\n{self.out}\n--- stderr\n{self.err}"


class TestCase(unittest.TestCase):
    """Has a folder, and starts clients and servers in it."""

    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        # Timings of --local runs are kept per user; tests have a user's folder of their own.
        self.env = {**os.environ, "XDG_CACHE_HOME": str(self.folder / "cache")}
        self.env.pop("QUOTIENT_SERVER", None)

    def serve(self, *flags, preexec=die_with_parent):
        server = Server(self.folder, self.env, *flags, preexec=preexec)
        self.addCleanup(server.kill)
        self.env["QUOTIENT_SERVER"] = server.address
        return server

    def quotient(self, *arguments):
        return Result(subprocess.run(
            [BIN / "quotient", *map(str, arguments)], capture_output=True, text=True, env=self.env,
            cwd=self.folder, timeout=PATIENCE_SECONDS, check=False))

    @contextlib.contextmanager
    def running(self, *arguments):
        """The client in the background; both of its streams are pipes, and end after a while."""
        process = subprocess.Popen(
            [BIN / "quotient", *map(str, arguments)], stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, env=self.env, cwd=self.folder,
            preexec_fn=die_with_parent)
        patience = threading.Timer(PATIENCE_SECONDS, process.kill)
        patience.start()
        try:
            yield process
        finally:
            patience.cancel()
            process.kill()
            process.communicate()

    def assert_code(self, result, code, *words):
        self.assertEqual(result.code, code, result)
        for word in words:
            self.assertIn(word, result.err, result)


def descendants(pid, program):
    """The processes of a program that a process, or one that it has started, has started."""
    found = []
    try:
        for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                if pathlib.Path(f"/proc/{child}/comm").read_text().strip() == program:
                    found.append(int(child))
                found += descendants(child, program)
    except OSError:
        pass  # It has ended.
    return found


def read_until(stream, pattern):
    """Reads lines until one contains the regular expression and returns it."""
    for line in stream:
        if re.search(pattern, line):
            return line
    raise AssertionError(f"the stream ended before '{pattern}'")


def await_text(path, wanted):
    """Until the file contains the text."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while wanted not in path.read_text():
        if time.monotonic() > deadline:
            raise AssertionError(f"{path} has no '{wanted}'")
        time.sleep(0.02)


def await_end(pid):
    """Until a process has ended that is not a child of this one."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while pathlib.Path(f"/proc/{pid}").exists():
        if time.monotonic() > deadline:
            raise AssertionError(f"process {pid} does not end")
        time.sleep(0.02)


def wait_until_taken(process, number):
    """Until the process has taken the signal, so that the next one does not merge with it."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while is_pending(process, number):
        if time.monotonic() > deadline:
            raise AssertionError(f"{number.name} is not taken")
        time.sleep(0.01)


def is_pending(process, number):
    status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    pending = next(line.split()[1] for line in status.splitlines() if line.startswith("ShdPnd"))
    return bool(int(pending, 16) & (1 << (number - 1)))
