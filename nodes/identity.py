"""Identity: what tells one verifier, model or setting from another one.

The hash of a validation plan covers it, so it reads the same in every process that runs the same code: no address, no
order of a set, no place in a file. Nor may it change while the thing works. So what code assigns itself, and what is in
a list, dict or set, is taken for its state and left out.
"""

from __future__ import annotations

import datetime
import dis
import functools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from pathlib import PurePath
from types import CellType, CodeType, FunctionType, MethodType
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import Runnable
from langgraph.pregel import Pregel
from pydantic import BaseModel

from langgraph_recursive.state._model import canonical_json, sha256

__all__ = ("identity_of", "model_identity", "repr_of")

_PLAIN = (int, float, complex, bytes, Decimal, Fraction, datetime.date, datetime.time, datetime.timedelta, PurePath)
_CONTAINERS = (list, dict, set)
_LIBRARIES = ("builtins", "langchain", "langchain_core", "langgraph", "langgraph_recursive", "pydantic")
_STORES = ("STORE_ATTR", "STORE_DEREF", "STORE_GLOBAL")
_MAKERS = ("__init__", "__new__", "__post_init__")


def identity_of(target: Any) -> str:
    """Tell a part from any other one, and from itself after a change, as a hash.

    Of a function its code counts, with its defaults, the values that it closes over, and the functions, classes and
    constants of its own module that it names. Of an object its class counts likewise, with its attributes; of a
    Runnable what it is put together from; of a chat model its class, name and settings. Code of other modules, and
    objects inside objects, are known by their names only.
    """
    return sha256(canonical_json(_Description().of(target)))


def model_identity(model: Any) -> str:
    """Tell a model from another one: its class, provider, name and settings as LangChain knows them."""
    bound = getattr(model, "bound", None)
    if bound is not None:
        return canonical_json({"bound": model_identity(bound), "settings": repr_of(getattr(model, "kwargs", {}))})
    known: Mapping[str, Any] = model._get_ls_params() if isinstance(model, BaseChatModel) else {}
    name = getattr(model, "name", None)
    settings = {key: repr(value) for key, value in known.items()}
    return canonical_json({"class": _name(type(model)), "name": str(name or ""), "settings": settings})


def repr_of(value: Any) -> str:
    """Write settings so that the same ones read the same in another process."""
    return canonical_json(_Description().inner(value))


