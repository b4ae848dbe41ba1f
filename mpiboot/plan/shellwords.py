"""The simple commands of a plain shell script, as words: enough to see which programs it starts."""

from __future__ import annotations

import re
from collections.abc import Iterator

_TOKEN = re.compile(
    r"""
      (?P<joined>\\\n)
    | (?P<heredoc><<-?\s*(?P<quote>['"]?)(?P<mark>\w+)(?P=quote))
    | (?P<redirect>\d*(?:<<<|&>>|&>|>>|>\||>&|<&|<>|>|<)(?!\())
    | (?P<end>;;|&&|\|\||\|&|[;&|()`\n]|[<>]\()
    | (?P<blank>[ \t\r]+)
    | (?P<escaped>\\(?P<plain>.))
    | (?P<single>'(?P<literal>[^']*)')
    | (?P<double>"(?P<text>(?:\\.|[^"\\])*)")
    | (?P<braces>\$\{[^}]*\})
    | (?P<part>[^\s;&|()<>'"`\\$\#]+|.)
    """,
    re.VERBOSE | re.DOTALL,
)
_SUBSTITUTED = re.compile(r"\$\(|`")


def commands(script: str) -> Iterator[list[str]]:
    """Yield each simple command as its words, quotes removed; redirections and comments are left out.

    What a command substitution runs is a command of its own. Nothing is expanded, and structure
    (`if`, `for`, functions) shows as words like `then`; a text that is no shell script gives
    some words, too, and no error.
    """
    texts = [script]
    while texts:
        reader = _Reader(texts.pop())
        yield from reader.commands()
        texts += reader.substituted


class _Reader:
    """One pass over one text.

    Attributes:
        substituted: texts inside double quotes that hold further commands.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._words: list[str] = []
        self._word: str | None = None
        self._skips = False
        self._marks: list[str] = []
        self.substituted: list[str] = []

    def commands(self) -> Iterator[list[str]]:
        while self._at < len(self._text):
            if self._word is None and self._text[self._at] == "#":
                self._at = self._line_end()
                continue
            match = _TOKEN.match(self._text, self._at)
            if match is None:  # cannot be: `part` takes any character
                break
            self._at = match.end()
            if match["end"]:
                yield from self._ended(match["end"])
            else:
                self._take(match)
        yield from self._ended("")

    def _take(self, match: re.Match[str]) -> None:
        if match["blank"]:
            self._finish_word()
        elif match["heredoc"]:
            self._finish_word()
            self._marks.append(match["mark"])
        elif match["redirect"]:
            self._finish_word()
            self._skips = True
        elif match["double"] is not None:
            self._add(re.sub(r"\\(.)", r"\1", match["text"], flags=re.DOTALL))
            found = _SUBSTITUTED.search(match["text"])
            if found:
                self.substituted.append(match["text"][found.end() :])
        elif match["single"] is not None:
            self._add(match["literal"])
        elif not match["joined"]:
            self._add(match["plain"] or match[0])

    def _add(self, text: str) -> None:
        self._word = (self._word or "") + text

    def _finish_word(self) -> None:
        if self._word is not None and not self._skips:
            self._words.append(self._word)
        if self._word is not None:
            self._skips = False
        self._word = None

    def _ended(self, end: str) -> Iterator[list[str]]:
        self._finish_word()
        self._skips = False
        if self._words:
            yield self._words
        self._words = []
        if end == "\n":
            self._skip_documents()

    def _skip_documents(self) -> None:
        for mark in self._marks:
            while self._at < len(self._text):
                start, self._at = self._at, self._line_end() + 1
                if self._text[start : self._at].strip() == mark:
                    break
        self._marks = []

    def _line_end(self) -> int:
        found = self._text.find("\n", self._at)
        return len(self._text) if found < 0 else found
