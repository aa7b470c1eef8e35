"""What training leaves and tagging needs: a Model, written whole or not at all, read whatever program wrote it (image.py, foreign/)."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections import defaultdict
from dataclasses import dataclass, field
from dataclasses import replace as replace_fields
from types import MappingProxyType

import numpy as np

from ..chain.layout import Layout, as_array
from ..errors import ModelError, TemplateError
from ..text.encode import Vocabulary
from ..whole import os_errors, replace, try_replace
from . import _container as container
from .image import TAGS, decode, encode


@dataclass(frozen=True)
class Model:
    """What was learnt. Out of a file, attributes are renumbered as layout.number does, those with many labels first."""

    vocabulary: Vocabulary
    layout: Layout
    w: np.ndarray  # float64[F]; out of our files their float32, other programs' may hold doubles
    facts: dict
    size: int = 0  # bytes on disk
    extras: dict = field(default_factory=dict)  # what not every model has (sections.py)

    def arrays(self):
        """The same with numpy's arrays where it has bare memory, which is all that plain tagging takes."""
        return replace_fields(self, layout=self.layout.arrays(), w=as_array(self.w, np.float64))

    @property
    def temperature(self):
        """What scores are divided by before they become probabilities (`learn --calibrate`)."""
        return self.extras.get("temp", {"temperature": 1.0})["temperature"]

    @property
    def calibrated_w(self):
        """The weights whose distribution is to be believed; the best labels are the same."""
        return self.w if self.temperature == 1 else self.arrays().w / self.temperature

    @property
    def active(self):
        """The number of weights that are not zero."""
        return int(np.count_nonzero(self.w))

    def legal(self, **rules):
        """What rules, in the words of Legal.of, allow; `auto` looks at the weights of label pairs. A bare model will do."""
        from ..text.legal import Legal

        layout, pairs = self.layout, defaultdict(float)
        if rules.get("scheme") == "auto":
            pairs.update(zip((divmod(k, layout.n_labels) for k in layout.transition), self.w[layout.transitions], strict=True))
        return Legal.of(self.vocabulary.labels, **rules, transitions=pairs)

    def save(self, path, *, rescue=False):
        """Write it, whole or not at all; the number of bytes."""
        return save(path, self.vocabulary, self.layout, self.w, self.facts, self.extras, rescue=rescue)

    def to_bytes(self):
        """What `save` writes."""
        return b"".join(_image("", self.vocabulary, self.layout, self.w, self.facts, self.extras))

    @classmethod
    def from_bytes(cls, data):
        """The same, back; ModelError for whatever is wrong with it."""
        return _decoded(io.BytesIO(data)).arrays()

    def __reduce__(self):
        return Model.from_bytes, (self.to_bytes(),)


def save(path, vocabulary, layout, w, facts, extras=MappingProxyType({}), *, rescue=False):
    """Write the model, whole or not at all; the number of bytes.

    rescue: where it cannot be written, it goes to a folder for temporary files, and the ModelError says where.
    """
    path = os.fspath(path)
    parts = _image(path, vocabulary, layout, w, facts, extras)
    try:
        replace(path, parts)
    except OSError as error:
        found = f"cannot be written: {error.strerror or error}"
        raise ModelError(path, f"{found}; {_rescued(path, parts)}" if rescue else found) from None
    return sum(map(len, parts))


def _image(path, vocabulary, layout, w, facts, extras):
    """The file in parts."""
    with np.errstate(over="ignore"):
        weights = w.astype(np.float32)
    if not np.isfinite(weights).all():
        raise ModelError(path, f"a weight of {w[~np.isfinite(weights)][0]:g}", "at most 3.4e38, the largest float32")
    extras = {**extras, "form": vocabulary.form} if vocabulary.form else extras
    extras = {**extras, "Rule": vocabulary.legal.said} if vocabulary.legal else extras
    return encode(vocabulary, layout, weights, facts, extras)


def _rescued(path, parts):
    """Where the model is now, in words."""
    import tempfile

    folders = [os.path.expanduser("~")]
    with contextlib.suppress(OSError):
        folders.insert(0, tempfile.gettempdir())
    for folder in folders:
        with contextlib.suppress(OSError), contextlib.ExitStack() as undo:
            own = tempfile.mkdtemp(prefix="crftrain-", dir=folder)
            undo.callback(os.rmdir, own)
            place = os.path.join(own, "model.bin" if path == "-" else os.path.basename(path))
            replace(place, parts)
            undo.pop_all()
            return f"the model is in {place}"
    return f"nor could it be kept in {' or '.join(folders)}"


def check_writable(path):
    """ModelError, now and not after hours of training, if the model cannot be written there. Leaves nothing behind."""
    path = os.fspath(path)
    with os_errors(path, "cannot be written", ModelError):
        try_replace(path)


def load(path):
    """The Model in a file, a pipe or, as `-`, standard input, another program's too; ModelError for whatever is wrong with it."""
    return load_bare(path).arrays()


def load_bare(path):
    """The same with bare memory for arrays, without numpy."""
    path = os.fspath(path)
    place = sys.stdin.fileno() if path == "-" else path
    with os_errors(path, "cannot be read", ModelError), open(place, "rb", closefd=path != "-") as file:
        try:
            if file.peek(len(container.MAGIC)).startswith(container.MAGIC):
                return _decoded(file)
            from . import foreign

            format = foreign.sniff(file.peek(foreign.HEAD))
            return foreign.read(format, file.read()) if format else _decoded(file)
        except TemplateError as error:
            raise ModelError(path, f"damaged: template {error}") from None
        except ModelError as error:
            raise ModelError(path, error.finding, error.expectation) from None


def _decoded(file):
    contents, size = container.read(file, TAGS)
    vocabulary, layout, w, facts, extras = decode(contents, size)
    return Model(vocabulary, layout, w, facts, size, extras)
