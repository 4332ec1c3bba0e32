"""What the Dockerfile says of the images that it makes: of each stage, with those that it is made from."""

import json
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]


def stages(dockerfile=ROOT / "Dockerfile"):
    """Each stage, in order: its name, or nothing, what it is made from, and its instructions: (word, text), without
    comments and continued lines."""
    text = re.sub(r"^#.*\n", "", dockerfile.read_text(), flags=re.MULTILINE).replace("\\\n", " ")
    found = []
    for line in filter(str.strip, text.splitlines()):
        word, rest = line.split(None, 1)
        if word == "FROM":
            base, _, name = rest.partition(" AS ")
            found.append((name, base, []))
        elif found:
            found[-1][2].append((word, rest.strip()))
    return found


def instructions(stage):
    """Those that make the image of a stage, in order."""
    known = {name: (base, own) for name, base, own in stages()}
    if stage not in known:
        return []
    base, own = known[stage]
    return instructions(base) + own


def instruction(word, stage="runtime"):
    """The text of the last instruction of this kind, which is the one that counts."""
    return [rest for found, rest in instructions(stage) if found == word][-1]


def health_command():
    return json.loads(instruction("HEALTHCHECK").partition("CMD ")[2])


def server_command():
    return json.loads(instruction("ENTRYPOINT")) + json.loads(instruction("CMD"))
