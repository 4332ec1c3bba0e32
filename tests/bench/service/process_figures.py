"""What a process takes: memory, threads and descriptors, from /proc."""

import os
import pathlib
import threading

KEYS = ("anon_mib", "file_mib", "threads", "descriptors")


def look(pid):
    """What the process takes now. Bytes of mapped files count as `file_mib` as long as they are mapped and in memory;
    all that the process has made itself is `anon_mib`. Raises OSError if there is no such process."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    fields = dict(line.split(":", 1) for line in status.splitlines())

    if "RssAnon" not in fields:
        raise ProcessLookupError(f"process {pid} has ended")  # It only waits to be asked for its exit status.

    def mebibytes(name):
        return int(fields[name].split()[0]) / 1024
    return {"anon_mib": mebibytes("RssAnon"), "file_mib": mebibytes("RssFile") + mebibytes("RssShmem"),
            "threads": int(fields["Threads"]), "descriptors": len(os.listdir(f"/proc/{pid}/fd"))}


class Peak:
    """Looks at processes all the time, in a thread of its own, and keeps the most of each figure. `pids` returns those
    that there are now; each figure is the sum over them. For a `with` statement."""

    def __init__(self, pids, seconds=0.05):
        self.pids, self.seconds = pids, seconds
        self.most = dict.fromkeys(KEYS, 0)
        self.most["resident_mib"] = 0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._ended.set()
        self._thread.join()
        self._look()

    def _run(self):
        while not self._ended.wait(self.seconds):
            self._look()

    def _look(self):
        total = dict.fromkeys(self.most, 0)
        for pid in self.pids():
            try:
                figures = look(pid)
            except OSError:
                continue  # It has ended.
            for key in KEYS:
                total[key] += figures[key]
            total["resident_mib"] += figures["anon_mib"] + figures["file_mib"]
        for key, value in total.items():
            self.most[key] = max(self.most[key], value)


def is_sanitized(program):
    """Whether a program keeps what it has freed, as those of the sanitizers do, so that its memory says nothing."""
    code = pathlib.Path(program).read_bytes()
    return any(name in code for name in (b"__asan_init", b"__tsan_init"))
