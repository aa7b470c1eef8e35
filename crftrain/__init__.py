"""crftrain: linear-chain conditional random fields, trained and applied from the command line and from Python.

Importing it changes nothing in the process and loads nothing: each of the names below is fetched when it is first used.
"""

__version__ = "0.1.0"

TYPE_CHECKING = False  # as typing has it, which is not worth its loading

if TYPE_CHECKING:
    from .model.model import Model, load
    from .training.settings import Settings
    from .training.train import train

_HOMES = {
    "Model": "model.model",
    "load": "model.model",
    "Settings": "training.settings",
    "train": "training.train",
}
__all__ = ["Model", "Settings", "load", "train"]


def __getattr__(name):
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = globals()[name] = getattr(import_module(f".{_HOMES[name]}", __name__), name)
    return value


def __dir__():
    return sorted({*globals(), *_HOMES})
