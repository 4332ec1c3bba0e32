"""What a supervisor does for a server: it starts it again whenever it has ended."""

import threading

import harness


class Supervisor:
    """Watches over a server from a thread of its own until it is dismissed."""

    def __init__(self, server):
        self.server = server
        self.deaths = 0
        self.dismissed = threading.Event()
        self.lock = threading.Lock()  # Held while the server is started.
        self.thread = threading.Thread(target=self.watch, daemon=True)
        self.thread.start()

    def watch(self):
        while not self.dismissed.is_set():
            self.server.process.wait()
            with self.lock:
                if not self.dismissed.is_set():
                    self.start()
        self.server.process.wait()

    def start(self):
        """One that dies while it starts is started again, too."""
        while True:
            self.deaths += 1
            try:
                return self.server.start()
            except RuntimeError:
                pass

    def dismiss(self):
        """Ends the server in an orderly way, and does not start it again. Returns its exit status."""
        with self.lock:
            self.dismissed.set()
            if self.server.process.poll() is not None:  # It ended just now.
                self.start()
        status = self.server.stop()
        self.thread.join(harness.PATIENCE_SECONDS)
        return status
