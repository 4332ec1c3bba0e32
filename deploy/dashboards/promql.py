"""Finds in a PromQL query what it selects. It is no parser of PromQL: Prometheus checks the grammar."""

import dataclasses
import re

TOKEN = re.compile(r"""
    (?P<space>\s+)
  | (?P<string>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')
  | (?P<range>\[[^\]]*\])
  | (?P<name>[a-zA-Z_:][a-zA-Z0-9_:]*)
  | (?P<number>[0-9][0-9a-zA-Z_.]*)
  | (?P<mark>=~|!~|!=|==|>=|<=|[-+*/%^=<>(){},@.])
""", re.VERBOSE)
MATCHER = re.compile(r'\s*(\w+)\s*(=~|!~|!=|=)\s*"((?:\\.|[^"\\])*)"\s*(?:,|$)')
AGGREGATIONS = {"sum", "min", "max", "avg", "group", "count", "stddev", "stdvar", "topk", "bottomk",
                "quantile", "count_values"}
LABEL_LISTS = {"by", "without", "on", "ignoring", "group_left", "group_right"}
OTHER_WORDS = {"and", "or", "unless", "bool", "offset", "atan2", "inf", "nan"}


@dataclasses.dataclass(frozen=True)
class Matcher:
    label: str
    op: str
    value: str


@dataclasses.dataclass(frozen=True)
class Selector:
    """A metric in a query."""
    name: str
    matchers: tuple
    has_range: bool
    function: str  # The innermost function or aggregation around it; empty if there is none.
    end: int       # Where its name ends, in the query.
    braces: tuple  # Where its matchers begin and end, without the braces; () if there are none.


@dataclasses.dataclass(frozen=True)
class LabelList:
    keyword: str  # by, without, on, ...
    labels: tuple
    depth: int    # In so many parentheses.


def tokens(query):
    found, at = [], 0
    while at < len(query):
        match = TOKEN.match(query, at)
        if match is None:
            raise ValueError(f"not PromQL, at '{query[at:at + 20]}': {query}")
        if match.lastgroup != "space":
            found.append(match)
        at = match.end()
    return found


def matchers_in(text):
    found, at = [], 0
    while at < len(text.rstrip()):
        match = MATCHER.match(text, at)
        if match is None:
            raise ValueError(f"not a list of matchers: {{{text}}}")
        found.append(Matcher(match[1], match[2], match[3].replace("\\\\", "\\")))
        at = match.end()
    return tuple(found)


class Scan:
    """One pass over a query."""

    def __init__(self, query):
        self.query = query
        self.tokens = tokens(query)
        self.at = 0
        self.selectors = []
        self.lists = []
        self.calls = []    # What stands before each parenthesis that is open.
        self.pending = ""  # An aggregation whose parenthesis comes after its list of labels.
        while self.at < len(self.tokens):
            self.step()

    def text(self, ahead=0):
        place = self.at + ahead
        return self.tokens[place][0] if place < len(self.tokens) else ""

    def step(self):
        token = self.tokens[self.at]
        word = token[0]
        if token.lastgroup == "name":
            self.name(word)
            return
        if word == "(":
            self.calls.append(self.pending)
            self.pending = ""
        elif word == ")":
            self.calls.pop()
        self.at += 1

    def name(self, word):
        if word in LABEL_LISTS:
            self.label_list(word)
        elif word.lower() in OTHER_WORDS:
            self.at += 1
        elif word in AGGREGATIONS or self.text(1) == "(":
            self.pending = word
            self.at += 1
        else:
            self.selector(word)

    def label_list(self, keyword):
        self.at += 1
        labels = []
        if self.text() == "(":
            self.at += 1
            while self.text() != ")":
                if self.text() != ",":
                    labels.append(self.text())
                self.at += 1
            self.at += 1
        self.lists.append(LabelList(keyword, tuple(labels), len(self.calls)))

    def selector(self, name):
        end = self.tokens[self.at].end()
        self.at += 1
        braces = ()
        if self.text() == "{":
            start = self.tokens[self.at].end()
            while self.text() != "}":
                self.at += 1
            braces = (start, self.tokens[self.at].start())
            self.at += 1
        has_range = self.at < len(self.tokens) and self.tokens[self.at].lastgroup == "range"
        if has_range:
            self.at += 1
        matchers = matchers_in(self.query[braces[0]:braces[1]]) if braces else ()
        function = next((call for call in reversed(self.calls) if call), "")
        self.selectors.append(Selector(name, matchers, has_range, function, end, braces))


def selectors(query):
    return Scan(query).selectors


def label_lists(query):
    return Scan(query).lists


def with_matchers(query, matchers):
    """The query with further matchers, such as 'job="a"', in each of its selectors."""
    for selector in reversed(selectors(query)):
        if selector.braces:
            end = selector.braces[1]
            added = ("," if selector.matchers else "") + matchers
            query = query[:end] + added + query[end:]
        else:
            query = query[:selector.end] + "{" + matchers + "}" + query[selector.end:]
    return query
