"""Pages name what is there: links with their headings, files in backticks, and the C++ that CONTRIBUTING.md quotes.

Run it in the root of the repository. Prints a line per mistake; the exit status is 1 if there is one.
"""

import os
import pathlib
import re
import sys

FOLDERS = [".ci", "client", "core", "deploy", "proto", "server", "tests"]
FENCE = re.compile(r"^[ ]*```(\w*)\n(.*?)^[ ]*```", re.MULTILINE | re.DOTALL)
# The target, which is empty in a link within a page, and the heading.
LINK = re.compile(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)")
HEADING = re.compile(r"^#{1,6} +(.*)$", re.MULTILINE)
# A path of at least two parts with an ending. Capital letters stand for any name: cases/FAMILY.txt.
FILE = re.compile(r"`([\w.-]+(?:/[\w.-]+)*/[a-z0-9_.-]+\.(?:cc|h|py|sh|txt|md|proto|cmake))`")


def files(root):
    """All files of the repository, as paths with slashes, and all folders."""
    found = {path.name for path in root.iterdir() if path.is_file()}
    for folder in FOLDERS:
        found.update(str(path.relative_to(root)) for path in (root / folder).rglob("*") if path.is_file())
    folders = {str(parent) for name in found for parent in pathlib.PurePath(name).parents}
    return found, folders


def squeezed(text):
    return re.sub(r"\s+", "", text)


def headings(root, page):
    """What links call the headings of a page: as GitHub does, without punctuation and in small letters."""
    found = HEADING.findall(FENCE.sub("", (root / page).read_text()))
    texts = [re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading) for heading in found]
    return {re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-") for text in texts}


def wrong_links(root, page, prose, there):
    here = os.path.dirname(page)
    for target, heading in LINK.findall(prose):
        if "://" in target or not (target or heading):
            continue
        path = os.path.normpath(os.path.join(here, target)) if target else page
        if path not in there:
            yield f"{page}: the link {target} leads nowhere"
        elif heading and path.endswith(".md") and heading not in headings(root, path):
            yield f"{page}: {path} has no heading {heading}"


def mistakes(root):
    found, folders = files(root)
    for page in sorted(name for name in found if name.endswith(".md")):
        text = (root / page).read_text()
        here = os.path.dirname(page)
        prose = FENCE.sub("", text)
        yield from wrong_links(root, page, prose, found | folders)
        for name in FILE.findall(prose):
            if name not in found and os.path.normpath(os.path.join(here, name)) not in found:
                yield f"{page}: there is no file {name}"
    code = "".join(squeezed((root / name).read_text()) for name in sorted(found)
                   if name.endswith((".cc", ".h")))
    for language, block in FENCE.findall((root / "CONTRIBUTING.md").read_text()):
        for part in block.split("...") if language == "cpp" else ():
            if squeezed(part) not in code:
                yield f"CONTRIBUTING.md: no source has the lines\n{part.rstrip()}"


def main():
    found = list(mistakes(pathlib.Path(".")))
    print("\n".join(found) or "pages: ok")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
