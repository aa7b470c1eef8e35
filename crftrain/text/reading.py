"""What the first sentences decide for all that follow, so that others may read those: columns, the label's place, a template."""

from dataclasses import dataclass
from itertools import chain, islice

from ..errors import DataError
from .encode import NO_SENTENCES, SAMPLE, CorpusBuilder, StringTable, Vocabulary
from .forms import Form
from .read import Sentence, sentences, source_name
from .template import Template


@dataclass(frozen=True)
class Reading:
    """How files are read; any process that has it makes the same of them."""

    template: Template | None
    format: str
    n_columns: int
    label_column: int
    encoding: str
    form: Form | None
    first: Sentence | None  # what the columns were taken from, for errors that speak of it

    @classmethod
    def of(cls, paths, *, template=None, format="conll", label_column=-1, encoding="utf-8", form=None):
        """By the beginning of the files."""
        v = Vocabulary([], StringTable(), StringTable(), template, format, 0, 0, form)
        if format == "items":
            return cls(None, format, 0, 0, encoding, form, None)
        builder, n = CorpusBuilder(v, label_column=label_column), 1 if template else SAMPLE
        for sentence in islice(chain.from_iterable(sentences(path, encoding=encoding, form=form) for path in paths), n):
            builder.add(sentence)
        if builder.first is None:
            raise DataError(source_name(paths[0]), *NO_SENTENCES)
        builder.take()
        return cls(v.template, format, v.n_columns, v.label_column, encoding, form, builder.first)

    def vocabulary(self):
        """One without names."""
        return Vocabulary([], StringTable(), StringTable(), self.template, self.format, self.n_columns, self.label_column, self.form)

    def builder(self):
        return CorpusBuilder(self.vocabulary(), label_column=self.label_column, first=self.first)

    def sentences(self, path):
        return sentences(path, encoding=self.encoding, form=self.form)
