"""How probable labels are, in columns: LABEL:0.980000, and a line @probability before the sentence. `sure` is a Sure (tagging/query.py)."""


def shown(labels, sure):
    """Labels with their probabilities, if they are known."""
    if sure is None or sure.labels is None:
        return labels
    return [b"%b:%.6f" % pair for pair in zip(labels, sure.labels, strict=True)]


def head(sure):
    """The line before a sentence, if its probability is known."""
    return b"" if sure is None or sure.whole is None else b"@probability\t%.6g\n" % sure.whole
