"""The pages of a real server, without and with a browser.

$QUOTIENT_SCREENSHOTS may name a folder for pictures of all of them.
"""

import http.client
import os
import pathlib
import re
import sys
import unittest

import onnx

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent))
import browser  # noqa: E402
import harness  # noqa: E402
import models  # noqa: E402

# The search of such a job takes all of its budget.
LONG = ("--device", "model:h200", "--max-nodes", "100", "--budget", "1h")
SHORT = ("--device", "model:h200", "--max-nodes", "100", "--simulations", "5")
HOSTILE = "<script>document.title='caught'<script>\"'&.onnx"


class PagesTestCase(harness.TestCase):
    def setUp(self):
        super().setUp()
        onnx.save(models.chain(), self.folder / "long.onnx")
        onnx.save(models.chain(), self.folder / HOSTILE)

    def serve_pages(self):
        server = self.serve("--metrics-listen", "127.0.0.1:0")
        self.url = re.findall(r"status page on (\S+)/\n", server.log.read_text())[-1]
        return server

    def submit(self, model, *options):
        result = self.quotient("submit", model, *options)
        self.assert_code(result, 0)
        return result.out.strip()

    def done(self, model, *options):
        job = self.submit(model, *options)
        self.quotient("watch", job)
        return job

    def occupy(self):
        """A job that runs until it is cancelled, in its search."""
        job = self.submit("long.onnx", *LONG)
        with self.running("watch", job, "--json") as watcher:
            harness.read_until(watcher.stdout, "enodes")
        return job


class ServedTest(PagesTestCase):
    def test_the_status_leads_to_jobs_and_their_reports(self):
        server = self.serve_pages()
        good, bad, running = self.done(HOSTILE, *SHORT), self.done(HOSTILE, *SHORT, "--shape", "none=1"), self.occupy()
        code, status = server.page("/")
        self.assertEqual(code, 200)
        for word in (">Ready<", "1 of 1 worker busy", "predicted", f'href="{good}"', f'href="{bad}"',
                     f'href="{running}"', "search "):
            self.assertIn(word, status)
        self.assertNotIn("<script>document", status)
        self.assertIn("&lt;script&gt;", status)
        self.assertIn("OPTION_INVALID", server.page("/" + bad)[1])
        self.assertIn("e-nodes", server.page("/" + running)[1])
        code, report = server.page(f"/{good}/report")
        self.assertEqual(code, 200)
        self.assert_code(self.quotient("result", good, "-o", "out.onnx", "--html", "report.html"), 0)
        self.assertEqual(report, (self.folder / "report.html").read_text())
        self.assertEqual(server.page("/jobs?state=failed")[1].count('href="jobs/'), 1)
        self.assertEqual(server.page("/livez"), (200, "live\n"))
        self.assertEqual(server.page("/metrics")[0], 200)

    def test_pages_are_read_only_and_for_their_own_name(self):
        self.serve_pages()
        address = self.url.removeprefix("http://")
        for method, host, code in (("GET", address, 200), ("HEAD", address, 200), ("POST", address, 405),
                                   ("DELETE", address, 405), ("GET", "quotient.example", 403)):
            connection = http.client.HTTPConnection(address, timeout=30)
            connection.request(method, "/", headers={"Host": host})
            answer = connection.getresponse()
            self.assertEqual(answer.status, code, (method, host))
            connection.close()

    def test_by_any_name_if_that_is_meant(self):
        server = self.serve("--metrics-listen", "127.0.0.1:0", "--status-page", "on")
        self.assertEqual(server.page("/", host="quotient.example")[0], 200)

    def test_they_can_be_switched_off(self):
        for flags, code in ((("--status-page", "off"), 404), (("--status-page=on",), 200)):
            server = self.serve("--metrics-listen", "127.0.0.1:0", *flags)
            self.assertEqual(server.page("/")[0], code, flags)
            server.kill()

    def test_where_other_machines_can_connect_there_are_none(self):
        server = self.serve("--metrics-listen", "0.0.0.0:0")
        self.assertEqual(server.page("/")[0], 404)
        self.assertEqual(server.page("/livez")[0], 200)


