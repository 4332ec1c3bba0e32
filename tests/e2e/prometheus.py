"""A Prometheus that scrapes servers, for end-to-end tests."""

import http
import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import time
import urllib.error

import harness

REPO = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPO / "deploy" / "dashboards"))

from prometheus_api import Api

# prometheus and promtool are installed beside the tests' Python.
TOOLS = pathlib.Path(os.environ["QUOTIENT_PYTHON"]).parent


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def metrics_address(server):
    return re.search(r"metrics on http://([^/\s]+)", server.log.read_text())[1]


class Prometheus(Api):
    """Scrapes and evaluates each second. It scrapes itself, too, as the job `prometheus`."""

    def __init__(self, test, targets, rule_files=()):
        address = f"127.0.0.1:{free_port()}"
        super().__init__(f"http://{address}")
        jobs = {**targets, "prometheus": [address]}
        config = {"global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
                  "rule_files": [str(path) for path in rule_files],
                  "scrape_configs": [{"job_name": job, "static_configs": [{"targets": addresses}]}
                                     for job, addresses in jobs.items()]}
        # JSON is YAML.
        (test.folder / "prometheus.yml").write_text(json.dumps(config))
        with open(test.folder / "prometheus.log", "wb") as log:
            process = subprocess.Popen(
                [TOOLS / "prometheus", f"--config.file={test.folder}/prometheus.yml",
                 f"--storage.tsdb.path={test.folder}/tsdb", f"--web.listen-address={address}"],
                stderr=log, preexec_fn=harness.die_with_parent)
        test.addCleanup(process.wait)
        test.addCleanup(process.kill)

    def wait_for(self, expr):
        """Until the query has a result; returns it."""
        deadline = time.monotonic() + harness.PATIENCE_SECONDS
        while True:
            try:
                if found := self.now(expr):
                    return found
            except urllib.error.HTTPError as error:
                if error.code != http.HTTPStatus.SERVICE_UNAVAILABLE:
                    raise
            except (urllib.error.URLError, ConnectionError):
                pass  # Prometheus is not up yet.
            if time.monotonic() > deadline:
                raise AssertionError(f"Prometheus never has {expr}")
            time.sleep(0.2)
