"""What cross-validation needs of the sentences besides their numbers: what group each belongs to, and its lines.

A group is what must not be torn apart, for its sentences know of each other: a file, a document, or whatever a column names.
"""

from ..errors import DataError
from ..tagging.tag import joined
from ..text.read import columns
from ..whole import os_errors, replace
from .events import Observer

DOCUMENT = b"-DOCSTART-"  # in the first cell of the line that begins one


class Kept(Observer):
    """Looks at each sentence that is read; writes the predictions of cross-validation beside the lines."""

    def __init__(self, settings):
        self.by, self.path, self.items = settings.group_by, settings.folds_out, settings.format == "items"
        self.groups, self.sentences, self.document = None if self.by is None else [], [], 0
        self.vocabulary, self.places = None, [] if settings.rules else None

    @property
    def wanted(self):
        """Whether there is anything to remember."""
        return self.places is not None or self.by is not None or bool(self.path)

    def look(self, sentence):
        if self.places is not None:
            self.places.append((sentence.source, sentence.number))
        if self.by is not None:
            self.groups.append(self._group(sentence))
        if self.path:
            self.sentences.append(sentence)

    def place(self, i, k):
        """FILE:LINE of token k of sentence i."""
        source, number = self.places[i]
        return f"{source}:{number + k}"

    def keep(self, sentences):
        """Of all that were looked at, only these are learnt from."""
        for name in ("groups", "sentences", "places"):
            if getattr(self, name):
                setattr(self, name, [getattr(self, name)[i] for i in sentences.tolist()])

    def _group(self, sentence):
        if self.by == "file":
            return sentence.source
        row = columns(sentence.lines[0])
        if self.by == "document":
            self.document += row[0] == DOCUMENT
            return f"{sentence.source} {self.document}"
        column = int(self.by)
        if not -len(row) <= column < len(row):
            raise DataError(sentence.place(), f"no column {column} to group by", f"{-len(row)} to {len(row) - 1}")
        return row[column].decode()

    def folded(self, folded):
        """The lines of `tag --marginals best`, with predictions by models that have not seen the sentence."""
        if self.path:
            with os_errors(self.path, "cannot be written"):
                replace(self.path, [b"".join(self._lines(folded.points[folded.best]))])

    def _lines(self, point):
        labels, t = [label.encode() for label in self.vocabulary.labels], 0
        for sentence in self.sentences:
            if point.label[t] < 0:  # of a fold that was not finished
                t += len(sentence.lines)
                continue
            for line in sentence.lines:
                shown = line.partition(b"\t")[0] if self.items else line
                yield joined(shown, b"%b:%.6f\n" % (labels[point.label[t]], point.probability[t]))
                t += 1
            yield b"\n"
