"""What the Dockerfile says of the image that it makes."""

import json
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]


def last_stage():
    """The instructions of the last stage, in order: (word, text), without comments and continued lines."""
    text = re.sub(r"^#.*\n", "", (ROOT / "Dockerfile").read_text(), flags=re.MULTILINE).replace("\\\n", " ")
    lines = [line.split(None, 1) for line in text.splitlines() if line.strip()]
    start = max(i for i, (word, _) in enumerate(lines) if word == "FROM")
    return [(word, rest.strip()) for word, rest in lines[start:]]


def instruction(word):
    """The text of the only instruction of this kind."""
    (text,) = (rest for found, rest in last_stage() if found == word)
    return text


def health_command():
    return json.loads(instruction("HEALTHCHECK").partition("CMD ")[2])


def server_command():
    return json.loads(instruction("ENTRYPOINT")) + json.loads(instruction("CMD"))
