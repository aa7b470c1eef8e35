"""CoNLL-2000 as CRFsuite's chunking example makes items of it: `python bench/items.py < train.txt > train.items`.

Columns are word, part of speech, label. An attribute is one template at one position; templates that reach outside the sentence
make none there, and the first and last token have __BOS__ and __EOS__ instead. Names are like w[-1]|w[0]=the|dog.
"""

import sys

WINDOW = range(-2, 3)
TEMPLATES = (
    *((("w", row),) for row in WINDOW),
    *((("w", row), ("w", row + 1)) for row in (-1, 0)),
    *((("pos", row),) for row in WINDOW),
    *((("pos", row), ("pos", row + 1)) for row in (-2, -1, 0, 1)),
    *((("pos", row), ("pos", row + 1), ("pos", row + 2)) for row in (-2, -1, 0)),
)
COLUMN = {"w": 0, "pos": 1}


def attributes(sentence, t):
    """The attributes of token t of [(word, pos, ...), ...], unescaped."""
    names = []
    for template in TEMPLATES:
        if all(0 <= t + row < len(sentence) for _, row in template):
            where = "|".join(f"{field}[{row}]" for field, row in template)
            names.append(where + "=" + "|".join(sentence[t + row][COLUMN[field]] for field, row in template))
    return names + ["__BOS__"] * (t == 0) + ["__EOS__"] * (t == len(sentence) - 1)


def escape(name):
    return name.replace("\\", "\\\\").replace(":", "\\:")


def item_lines(sentence):
    """The lines of one sentence: label TAB attribute TAB attribute ..."""
    for t, (*_, label) in enumerate(sentence):
        yield "\t".join([label, *map(escape, attributes(sentence, t))])


def sentences(lines):
    """Lists of tuples of columns."""
    sentence = []
    for line in lines:
        if columns := line.split():
            sentence.append(tuple(columns))
        elif sentence:
            yield sentence
            sentence = []
    if sentence:
        yield sentence


def convert(source, target):
    """Open text files, CoNLL columns to items."""
    for sentence in sentences(source):
        target.write("\n".join(item_lines(sentence)) + "\n\n")


if __name__ == "__main__":
    convert(sys.stdin, sys.stdout)
