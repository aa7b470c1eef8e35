"""Rows of columns tagged in compiled code: Python objects -> lines -> label numbers, the second step without Python's lock."""

from __future__ import annotations

from contextlib import suppress

import numpy as np

from ..errors import DataError
from ..model.model import Model
from ..tagging._plain import Plain
from ..tagging.tag import Output, is_plain
from ..text._objects import lines_of
from ..text.encode import Encoder
from .dataset import rows_of


def suits(model: Model) -> bool:
    """Whether compiled code can tag what the model was learnt from."""
    return model.vocabulary.template is not None and is_plain(model, Output())


class PlainRows:
    """Serves one thread."""

    def __init__(self, model: Model):
        self.vocabulary, self.plain = model.vocabulary, Plain(model)
        self.widths: dict = {}  # columns of the rows -> what Plain has to know of them

    def labels(self, X: list) -> np.ndarray | None:
        """int32: the label numbers of all tokens; None where something is odd, and whoever goes through the Encoder will know what."""
        found = lines_of(X)
        if found is None:
            return None
        text, columns = found
        if columns < 0:
            return np.empty(0, np.int32)
        if columns not in self.widths:
            with suppress(DataError):
                first = next(xseq for xseq in X if len(xseq))
                self.widths[columns] = Encoder(self.vocabulary).width(rows_of(first, None, 0))
        width = self.widths.get(columns)
        numbers = None if width is None else self.plain.numbers(text, *width)
        return None if numbers is None else np.frombuffer(numbers, np.int32)
