"""Objects in one JSON list, over any number of lines -> the line of each.

    [ value , value , .. ]       SIGNS says what may follow each of these

What arrives is read as it comes, and an object that has not arrived whole is kept.
"""

import json
import re

from .forms import wrong
from .read import LINE

BLANK = re.compile(r"[ \t\r\n]*")
READ = json.JSONDecoder().raw_decode
SIGNS = {"": ("[", False), "[": ("]", True), "value": (",]", False), ",": ("", True), "]": ("", False)}  # signs, whether a value
EXPECTED = "a list of objects, or an object a line"


def begins(line):
    """Whether the first line that is not blank begins a list of objects; spaCy's ["text", {..}] is a sentence of its own."""
    line = line.lstrip()
    return line.startswith(b"[") and not line[1:].lstrip().startswith(b'"')


class Items:
    """What a list has, as it arrives in texts of whole lines."""

    def __init__(self, number):
        self.rest, self.number, self.last = "", number, ""  # not read yet; the line that it begins in; what came last, a name in SIGNS

    def read(self, text, source):
        """Yield (a value as bytes of one line, the number of the line that it begins in)."""
        rest, at, passed = self.rest + text.decode() + "\n", 0, 0
        while True:
            at = BLANK.match(rest, at).end()
            self.number += rest.count("\n", passed, at)
            passed = at
            signs, value = SIGNS[self.last]
            if at == len(rest):
                break
            if rest[at] in signs:
                self.last, at = rest[at], at + 1
                continue
            end = self._end(rest, at, source) if value else None
            if end is None and value:
                break
            if end is None:
                raise wrong(source, self.number, f"{rest[at]!r} in a list of JSON", EXPECTED)
            yield re.sub(r"\s*\n\s*", " ", rest[at:end]).encode(), self.number  # no text of JSON goes over lines
            self.last, at = "value", end
        self.rest = rest[at:]
        if len(self.rest) > LINE:
            raise wrong(source, self.number, f"an object of more than {LINE:,} characters", "shorter ones")

    def _end(self, rest, at, source):
        """Where the value at that place ends; None: it has not arrived whole, for nothing is wrong up to the end of what has."""
        try:
            return READ(rest, at)[1]
        except json.JSONDecodeError as error:
            if error.pos >= len(rest.rstrip()):
                return None
            raise wrong(source, self.number + rest.count("\n", at, error.pos), f"JSON that is wrong: {error.msg}", EXPECTED) from None
        except RecursionError:
            raise wrong(source, self.number, "JSON that is too deep", EXPECTED) from None

    def end(self, source):
        """Refuse a list that has not ended."""
        if self.last != "]" or self.rest.strip():
            raise wrong(source, self.number, "a list of JSON that does not end", EXPECTED)
