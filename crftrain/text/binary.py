"""What a file is that is no text, by its first bytes: for an error that would else speak of one byte of it."""

import os

UTF_16 = "text in UTF-16, by its mark"
KINDS = (
    (b"\x89CRFTRN\n", "a model or a checkpoint of crftrain"),
    (b"lCRF", "a model of CRFsuite"),
    (b"\xff\xfe", UTF_16),
    (b"\xfe\xff", UTF_16),
    (b"PK\x03\x04", "a zip archive, as .docx and .xlsx are"),
    (b"\x28\xb5\x2f\xfd", "a zstd archive"),
    (b"%PDF", "a PDF document"),
    (b"\x89PNG", "a picture"),
    (b"\x93NUMPY", "an array of numpy"),
    (b"\x80\x03", "a pickle of Python"),
    (b"\x80\x04", "a pickle of Python"),
    (b"\x80\x05", "a pickle of Python"),
)


def kind(path):
    """In words; an empty string for what begins like text or like nothing known, and for what cannot be read twice."""
    if not os.path.isfile(path):
        return ""
    with open(path, "rb") as file:
        head = file.read(8)
    return next((words for magic, words in KINDS if head.startswith(magic)), "")
