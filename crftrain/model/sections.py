"""What only some models have: sections of a model file after the ten that all have, each with a tag of its own (format 2).

A tag that begins with a capital is of what a model means (which labellings are legal, how macros are spelt): whoever does not know it
must not use the model. One that begins with a small letter may be left out (remarks, a temperature for probabilities).

To add one: a line in KNOWN. Its value is in Model.extras under the tag, out of `read`, which is given bytes of any kind and raises
ValueError for what it does not understand; `write` makes bytes of the value. A section is not there where there is no value.
"""

import json
from collections.abc import Callable
from typing import Any, NamedTuple

from ..errors import ModelError
from ..text.forms import Form
from ..text.legal import SCHEMES


class Section(NamedTuple):
    """How the value of a section is written and read."""

    write: Callable[[Any], bytes]
    read: Callable[[bytes], Any]


def _read_json(content):
    try:
        return json.loads(content)
    except RecursionError:
        raise ValueError("JSON in too many brackets") from None


JSON = Section(lambda value: json.dumps(value, separators=(",", ":"), sort_keys=True, allow_nan=False).encode(), _read_json)

FORM = Section(lambda form: JSON.write(form.as_json()), lambda content: Form.from_json(JSON.read(content)))  # of data, not columns


def _read_rules(content):
    """The words that Legal.of takes."""
    said = JSON.read(content)
    lists = isinstance(said, dict) and [said.get("forbid", []), said.get("allow", [])]
    if not lists or said.keys() - {"scheme", "forbid", "allow"} or said.get("scheme") not in (None, *SCHEMES):
        raise ValueError("no rules of what is legal")
    if not all(isinstance(one, list) and all(isinstance(pattern, str) for pattern in one) for one in lists):
        raise ValueError("no pairs of labels")
    return said


RULES = Section(JSON.write, _read_rules)  # which labellings there are: the distribution is over no others


def _read_temperature(content):
    found = JSON.read(content)
    value = found.get("temperature") if isinstance(found, dict) else None
    if type(value) not in (int, float) or not 1e-6 <= value <= 1e6:
        raise ValueError("no temperature")
    return found


TEMPERATURE = Section(JSON.write, _read_temperature)  # probabilities are those of weights divided by it

KNOWN: dict[str, Section] = {"form": FORM, "Rule": RULES, "temp": TEMPERATURE}


def must_be_known(tag):
    return tag[:1].isupper()


def written(extras):
    """{tag: content} in the order of the file."""
    return {tag.encode(): KNOWN[tag].write(extras[tag]) for tag in sorted(extras)}


def read(contents):
    """{tag: value} of the sections that are known; a ModelError for one that had to be known, or is damaged."""
    extras = {}
    for tag, content in contents.items():
        name = tag.decode("ascii", "replace")
        if name in KNOWN:
            try:
                extras[name] = KNOWN[name].read(bytes(content))
            except ValueError as error:
                raise ModelError("", f"damaged: section {name}: {error}") from None
        elif must_be_known(name):
            raise ModelError("", f"section {name}, without which the model means something else", "a newer crftrain")
    return extras