@unittest.skipUnless(browser.PROGRAM, "neither chromium-headless-shell nor chromium is installed (packages-tests.txt)")
class BrowserTest(PagesTestCase):
    def setUp(self):
        super().setUp()
        self.server = self.serve_pages()
        self.browser = browser.Browser()
        self.addCleanup(self.browser.close)

    def look(self, name, path):
        """At a page in light and dark, wide and narrow."""
        for dark in (False, True):
            for width in (1280, 360):
                shown = f"{name}-{'dark' if dark else 'light'}-{width}"
                with self.subTest(shown):
                    self.browser.show(width, 900, dark)
                    self.browser.open(self.url + path)
                    if folder := os.environ.get("QUOTIENT_SCREENSHOTS"):
                        self.browser.picture(pathlib.Path(folder) / f"{shown}.png")
                    self.assertEqual(self.browser.evaluate((HERE / "looks.js").read_text()), [])
        self.assertEqual(self.browser.complaints, [])
        self.assertNotEqual(self.browser.evaluate("document.title"), "caught")

    def test_pages_look_as_they_should(self):
        good, bad, running = self.done(HOSTILE, *SHORT), self.done(HOSTILE, *SHORT, "--shape", "none=1"), self.occupy()
        self.look("status", "/")
        self.look("list", "/jobs")
        self.look("running", "/" + running)
        self.look("ended", "/" + good)
        self.look("failed", "/" + bad)
        self.look("report", f"/{good}/report")

    def test_the_page_of_a_job_follows_it(self):
        job = self.occupy()
        self.browser.open(f"{self.url}/{job}")
        self.browser.evaluate("window.mark = 1")
        elapsed = self.browser.evaluate("document.querySelector('main').textContent")
        self.browser.wait_for(f"document.querySelector('main').textContent !== {elapsed!r}")
        self.assert_code(self.quotient("cancel", job), 0)
        self.browser.wait_for("document.querySelector('[data-state]').dataset.state === 'cancelled'")
        self.assertEqual(self.browser.evaluate("window.mark"), 1, "the page was not loaded anew")
        self.assertEqual(self.browser.evaluate("document.getElementById('live').textContent"), "cancelled")
        self.assertEqual(self.browser.complaints, [])

    def test_a_server_that_is_gone_is_told(self):
        self.browser.open(self.url + "/")
        self.assertEqual(self.server.stop(), 0)
        self.browser.wait_for("document.getElementById('live').textContent.startsWith('No answer')")

    def test_without_scripts_the_page_is_loaded_anew(self):
        self.browser.call("Emulation.setScriptExecutionDisabled", value=True)
        job = self.occupy()
        self.browser.open(f"{self.url}/{job}")
        self.assert_code(self.quotient("cancel", job), 0)
        self.browser.wait_for("document.querySelector('[data-state]').dataset.state === 'cancelled'")

    def test_the_keyboard_leads_everywhere(self):
        job = self.done(HOSTILE, *SHORT)
        self.browser.open(self.url + "/")
        links = self.browser.evaluate("[...document.querySelectorAll('a')].map((a) => a.href)")
        reached = []
        for _ in links:
            self.browser.press("Tab")
            self.browser.wait_for("document.activeElement.tagName === 'A'")
            self.assertEqual(self.browser.evaluate("getComputedStyle(document.activeElement).outlineStyle"), "solid")
            reached.append(self.browser.evaluate("document.activeElement.href"))
        self.assertEqual(reached, links)
        self.browser.evaluate(f"document.querySelector('a[href=\"{job}\"]').focus()")
        self.browser.press("Enter")
        self.browser.wait_for(f"location.pathname === '/{job}' && document.querySelector('h2') !== null")


if __name__ == "__main__":
    unittest.main()
