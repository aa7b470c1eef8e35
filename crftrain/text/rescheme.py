"""Labels of sentences in another tag scheme, as they are read.

Which tag a token has in another scheme is settled by its own label and its two neighbours': they say whether a chunk begins at it and
ends at it. So each triple of labels is worked out once.
"""

from functools import lru_cache

from .read import columns
from .schemes import converted


class Tags(dict):
    """{(label before, label, label after): the label in the scheme}; None at the ends."""

    def __init__(self, scheme):
        super().__init__()
        self.scheme = scheme

    def __missing__(self, triple):
        near = [label.decode() for label in triple if label is not None]
        self[triple] = found = converted(near, self.scheme)[triple[0] is not None].encode()
        return found

    def of(self, labels):
        """The labels of a sentence, as bytes, in the scheme."""
        return [self[triple] for triple in zip([None, *labels], labels, [*labels[1:], None], strict=False)]


tags = lru_cache(Tags)


def relabel(sentence, scheme, column):
    """Lines of columns with the labels of one of them in the scheme; a sentence without that column stays as it is."""
    rows = [columns(line) for line in sentence.lines]
    if not all(len(row) > 1 and -len(row) <= column < len(row) for row in rows):
        return
    for row, label in zip(rows, tags(scheme).of([row[column] for row in rows]), strict=True):
        row[column] = label
    sentence.lines = list(map(b"\t".join, rows))
