"""Sorts C++ sources into batches that can be compiled as one translation unit each.

    batches.py SOURCE...        prints the number of each source's batch, one per line, in their order

A batch is a file that includes its sources one after the other ("unity build"), so that their headers are
read once. What is local to one source is then visible in those behind it. Two sources are therefore
kept apart if a name that is local to one of them (declared in an unnamed namespace, static, or by a using
declaration at the top) occurs in the other, unless both introduce it by the same using declaration. So
nothing is defined twice, and no overload joins a set that it does not belong to: the batches mean what
their sources mean one by one.

The sources are read as tokens and not parsed. That suffices for code that clang-format has
formatted; a name that is overlooked shows as a compiler's error.
"""

import argparse
import itertools
import pathlib
import re

# Sources of more bytes than this in all make no batch: it takes too long at the end of a build, when
# other processors are idle, and too much memory.
MAX_BYTES = 120_000

TOKEN = re.compile(r"""
    R"(?P<mark>\w*)\((?:.|\n)*?\)(?P=mark)"    # texts and characters
  | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])+'
  | //[^\n]* | /\*(?:.|\n)*?\*/                # comments
  | ^[ ]*\#(?:\\\n|[^\n])*                     # directives
  | [A-Za-z_]\w* | \d(?:[\w.]|'\w)*            # words and numbers
  | :: | -> | \S
""", re.VERBOSE | re.MULTILINE)
WORD = re.compile(r"[A-Za-z_]\w*\Z")
TYPE_KEYWORDS = ("class", "struct", "union", "enum", "concept")


def tokens_of(text):
    """The tokens of a source, without comments and directives; texts are '""'."""
    tokens = []
    for match in TOKEN.finditer(text):
        token = match.group()
        if token.startswith(("//", "/*")) or token.lstrip().startswith("#"):
            continue
        tokens.append('""' if token[0] in "\"'" or token.startswith('R"') else token)
    return tokens


def without_template(statement):
    """The statement behind its template<...>, if it begins with one."""
    if statement[:1] != ["template"]:
        return statement
    depth = 0
    for i, token in enumerate(statement[1:], 1):
        depth += (token == "<") - (token == ">")
        if depth == 0:
            return without_template(statement[i + 1:])
    return []


def declared_name(statement):
    """The name that a declaration introduces, None if it is a member's definition."""
    if statement[0] in TYPE_KEYWORDS:
        words = [t for t in statement[1:] if WORD.match(t) and t not in TYPE_KEYWORDS]
        return words[0] if words else None
    depth = 0
    for i, token in enumerate(statement):
        depth += (token == "<") - (token == ">")
        if depth == 0 and i > 0 and token in ("(", "=", "[", "{", ";"):
            return None if statement[i - 2:i - 1] == ["::"] else statement[i - 1]
    return None


class Source:
    """What decides about a source's company: its namespace, local names, using declarations, words."""

    def __init__(self, text):
        tokens = tokens_of(text)
        self.size = len(text)
        self.namespace = ""
        self.local = set()
        self.using = {}  # name -> the declaration that introduces it
        # Names of members and names with a namespace before them find nothing local.
        self.words = {token for before, token in itertools.pairwise([""] + tokens)
                      if WORD.match(token) and before not in (".", "->", "::")}
        self._read(tokens)

    def _read(self, tokens):
        # What is open: names of namespaces ("" if unnamed), and None for all other braces.
        scopes = []
        parentheses = 0
        statement = []
        for i, token in enumerate(tokens):
            if token == "}":
                scope = scopes.pop()
                if None in scopes or parentheses > 0:
                    continue
                # A function's body is an end; behind a class or an initializer there is more.
                if scope is not None or tokens[i + 1:i + 2] not in ([";"], [","], ["("], ["{"]):
                    self._end_of(statement, scopes)
                    statement = []
                continue
            if token == "{" and None not in scopes and parentheses == 0:
                if statement[:1] == ["namespace"]:
                    scopes.append("".join(statement[1:]))
                    self.namespace = self.namespace or scopes[0]
                    statement = []
                    continue
                statement.append(token)
            if token == "{":
                scopes.append(None)
            elif None in scopes:
                continue
            elif token == "(":
                parentheses += 1
                if parentheses == 1:
                    statement.append(token)
            elif token == ")":
                parentheses -= 1
            elif parentheses == 0:
                statement.append(token)
                if token == ";":
                    self._end_of(statement, scopes)
                    statement = []

    def _end_of(self, statement, scopes):
        statement = without_template(statement)
        if len(statement) < 2:
            return
        if statement[0] == "using":
            name = statement[1] if "=" in statement else statement[-2]
            self.using[name] = "".join(statement)
            self.local.add(name)
        elif "" in scopes or statement[0] == "static":
            name = declared_name(statement)
            if name is not None:
                self.local.add(name)


def is_within(inner, outer):
    return (inner + "::").startswith(outer + "::")


def clash(a, b):
    """Whether two sources have to be kept apart."""
    if not is_within(a.namespace, b.namespace) and not is_within(b.namespace, a.namespace):
        return False
    return any(name in other.words and (name not in one.using or one.using[name] != other.using.get(name))
               for one, other in ((a, b), (b, a)) for name in one.local)


def batches_of(sources):
    """The number of each source's batch: the first one where it fits."""
    batches = []
    numbers = []
    for source in sources:
        for number, batch in enumerate(batches):
            if (sum(other.size for other in batch) + source.size <= MAX_BYTES
                    and not any(clash(source, other) for other in batch)):
                break
        else:
            number = len(batches)
            batches.append([])
        batches[number].append(source)
        numbers.append(number)
    return numbers


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sources", metavar="SOURCE", nargs="*", type=pathlib.Path)
    texts = [path.read_text() for path in parser.parse_args().sources]
    print("\n".join(map(str, batches_of([Source(text) for text in texts]))))
