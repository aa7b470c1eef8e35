"""A corpus ready for Problem, by the same steps as `crftrain learn`."""

from crftrain.chain.layout import arrange, number
from crftrain.text.encode import read_corpus
from crftrain.text.template import builtin


def encode(train, format, template, features="full", transitions="full"):
    """(Corpus, Vocabulary, Layout)"""
    corpus, vocabulary = read_corpus((train,), template=builtin(template) if template else None, format=format)
    dense = number(corpus, vocabulary) if features == "observed" else 0
    return corpus, vocabulary, arrange(corpus, vocabulary, features=features, transitions=transitions, dense=dense)
