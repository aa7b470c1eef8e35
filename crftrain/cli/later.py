"""Modules that are loaded when something of them is first asked for.

numpy takes longer to load than all that plain tagging needs, which asks nothing of it.
"""

import sys
import threading
from importlib import import_module
from types import ModuleType

_LOCK = threading.RLock()


def later(name):
    """Whoever imports the module from now on gets one that loads it at the first look."""
    sys.modules.setdefault(name, _Later(name))


class _Later(ModuleType):
    def __getattr__(self, attribute):
        with _LOCK:
            name = vars(self)["__name__"]
            if sys.modules.get(name) is self:
                del sys.modules[name]
        module = import_module(name)
        vars(self).update(vars(module))  # the next look finds it at once
        return getattr(module, attribute)
