"""What a check finds: a kind, how bad it is, how often, where, and what to do about it.

error     a model cannot be learnt, or would be worth nothing, or a label is surely wrong         status 1
warning   probably a fault of the data; the examples tell                                        status 0
note      a number one should know
"""

from dataclasses import dataclass, field

from ...text.printable import printable

SEVERITIES = ("error", "warning", "note")
SHOWN = 5  # examples of a finding, unless more are asked for


@dataclass(frozen=True)
class Example:
    place: str  # FILE:LINE
    text: str

    def as_json(self):
        file, _, line = self.place.rpartition(":")
        return {"file": file, "line": int(line), "text": self.text} if file else {"file": self.place, "line": None, "text": self.text}


@dataclass
class Finding:
    kind: str
    severity: str
    count: int  # of what the message speaks of
    message: str
    advice: str = ""
    examples: list = field(default_factory=list)

    def as_json(self):
        examples = [example.as_json() for example in self.examples]
        return {
            "kind": self.kind,
            "severity": self.severity,
            "count": self.count,
            "message": self.message,
            "advice": self.advice,
            "examples": examples,
        }


def ranked(findings):
    """The worst first, then the most frequent."""
    return sorted(findings, key=lambda finding: (SEVERITIES.index(finding.severity), -finding.count, finding.kind))


def shown(text, most=60):
    """A piece of the data for a terminal, cut if it is long."""
    return printable(text, most)


def counted(n, singular, plural=None):
    """1 line, 2 lines."""
    return f"{n:,} {singular if n == 1 else plural or singular + 's'}"
