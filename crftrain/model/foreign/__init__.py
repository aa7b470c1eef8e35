"""Models of other programs: one module for each file format, with NAME, MAGIC, read(bytes), refusals(model), remarks(model), image(model).

What they read becomes a Model like any other; what they write is what their own programs would have written of the same weights.
The bytes of a file are believed nothing: a damaged one is a ModelError, whatever is wrong with it.
"""

import os
from importlib import import_module

from ...errors import CrftrainError, ModelError
from ...whole import os_errors, replace

FORMATS = ("crfsuite", "wapiti", "crfpp", "crfpp-text")
HEAD = 16  # bytes that tell what a file is


def named(format):
    """The module of a format."""
    return import_module(f".{format.replace('-', '_')}", __name__)


def sniff(head):
    """The format of a file that begins so, or None."""
    return next((format for format in FORMATS if head.startswith(named(format).MAGIC)), None)


def read(format, data):
    """The Model in the bytes of a file."""
    try:
        return named(format).read(data)
    except ModelError as error:
        finding = f"a {named(format).NAME} model, {error.finding}"
        raise ModelError("", finding, error.expectation) from None
    except CrftrainError as error:  # of its template
        raise ModelError("", f"a {named(format).NAME} model; its template: {error}") from None


def image(format, model):
    """The file in parts; a ModelError with all that the format cannot say."""
    writer = named(format)
    lost = list(writer.refusals(model))
    lost += ["which labels are legal"] if model.vocabulary.legal is not None else []
    if lost:
        more = [f"and {len(lost) - 5} more"] if len(lost) > 5 else []
        raise ModelError("", f"cannot be said in a {writer.NAME} model: " + "; ".join([*lost[:5], *more]))
    return writer.image(model)


def export(model, path, format):
    """Write the model as a file of that format, ours if it is "crftrain", whole or not at all; the number of bytes."""
    path = os.fspath(path)
    if format == "crftrain":
        return model.save(path)
    if format not in FORMATS:
        raise ValueError(f"format {format!r}, expected crftrain or one of {', '.join(FORMATS)}")
    parts = image(format, model)
    with os_errors(path, "cannot be written", ModelError):
        replace(path, parts)
    return sum(map(len, parts))


def remarks(format, model):
    """What whoever uses the exported file has to know, as sentences."""
    return list(named(format).remarks(model))
