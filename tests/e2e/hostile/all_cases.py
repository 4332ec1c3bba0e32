"""All cases, by the file that makes them, and the answers that they have to get."""

import dataclasses
import pathlib

import external
import folding
import graphs
import malformed
import nesting
import tensors

TABLES = {table.__name__: table.CASES for table in (malformed, tensors, external, graphs, nesting, folding)}

# What may become of a file, as README.md says.
REFUSED, UNTOUCHED, WORKED_ON = "refused", "untouched", "worked on"


@dataclasses.dataclass(frozen=True)
class Answer:
    kind: str
    reason: str  # Empty if it is worked on.
    words: str  # What an error, or a note of the report, says: it names a field, a node or a limit.


def read_answers(path):
    """Lines "table | case | kind reason | words". Words may be missing, and '#' begins a comment line."""
    answers = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        table, name, verdict, words = [part.strip() for part in line.split("|", 3)]
        kind = next(kind for kind in (REFUSED, UNTOUCHED, WORKED_ON) if verdict.startswith(kind))
        answers[table, name] = Answer(kind, verdict[len(kind):].strip(), words)
    return answers


ANSWERS = read_answers(pathlib.Path(__file__).with_name("answers.txt"))
