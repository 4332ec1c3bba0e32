#!/usr/bin/env python3
"""Makes the links of packaged pages lead to what is in the package.

    links.py TREE

Pages below TREE have the folders that they have in the sources. A link to a file or a folder that TREE lacks becomes
text that names it as a part of the sources; all other links stay as they are.
"""

import argparse
import os
import pathlib
import re

# Blocks of code, in which brackets are no links.
FENCE = re.compile(r"(^[ ]*```.*?^[ ]*```)", re.MULTILINE | re.DOTALL)
# The text, which may have brackets itself, the target without its heading, and the heading.
LINK = re.compile(r"\[((?:[^][]|\[[^][]*\])*)\]\(([^)#\s]+)(#[^)\s]*)?\)")


def without_dead_links(tree, page, text):
    """The text of a page, given as a path below the tree."""
    def replacement(link):
        name, target, _ = link.groups()
        path = os.path.normpath(os.path.join(page.parent, target))
        if "://" in target or (tree / path).exists():
            return link[0]
        parent = os.path.dirname(path)
        if name.strip("`/") in (path, os.path.basename(path), parent, os.path.basename(parent)):
            return f"`{path}` of the sources"
        return f"{name} (`{path}` of the sources)"

    parts = FENCE.split(text)
    return "".join(part if FENCE.fullmatch(part) else LINK.sub(replacement, part) for part in parts)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tree", metavar="TREE", type=pathlib.Path)
    tree = parser.parse_args().tree
    for page in tree.rglob("*.md"):
        text = page.read_text()
        mended = without_dead_links(tree, page.relative_to(tree), text)
        if mended != text:
            page.write_text(mended)


if __name__ == "__main__":
    main()
