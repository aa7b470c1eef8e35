"""crftrain: linear-chain conditional random fields, trained and applied from the command line and from Python.

Importing it changes nothing in the process and loads nothing: each of the names below is fetched when it is first used.
"""

__version__ = "0.2.0"

TYPE_CHECKING = False  # as typing has it, which is not worth its loading

if TYPE_CHECKING:
    from . import metrics
    from .api.callbacks import EarlyStopping, History, ProgressBar
    from .api.dataset import Dataset
    from .api.estimator import CRF
    from .api.tagger import Tagger
    from .model.model import Model, load
    from .training.settings import Settings
    from .training.train import train

_HOMES = {
    "CRF": "api.estimator",
    "Dataset": "api.dataset",
    "EarlyStopping": "api.callbacks",
    "History": "api.callbacks",
    "Model": "model.model",
    "load": "model.model",
    "ProgressBar": "api.callbacks",
    "Settings": "training.settings",
    "Tagger": "api.tagger",
    "train": "training.train",
}
__all__ = [
    "CRF",
    "Dataset",
    "EarlyStopping",
    "History",
    "Model",
    "ProgressBar",
    "Settings",
    "Tagger",
    "load",
    "metrics",
    "train",
]


def __getattr__(name):
    from importlib import import_module

    if name == "metrics":
        return import_module(".metrics", __name__)
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f".{_HOMES[name]}", __name__), name)
    return value


def __dir__():
    return sorted({*globals(), *__all__})
