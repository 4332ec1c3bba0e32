"""The guide: the reference of the API is current, each answer names tests that exist, numbers of the comparison are those
that were measured, and the pages can be rendered as HTML with links that lead somewhere."""

import html.parser
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[2]
GUIDE = ROOT / "deploy" / "guide"
# Pages with what was measured, and how they call rows of the comparison that have other names there.
MEASURED = ["tests/bench/models/RESULTS.md", "tests/bench/models/FAMILIES.md", "tests/e2e/random_models/README.md"]
CALLED = {"median of 26 networks": "Medians over all", "`quotient simplify`": "| quotient |", "OnnxSlim": "onnxslim"}


class Links(html.parser.HTMLParser):
    """What a page of HTML links to or shows, and the headings that can be linked to."""

    def __init__(self, file):
        super().__init__()
        self.links, self.ids, self.tags = [], set(), set()
        self.feed(file.read_text())

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        for name, value in attrs:
            if name in ("href", "src"):
                self.links.append(value)
            if name == "id":
                self.ids.add(value)


def dead_links(site):
    """Those of a rendered guide, as (page, link)."""
    pages = {file: Links(file) for file in site.rglob("*.html")}
    for file, page in pages.items():
        for link in page.links:
            target, _, heading = link.partition("#")
            there = (file.parent / urllib.parse.unquote(target)).resolve() if target else file
            if "://" not in link and (not there.is_file() or heading and heading not in pages[there].ids):
                yield str(file.relative_to(site)), link


class RenderedGuideTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory())).resolve()
        self.site = self.folder / "site"

    def render(self, *options):
        return subprocess.run([sys.executable, GUIDE / "render_pages.py", *options, self.site], capture_output=True,
                              text=True, timeout=300, check=False)

    def test_all_pages_of_the_guide_are_rendered_and_their_links_lead_somewhere(self):
        rendered = self.render()
        self.assertEqual((rendered.returncode, rendered.stderr), (0, ""))
        for page in [*GUIDE.rglob("*.md"), ROOT / "README.md", ROOT / "deploy/kubernetes/README.md"]:
            html_page = Links((self.site / page.relative_to(ROOT)).with_suffix(".html"))
            self.assertLessEqual({"title", "h1"}, html_page.tags)
        self.assertEqual([], list(dead_links(self.site)))
        tasks = Links(self.site / "deploy/guide/TASKS.html")
        self.assertLessEqual({"h2", "pre"}, tasks.tags)
        self.assertIn("table", Links(self.site / "deploy/guide/README.html").tags)
        self.assertIn("deploy/guide/README.html", Links(self.site / "index.html").links)
        self.assertFalse([link for file in self.site.rglob("*.html") for link in Links(file).links
                          if "://" not in link and link.partition("#")[0].endswith(".md")])
        # A folder that is there is not written over.
        self.assertIn("File exists", self.render().stderr)

    def test_what_a_page_says_is_what_is_rendered(self):
        tree = self.folder / "tree"
        (tree / "deploy/guide/empty").mkdir(parents=True)
        (tree / "deploy/picture.svg").write_text("<svg/>")
        (tree / "deploy/OTHER.md").write_text("# Other\n\n## Its `parts`, and more\n")
        (tree / "deploy/guide/README.md").write_text(
            "# A <b> & c\n\n![drawing](../picture.svg) [other](../OTHER.md#its-parts-and-more) [folder](empty)\n"
            "[web](https://example.org/a.md) <script>alert(1)</script>\n\n```\n[code](none.md)\n```\n")
        self.assertEqual("", self.render("--tree", tree).stderr)
        self.assertEqual([], list(dead_links(self.site)))
        self.assertEqual("<svg/>", (self.site / "deploy/picture.svg").read_text())
        text = (self.site / "deploy/guide/README.html").read_text()
        self.assertIn("<title>A &lt;b&gt; &amp; c</title>", text)
        self.assertIn('<a href="../OTHER.html#its-parts-and-more">other</a>', text)
        self.assertIn('<a href="https://example.org/a.md">web</a>', text)
        self.assertIn("[code](none.md)", text)
        self.assertNotIn("<script", text)

    def test_a_link_that_leads_nowhere_is_an_error(self):
        tree = self.folder / "tree"
        (tree / "deploy/guide").mkdir(parents=True)
        (tree / "deploy/guide/README.md").write_text("# Guide\n\n[gone](../gone/PAGE.md)\n")
        rendered = self.render("--tree", tree)
        self.assertEqual((1, "render_pages: deploy/guide/README.md: the link ../gone/PAGE.md leads nowhere\n"),
                         (rendered.returncode, rendered.stderr))


class GuideTest(unittest.TestCase):
    def test_the_reference_of_the_api_is_current(self):
        check = subprocess.run([sys.executable, GUIDE / "api_reference.py", "--check"], capture_output=True, text=True,
                               timeout=60, check=False)
        self.assertEqual((check.returncode, check.stderr), (0, ""))

    def test_the_reference_has_every_call_and_message(self):
        page = (GUIDE / "API.md").read_text()
        for proto in (ROOT / "proto" / "quotient" / "v1").glob("*.proto"):
            for kind, name in re.findall(r"^ *(rpc|message|enum) (\w+)", proto.read_text(), re.MULTILINE):
                with self.subTest(f"{kind} {name}"):
                    self.assertRegex(page, rf"(?m)^### (\w+\.)?{name}$")

    def test_each_answer_names_tests_that_exist(self):
        answers = re.split(r"^## ", (GUIDE / "FAQ.md").read_text(), flags=re.MULTILINE)[1:]
        self.assertEqual([answer.split(".")[0] for answer in answers], [str(i) for i in range(1, 21)])
        for answer in answers:
            with self.subTest(answer.splitlines()[0]):
                _, shown = answer.split("Shown by:")
                files = re.findall(r"`(tests/[^`]+)`\s+\(([^)]*)\)", shown)
                self.assertTrue(files)
                # Nothing of it is in a form that is not looked at here.
                self.assertRegex(re.sub(r"`(tests/[^`]+)`\s+\(([^)]*)\)", "", shown).strip(), r"^[,.\s]*$")
                for file, names in files:
                    text = (ROOT / file).read_text()
                    for name in re.findall(r"`(\w+)`", names):
                        self.assertRegex(text, rf"(TEST(_F|_P)?\(\w+, {name}\)|def {name}\()", file)

    def test_each_number_of_the_comparison_was_measured(self):
        measured = "\n".join((ROOT / page).read_text() for page in MEASURED).splitlines()
        _, compared = (GUIDE / "COMPARISON.md").read_text().split("## What was measured")
        rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in compared.splitlines()
                if re.match(r"\| [^|]+ \| .*\d", line)]
        self.assertGreater(len(rows), 10)
        for name, *numbers in rows:
            called = CALLED.get(name, name)
            wanted = {number for number in numbers if number != "does not load"}
            with self.subTest(name):
                self.assertTrue([line for line in measured if called in line
                                 and wanted <= set(re.findall(r"\d+(?:\.\d+)?", line))], wanted)


if __name__ == "__main__":
    unittest.main()
