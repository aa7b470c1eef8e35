"""python-crfsuite's names: `from crftrain.compat import pycrfsuite`.

Models are CRFsuite's files, which its own programs read; parameters have its names, defaults and meaning; the objective is its,

    f(w) = sum_i -log p(y_i | x_i)  +  c2 |w|_2^2  +  c1 |w|_1

and L-BFGS stops where it stops. Better than the original: a bare string as a token is refused, and files that are damaged.
"""

from ._items import ItemSequence
from ._tagger import Tagger
from ._trainer import BaseTrainer, CRFSuiteError, Trainer

CRFSUITE_VERSION = "0.12"  # whose files and parameters these are

__all__ = ["CRFSUITE_VERSION", "BaseTrainer", "CRFSuiteError", "ItemSequence", "Tagger", "Trainer"]
