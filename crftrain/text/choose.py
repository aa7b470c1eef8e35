"""Which template suits data in columns: what the columns hold and what the labels are decides.

    1) a column holds   numbers, or characters (nearly all cells are one long), or classes as parts of speech are (few different
                        cells: d^2 <= CLASSES N for d different ones among N), or else words
    2) labelled is      the first column of words or characters; where there is none, column 0
    3) its companion    the first other column of classes or characters, FEW different ones at least: a flag is none

       characters             `seg`      the neighbours are the context
       words alone            `pos`      forms, affixes, shapes, whatever the labels
       words and a companion  `chunk`    where the labels are chunks with few tokens outside: phrases
                              `ner`      for all other labels
       nothing but classes, many columns of them
                              `columns`  each as it stands: pixels, measurements in bins

The built-in templates speak of columns 0 and 1: where the two stand elsewhere the numbers are changed, and all other columns are
added, a token's and its neighbours'. docs/templates.md has what the choice is worth.
"""

import re
from dataclasses import replace

from .template import Template, builtin

CLASSES, FEW = 30, 4
SHARE = 0.9  # of the cells that make a column one of characters, or of numbers
PHRASES = 0.5  # share of tokens outside up to which chunks are phrases
MANY = 8  # columns, from which they are too many to be looked at in neighbours too
CHUNK = rb"[BIESLUMW](-.+)?|O"
NUMBER = rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?"
COLUMN = r"(%[a-zA-Z]\[ *@?[^,\]]*, *)([01])(?= *[,\]])"


def choose(rows, label):
    """The Template for tokens, each a list of cells (bytes), with the label in column `label`; its `why` says why."""
    columns = [k for k in range(len(rows[0])) if k != label]
    held = {k: kind([row[k] for row in rows]) for k in columns}
    word = next((k for k in columns if held[k] in ("words", "characters")), None)
    if word is None and len(columns) > MANY:
        return replace(of_columns(columns), why=f"{len(columns)} columns and none of words")
    word = columns[0] if word is None else word
    different = {k: len({row[k] for row in rows}) for k in columns}
    companion = next((k for k in columns if k != word and held[k] in ("classes", "characters") and different[k] >= FEW), None)
    if held[word] == "characters":
        name, why, companion = "seg", f"single characters in column {word}", None
    elif companion is None:
        name, why = "pos", f"words in column {word} and no classes of them beside the label"
    else:
        name, labels = of_labels([row[label] for row in rows])
        why = f"words in column {word}, their classes in column {companion}, {labels}"
    others = [k for k in columns if k not in (word, companion) and different[k] > 1]
    return replace(adapted(builtin(name), word, companion, others), why=why)


def look_like_items(lines):
    """Whether lines are rather CRFsuite's items than columns: a label, then attributes with tabs between, many or few or named.

    Named are name=value, and name:number where the label is no such thing.
    """
    rows = [line.split(b"\t") for line in lines]
    if any(len(row) < 3 or b" " in line for row, line in zip(rows, lines, strict=True)):
        return False
    named = [cell for row in rows for cell in row[1:]]
    weighted = re.compile(rb"[^:]+:" + NUMBER).fullmatch
    if sum(b"=" in cell or weighted(cell) is not None for cell in named) >= SHARE * len(named):
        return not any(b"=" in row[0] or weighted(row[0]) for row in rows)
    return len({len(row) for row in rows}) > 2


def kind(cells):
    """What a column holds."""
    n, different, number = len(cells), set(cells), re.compile(NUMBER).fullmatch
    if sum(number(cell) is not None for cell in cells) >= SHARE * n:
        return "numbers"
    if len(different) > 10 and sum(len(cell.decode()) == 1 for cell in cells) >= SHARE * n:
        return "characters"
    return "classes" if len(different) ** 2 <= CLASSES * n else "words"


def of_labels(labels):
    """(template, why) where there are words and their classes."""
    outside = sum(label == b"O" for label in labels) / len(labels)
    if not all(map(re.compile(CHUNK).fullmatch, labels)) or labels.count(labels[0]) == len(labels):
        return "ner", "labels that are no chunks"
    if outside <= PHRASES:
        return "chunk", f"labels of phrases ({outside:.0%} of the tokens outside)"
    return "ner", f"labels of entities ({outside:.0%} of the tokens outside)"


def adapted(template, word, companion, others):
    """The template for words and classes in those columns, with lines for others."""
    if word == 0 and companion in (None, 1) and not others:
        return template
    moved = {"0": str(word), "1": str(companion)}
    rows = (0,) if len(others) > MANY else (-1, 0, 1)
    text = re.sub(COLUMN, lambda macro: macro[1] + moved[macro[2]], template.text)
    text += "".join(f"Uc{column}{row:+d}:%x[{row},{column}]\n" for column in others for row in rows)
    looks = [k for k in (word, companion, *others) if k is not None]
    return Template.parse(text, f"{template.name} of column{'s' * (len(looks) > 1)} {', '.join(map(str, looks))}")


def of_columns(columns):
    """A template that takes each column of a token as it stands."""
    text = "".join(f"Uc{column}:%x[0,{column}]\n" for column in columns) + "B\n"
    return Template.parse(text, "columns")
