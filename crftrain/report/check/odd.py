"""Odd Unicode: what cannot be seen, or is not what it looks like."""

import re
import unicodedata

import numpy as np

from .findings import Finding, counted, shown

UNSEEN = "\u00ad\u180e\u200b\u200c\u200d\u2060\ufeff"
DIRECTION = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
JOINERS = "\u200c\u200d"  # at home in many scripts, and in emoji; odd at an edge, or between Latin letters
KINDS = {
    "zero-width": (re.compile(f"[{UNSEEN}]"), "characters without width", "they make two words of what looks like one: delete them"),
    "direction": (re.compile(f"[{DIRECTION}]"), "marks of direction", "they make two words of what looks like one: delete them"),
    "control": (re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]"), "control characters", "delete them"),
    "odd-space": (
        re.compile("[\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]"),
        "spaces that part no columns",
        "where a column should end write a tab or a plain space",
    ),
    "damaged": (
        re.compile("[\ufffd\ufffe\uffff\ue000-\uf8ff]"),
        "characters that stand for lost or private ones",
        "read the source anew with its encoding",
    ),
}
_UNSEEN = str.maketrans("", "", UNSEEN + DIRECTION)


def strip_unseen(text):
    return text.translate(_UNSEEN)


def check_unicode(data):
    """Each kind of oddity in each file, the label first."""
    for c in range(data.table.n_columns):
        names = data.table.names(c)
        strange = [k for k, name in enumerate(names) if not (name.isascii() and name.isprintable())]
        if not strange:
            continue
        kinds = {kind: [k for k in strange if _found(kind, names[k])] for kind in KINDS}
        kinds["twice-encoded"] = [k for k in strange if _twice_encoded(names[k])]
        kinds["mixed-scripts"] = [k for k in strange if _mixed_scripts(names[k])]
        kinds["normal-form"] = _other_forms(names, strange)
        for kind, numbers in kinds.items():
            if numbers:
                yield from _tell(data, c, kind, numbers, names)


def _tell(data, c, kind, numbers, names):
    bad = np.zeros(len(names), bool)
    bad[numbers] = True
    what, advice = _WORDS[kind]
    for part in data.parts:
        tokens = np.flatnonzero(bad[part.column(c)])
        if len(tokens):
            where = "labels" if c == data.table.label else f"column {c}"
            yield Finding(
                kind,
                "error" if c == data.table.label else "warning",
                len(tokens),
                f"{what} in {where} of {part.name}: {counted(len(tokens), 'token')}",
                advice,
                part.examples(tokens, lambda t, part=part: shown(names[part.column(c)[t]]), data.most),
            )


_WORDS = {kind: (what, advice) for kind, (_, what, advice) in KINDS.items()} | {
    "twice-encoded": ("text that was encoded twice", "it was UTF-8 and was read as Latin-1: read the source anew"),
    "mixed-scripts": ("letters of two scripts in one word", "letters that look alike are different ones: write the word in one script"),
    "normal-form": ("the same text in two normal forms of Unicode", "write all of it in one form, as NFC"),
}


def _found(kind, text):
    pattern = KINDS[kind][0]
    if kind != "zero-width":
        return pattern.search(text) is not None
    return any(match[0] not in JOINERS or _misplaced(text, match.start()) for match in pattern.finditer(text))


def _misplaced(text, k):
    """Whether a joiner joins nothing, or Latin letters, digits and the like, which are not joined."""
    return k in (0, len(text) - 1) or ord(text[k - 1]) < 0x250 or ord(text[k + 1]) < 0x250


def _twice_encoded(text):
    try:
        return any(ord(c) > 127 for c in text.encode("latin-1").decode("utf-8"))
    except UnicodeError:
        return False


SCRIPTS = ("LATIN", "CYRILLIC", "GREEK")


def _mixed_scripts(text):
    """Latin and Cyrillic in one word, or a Greek letter that looks Latin; one letter of the other script is a symbol or a slip."""
    letters = [c for c in text if c.isalpha()]
    scripts = {script for c in letters for script in SCRIPTS if unicodedata.name(c, "").startswith(script)}
    if scripts >= {"LATIN", "CYRILLIC"}:
        return True
    return scripts >= {"LATIN", "GREEK"} and any(c in "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧο" for c in letters)


def _other_forms(names, strange):
    """Cells that are not in the form NFC, where others that have another form are."""
    composed = [k for k in strange if unicodedata.is_normalized("NFC", names[k])]
    if all(unicodedata.is_normalized("NFD", names[k]) for k in composed):
        return []
    return sorted(set(strange) - set(composed))
