"""Text for people."""

from __future__ import annotations


def printable(text: str) -> str:
    """`text` without control characters other than line ends and tabs: names of models and what servers say
    must not control the user's terminal."""
    return "".join(c if c in "\n\t" or not ("\x00" <= c < "\x20" or "\x7f" <= c < "\xa0") else "?" for c in text)


def counted(count: int, noun: str) -> str:
    return f"{count} {noun}" + ("" if count == 1 else "s")
