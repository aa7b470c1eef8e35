"""JNLPBA with the features of Tsuruoka, Tsujii, Ananiadou 2009, section 4.2, as far as its columns allow.

Columns are word, part of speech, label. On top of the chunking example's attributes (items.py) a token has the substrings of its
word that are shorter than 10 characters, and its shape: IL-2 is AA-#. The paper's chunk tags are missing, the corpus has none.
"""

import re

from .items import attributes, escape, sentences

LONGEST = 9
SHAPE = ((re.compile("[A-Z]"), "A"), (re.compile("[a-z]"), "a"), (re.compile("[0-9]"), "#"))


def substrings(word):
    """Each once, in order."""
    return dict.fromkeys(word[i:j] for i in range(len(word)) for j in range(i + 1, min(i + LONGEST, len(word)) + 1))


def shape(word):
    for pattern, letter in SHAPE:
        word = pattern.sub(letter, word)
    return word


def convert(source, target):
    """Open text files, CoNLL columns to items."""
    for sentence in sentences(source):
        for t, (word, *_, label) in enumerate(sentence):
            names = [*attributes(sentence, t), *(f"sub={part}" for part in substrings(word)), f"shape={shape(word)}"]
            target.write("\t".join([label, *map(escape, names)]) + "\n")
        target.write("\n")