class _Description:
    """Describes values as JSON; what comes up a second time by its name."""

    def __init__(self) -> None:
        self._seen: set[int] = set()

    def of(self, target: Any) -> Any:
        """Describe a part: of an object its class and attributes too."""
        known = id(target) in self._seen
        found = self.inner(target)
        return self._object(target) if found == _name(type(target)) and not known else found

    def inner(self, value: Any) -> Any:
        """Describe a value inside another one: of an object only whose it is."""
        if value is None or isinstance(value, bool | str):
            return value
        if isinstance(value, Enum):
            return [_name(type(value)), value.name]
        if isinstance(value, _PLAIN):
            return repr(value)
        if isinstance(value, re.Pattern):
            return [repr(value.pattern), value.flags]
        if isinstance(value, Mapping):
            return _sorted([self.inner(key), self.inner(item)] for key, item in value.items())
        if isinstance(value, set | frozenset):
            return _sorted(map(self.inner, value))
        if isinstance(value, list | tuple):
            return list(map(self.inner, value))
        return self._code(value) if isinstance(value, CodeType) else self._part(value)

    def _part(self, value: Any) -> Any:
        if isinstance(value, BaseChatModel):
            return model_identity(value)
        if isinstance(value, type) or id(value) in self._seen:
            return _name(value)
        if isinstance(value, functools.partial):
            return [self.of(value.func), self.inner(value.args), self.inner(value.keywords)]
        if isinstance(value, MethodType):
            return [self.inner(value.__func__), self.of(value.__self__)]
        if isinstance(value, FunctionType):
            return self._function(value)
        if isinstance(value, Pregel):
            return [_name(type(value)), self._named((name, node.bound) for name, node in value.nodes.items())]
        if isinstance(value, BaseModel):
            self._seen.add(id(value))
            fields = {name: getattr(value, name) for name in type(value).model_fields}
            return [self._class(type(value)), self.inner(fields)]
        if isinstance(value, Runnable):
            return self._object(value)
        return self.inner(value.__wrapped__) if hasattr(value, "__wrapped__") else _name(value)

    def _function(self, function: FunctionType) -> Any:
        self._seen.add(id(function))
        assigned = _assigned([function.__code__])
        cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        closed = ((name, cell.cell_contents) for name, cell in cells if name not in assigned and _filled(cell))
        used = {name for code in _codes(function.__code__) for name in code.co_names} - assigned
        known = [(name, function.__globals__[name]) for name in used if name in function.__globals__]
        return [
            self._code(function.__code__),
            self.inner(function.__defaults__),
            self.inner(function.__kwdefaults__),
            self._named(closed),
            self._named(known, functools.partial(self._global, function.__module__)),
        ]

    def _global(self, module: str, value: Any) -> Any:
        """Describe what a function of a module names: code of the same module as such."""
        code = isinstance(value, FunctionType | type)
        if code and value.__module__ != module:
            return _name(value)
        return self._class(value) if isinstance(value, type) else self.inner(value)

    def _code(self, code: CodeType) -> Any:
        return [code.co_code.hex(), list(code.co_names), list(code.co_varnames), self.inner(code.co_consts)]

    def _object(self, value: Any) -> Any:
        self._seen.add(id(value))
        kind = type(value)
        assigned = _assigned(function.__code__ for name, function in _functions(kind).items() if name not in _MAKERS)
        attributes = getattr(value, "__dict__", {}).items()
        return [
            self._class(kind),
            self._named((name, item) for name, item in attributes if name not in assigned and not _cached(kind, name)),
        ]

    def _class(self, kind: type) -> Any:
        """Describe a class together with those of its bases that are of its own module."""
        if id(kind) in self._seen or _of_library(kind):
            return _name(kind)
        self._seen.add(id(kind))
        functions = _functions(kind)
        assigned = _assigned(function.__code__ for function in functions.values())
        left_out = {*functions, *assigned}
        constants = ((name, item) for name, item in _entries(kind).items() if name not in left_out and name[:2] != "__")
        return [[_name(base) for base in kind.__mro__], self._named(functions.items()), self._named(constants)]

    def _named(self, values: Iterable[tuple[str, Any]], tell: Callable[[Any], Any] | None = None) -> Any:
        """Describe values by name, save those that hold state."""
        kept = sorted((entry for entry in values if not isinstance(entry[1], _CONTAINERS)), key=lambda entry: entry[0])
        return [[name, (tell or self.inner)(value)] for name, value in kept]


def _name(value: Any) -> str:
    name = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
    return f"{getattr(value, '__module__', None) or ''}.{name}" if isinstance(name, str) else _name(type(value))


def _sorted(described: Iterable[Any]) -> list[Any]:
    return sorted(described, key=canonical_json)


def _filled(cell: CellType) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:  # what it names is not defined yet
        return False


def _cached(kind: type, name: str) -> bool:
    return isinstance(getattr(kind, name, None), functools.cached_property)


def _codes(code: CodeType) -> Iterator[CodeType]:
    """A code object with those inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _assigned(codes: Iterable[CodeType]) -> set[str]:
    """The names of attributes, globals and closed-over variables that code assigns."""
    steps = (step for whole in codes for code in _codes(whole) for step in dis.get_instructions(code))
    return {step.argval for step in steps if step.opname in _STORES}


def _of_library(kind: type) -> bool:
    return kind.__module__.partition(".")[0] in _LIBRARIES


def _entries(kind: type) -> dict[str, Any]:
    """What a class and those of its bases that are of its module define."""
    own = [base for base in reversed(kind.__mro__) if base.__module__ == kind.__module__ and not _of_library(base)]
    return {name: item for base in own for name, item in vars(base).items()}


def _functions(kind: type) -> dict[str, FunctionType]:
    return {name: function for name, item in _entries(kind).items() if (function := _function(item))}


def _function(item: Any) -> FunctionType | None:
    """The function behind an entry of a class."""
    behind = (getattr(item, name, None) for name in ("fget", "__func__", "func"))
    inner = next(filter(None, behind), item)
    return inner if isinstance(inner, FunctionType) else None
