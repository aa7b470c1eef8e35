"""Tagging under python-crfsuite's names."""

from __future__ import annotations

import contextlib
import io
import sys

import numpy as np

from ...api.tagger import Tagger as Ours
from ...errors import CrftrainError
from ...model import foreign
from ...model.foreign import crfsuite
from ...model.model import Model
from ._items import plain

HEADER = ("magic", "size", "type", "version", "num_features", "num_labels", "num_attrs")
OFFSETS = ("off_features", "off_labels", "off_attrs", "off_labelrefs", "off_attrrefs")


class ParsedDump:
    """What is in a model: header, labels and attributes with their numbers as text, weights by names."""

    def __init__(self) -> None:
        self.header: dict[str, str] = {}
        self.labels: dict[str, str] = {}
        self.attributes: dict[str, str] = {}
        self.transitions: dict[tuple[str, str], float] = {}
        self.state_features: dict[tuple[str, str], float] = {}


class Tagger:
    """Opens a model, of CRFsuite's format or crftrain's own, and tags."""

    def __init__(self) -> None:
        self._ours: Ours | None = None
        self._xseq = self._marginals = None

    def open(self, name):
        """Open a file; closing the result closes the model."""
        with open(name, "rb") as file:
            return self.open_inmemory(file.read())

    def open_inmemory(self, value):
        """Open a model from its bytes."""
        try:
            model = foreign.read("crfsuite", value) if value.startswith(crfsuite.MAGIC) else Model.from_bytes(value)
        except CrftrainError as error:
            raise ValueError(f"Error opening model: {error}") from None
        self._ours, self._header = Ours(model), value[: crfsuite.HEADER.size]
        self._xseq = self._marginals = None
        return contextlib.closing(self)

    def close(self):
        """Forget the model."""
        self._ours = self._xseq = self._marginals = None

    def labels(self):
        """The labels, in the order of the model."""
        return self._opened().labels

    def set(self, xseq):
        """The sequence for tag, probability and marginal."""
        self._opened()
        self._xseq, self._marginals = list(plain(xseq)), None

    def tag(self, xseq=None):
        """The labels of a sequence, or of the one that was set."""
        if xseq is not None:
            self.set(xseq)
        return self._opened().tag(self._asked())

    def probability(self, yseq):
        """The probability of these labels for the sequence that was set or tagged last."""
        xseq = self._asked()
        if not xseq:
            return 0.0
        if len(yseq) != len(xseq):
            raise ValueError("The numbers of items and labels differ")
        if unknown := set(yseq) - set(self.labels()):
            raise RuntimeError(f"Failed to convert into label identifier: {sorted(unknown)[0]}")
        return self._opened().probability(xseq, yseq)

    def marginal(self, y, pos):
        """The probability of a label at a position of the sequence that was set or tagged last."""
        if self._marginals is None:
            self._marginals = self._opened().marginals(self._asked())
        labels = self.labels()
        if y not in labels:
            raise RuntimeError(f"Failed to convert into label identifier: {y}")
        if not 0 <= pos < len(self._marginals):
            raise RuntimeError(f"The position, {pos} is out of range of {len(self._marginals)}")
        return float(self._marginals[pos, labels.index(y)])

    def dump(self, filename=None):
        """Write the model as text, to standard output without a name."""
        info = self.info()
        out = io.StringIO()
        for title, content in (("FILEHEADER", info.header), ("LABELS", info.labels), ("ATTRIBUTES", info.attributes)):
            rows = [f"  {key}: {value}" if title == "FILEHEADER" else f"  {value:>5}: {key}" for key, value in content.items()]
            out.write("\n".join([f"{title} = {{", *rows, "}", "", ""]))
        for title, weights, kind in (("TRANSITIONS", info.transitions, 1), ("STATE_FEATURES", info.state_features, 0)):
            rows = [f"  ({kind}) {first} --> {second}: {weight:f}" for (first, second), weight in weights.items()]
            out.write("\n".join([f"{title} = {{", *rows, "}", "", ""]))
        if filename is None:
            sys.stdout.write(out.getvalue())
        else:
            with open(filename, "w", encoding="utf-8") as file:
                file.write(out.getvalue())

    def info(self):
        """What is in the model."""
        if self._ours is None:
            raise RuntimeError("The tagger is not opened")
        model, info = self._ours.model, ParsedDump()
        labels, n = model.vocabulary.labels, model.layout.n_labels
        names = [name.decode("utf-8", "replace") for name in model.vocabulary.attributes.names()]
        info.labels = {label: str(j) for j, label in enumerate(labels)}
        info.attributes = {name: str(a) for a, name in enumerate(names)}
        info.header = self._parsed_header()
        owner = np.repeat(np.arange(len(names)), np.diff(model.layout.ptr)).tolist()
        nodes = zip(owner, model.layout.node_labels().tolist(), model.w[: model.layout.ptr[-1]].tolist(), strict=True)
        info.state_features = {(names[a], labels[j]): weight for a, j, weight in nodes}
        edges = zip(model.layout.transition.tolist(), model.w[model.layout.transitions].tolist(), strict=True)
        info.transitions = {(labels[pair // n], labels[pair % n]): weight for pair, weight in edges}
        return info

    def _parsed_header(self):
        header = self._header
        if not header.startswith(crfsuite.MAGIC):
            header = b"".join(crfsuite.image(self._ours.model))[: crfsuite.HEADER.size]
        values = crfsuite.HEADER.unpack(header)
        shown = [value.decode() if isinstance(value, bytes) else str(value) for value in values[: len(HEADER)]]
        return dict(zip((*HEADER, *OFFSETS), (*shown, *(f"0x{value:X}" for value in values[len(HEADER) :])), strict=True))

    def _opened(self):
        if self._ours is None:
            raise ValueError("The tagger is not opened")
        return self._ours

    def _asked(self):
        self._opened()
        if self._xseq is None:
            raise ValueError("No sequence: give one to tag or set")
        return self._xseq
