"""What scikit-learn asks of an estimator's parameters: they are those of the constructor, kept under their names."""

from __future__ import annotations

import inspect
from typing import Any, TypeVar

Self = TypeVar("Self", bound="Parameters")


class Parameters:
    """get_params, set_params and a repr that shows what differs from the defaults."""

    @classmethod
    def _parameters(cls) -> dict[str, inspect.Parameter]:
        found = inspect.signature(cls.__init__).parameters
        return {name: found[name] for name in sorted(found) if name != "self"}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters of the constructor."""
        return {name: getattr(self, name) for name in self._parameters()}

    def set_params(self: Self, **params: Any) -> Self:
        """Change parameters of the constructor."""
        for name, value in params.items():
            if name not in self._parameters():
                raise ValueError(f"no parameter {name!r} of {type(self).__name__}, expected one of {', '.join(self._parameters())}")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        defaults = self._parameters()
        changed = (f"{name}={value!r}" for name, value in self.get_params().items() if value is not defaults[name].default)
        return f"{type(self).__name__}({', '.join(changed)})"
