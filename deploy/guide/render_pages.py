#!/usr/bin/env python3
"""Renders the guide as a folder of HTML, for reading without an editor: each page that can be reached from
deploy/guide/README.md, with links that need no server.

    build/deps/package/bin/python deploy/guide/render_pages.py [--tree DIR] OUTPUT

A page is OUTPUT/FOLDER/NAME.html; OUTPUT/index.html leads to the guide. Pictures and other files that pages link to are
copied. OUTPUT must not exist yet. DIR is the root of the sources, or share/quotient of a package; default: these sources. A link that
leads nowhere is an error. markdown-it-py comes with deploy/setup/install.sh --with-package.
"""

import argparse
import html
import os
import pathlib
import re
import shutil
import sys
import urllib.parse

import markdown_it

ROOT = pathlib.Path(__file__).resolve().parents[2]
GUIDE = pathlib.PurePosixPath("deploy/guide/README.md")

PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ max-width: 64rem; margin: 1rem auto; padding: 0 1rem; font: 1rem/1.5 system-ui, sans-serif; }}
nav {{ font-size: 0.875rem; }}
pre {{ overflow-x: auto; padding: 0.75rem; border: 1px solid color-mix(in srgb, currentColor 30%, transparent); }}
table {{ display: block; overflow-x: auto; border-collapse: collapse; }}
th, td {{ padding: 0.25rem 0.75rem; text-align: left; vertical-align: top; }}
tr {{ border-bottom: 1px solid color-mix(in srgb, currentColor 30%, transparent); }}
img {{ max-width: 100%; }}
</style>
</head>
<body>
<nav><a href="{guide}">Guide</a> · {page}</nav>
<main>
{body}</main>
</body>
</html>
"""
INDEX = """<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<title>Quotient</title>
<meta http-equiv="refresh" content="0; url={guide}">
<p><a href="{guide}">Guide</a></p>
</html>
"""


class DeadLink(Exception):
    pass


def html_name(page):
    return page.with_suffix(".html")


def heading_id(heading):
    """What links call a heading: the same as GitHub."""
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading)
    return re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")


class Site:
    def __init__(self, tree, output):
        self.tree = tree
        self.output = output
        # CommonMark and tables, as GitHub reads pages. HTML in pages is shown as text.
        self.markdown = markdown_it.MarkdownIt("commonmark", {"html": False}).enable("table")
        self.pages = [GUIDE]  # In the order in which they are found; each is rendered once.

    def render(self):
        for page in self.pages:  # which grows meanwhile
            self.render_page(page)
        (self.output / "index.html").write_text(INDEX.format(guide=html_name(GUIDE)))

    def render_page(self, page):
        tokens = self.markdown.parse((self.tree / page).read_text())
        title = str(page)
        headings = [(token, tokens[i + 1].content) for i, token in enumerate(tokens) if token.type == "heading_open"]
        for number, (token, heading) in enumerate(headings):
            token.attrSet("id", heading_id(heading))
            if number == 0:
                title = heading
        for token in tokens:
            for child in token.children or ():
                if child.type == "link_open":
                    self.lead(page, child, "href")
                elif child.type == "image":
                    self.lead(page, child, "src")
        file = self.output / html_name(page)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(PAGE.format(title=html.escape(title), guide=self.relative(page, html_name(GUIDE)), page=page,
                                    body=self.markdown.renderer.render(tokens, self.markdown.options, {})))

    def lead(self, page, token, attribute):
        """Makes a link of a page lead to what is in the output."""
        link = token.attrGet(attribute)
        target, mark, heading = link.partition("#")
        if "://" in link or not target:
            return
        path = pathlib.PurePosixPath(os.path.normpath(page.parent / urllib.parse.unquote(target)))
        if (self.tree / path / "README.md").exists():
            path /= "README.md"
        there = self.tree / path
        if there.is_dir():
            del token.attrs[attribute]  # Nothing to show of a folder: its name stays.
        elif there.is_file() and ".." not in path.parts:
            token.attrSet(attribute, self.relative(page, self.take(path)) + mark + heading)
        else:
            raise DeadLink(f"{page}: the link {link} leads nowhere")

    def take(self, path):
        """Sees to it that the output has a file of the tree, and returns its name there."""
        if path.suffix == ".md":
            if path not in self.pages:
                self.pages.append(path)
            return html_name(path)
        file = self.output / path
        file.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(self.tree / path, file)
        return path

    @staticmethod
    def relative(page, path):
        return urllib.parse.quote(os.path.relpath(path, page.parent))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tree", type=pathlib.Path, default=ROOT)
    parser.add_argument("output", type=pathlib.Path)
    arguments = parser.parse_args()
    try:
        arguments.output.mkdir(parents=True)
        Site(arguments.tree, arguments.output).render()
    except (DeadLink, FileExistsError) as error:
        sys.exit(f"render_pages: {error}")


if __name__ == "__main__":
    main()
