"""Classes of named fields, as `dataclasses` makes them, without its cost at import.

The standard library writes source text for every class and compiles it: half the start-up time of an
agent with more than a hundred such classes. Here each class gets closures over its fields instead.
What mpiboot uses is there and means the same (docs.python.org/3/library/dataclasses.html); any
other option is a TypeError at import. Type checkers see the standard library's own names.
"""

from __future__ import annotations

import operator
import reprlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

__all__ = ["FrozenInstanceError", "asdict", "dataclass", "field", "fields", "replace"]

# Not the standard library's name, whose functions expect its own Field.
_FIELDS = "__record_fields__"
_MISSING = object()
_ATOMS = frozenset({str, int, float, bool, bytes, type(None)})


class FrozenInstanceError(AttributeError):
    """Somebody assigned to, or deleted, an attribute of a frozen record."""


class Field:
    """One field of a record; `default` is `MISSING` where it has none."""

    __slots__ = ("default", "default_factory", "kw_only", "metadata", "name", "repr")
    MISSING = _MISSING

    def __init__(
        self,
        *,
        default: Any = _MISSING,
        default_factory: Any = _MISSING,
        repr: bool = True,  # noqa: A002 - the standard library's name
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        if default is not _MISSING and default_factory is not _MISSING:
            raise ValueError("cannot specify both default and default_factory")
        self.name = ""
        self.default = default
        self.default_factory = default_factory
        self.repr = repr
        self.metadata = metadata or {}
        self.kw_only = False

    @property
    def required(self) -> bool:
        """Whether the caller must give it."""
        return self.default is _MISSING and self.default_factory is _MISSING


def _record(
    cls: type | None = None,
    *,
    frozen: bool = False,
    kw_only: bool = False,
    eq: bool = True,
    order: bool = False,
) -> Any:
    """Give a class the methods of its fields; with or without options, as a decorator.

    Raises:
        ValueError: a default can be changed, and would be shared by all instances.
    """

    def decorate(made: type) -> type:
        fields = _collect(made, kw_only=kw_only)
        setattr(made, _FIELDS, fields)
        positional = tuple(name for name, one in fields.items() if not one.kw_only)
        values = _reader(tuple(fields))
        shown = tuple(name for name, one in fields.items() if one.repr)
        methods: dict[str, Any] = {
            "__init__": _init(made, fields, positional),
            "__repr__": _repr(shown),
            "__match_args__": positional,
        }
        if eq:
            methods["__eq__"] = _comparison("__eq__", operator.eq, values)
            # As the standard library's table of hashes: a class that can change has none.
            own = made.__dict__.get("__hash__")
            if own is None:
                setattr(made, "__hash__", _hash(values) if frozen else None)  # noqa: B010 - for mypy
        if order:
            for name in ("lt", "le", "gt", "ge"):
                methods[f"__{name}__"] = _comparison(f"__{name}__", getattr(operator, name), values)
        if frozen:
            methods["__setattr__"], methods["__delattr__"] = _refusals(made, frozenset(fields))
        for name, method in methods.items():
            if name not in made.__dict__:
                if callable(method):
                    method.__qualname__ = f"{made.__qualname__}.{name}"
                setattr(made, name, method)
        return made

    return decorate if cls is None else decorate(cls)


def _collect(cls: type, *, kw_only: bool) -> dict[str, Field]:
    """Return the fields of the bases and of the class itself; set the class's plain defaults."""
    fields: dict[str, Field] = {}
    for base in reversed(cls.__mro__[1:]):
        fields.update(base.__dict__.get(_FIELDS, {}))
    for name, kind in cls.__annotations__.items():
        if str(kind).startswith(("ClassVar", "typing.ClassVar")):
            continue
        default = getattr(cls, name, _MISSING)  # a base's, too: dataclasses does so
        one = default if isinstance(default, Field) else Field(default=default)
        if one.default is not _MISSING and one.default.__class__.__hash__ is None:
            raise ValueError(f"{name} of {cls.__qualname__} needs a default_factory")
        one.name, one.kw_only = name, kw_only
        if one.default is not _MISSING:
            setattr(cls, name, one.default)
        elif default is one:
            delattr(cls, name)
        fields[name] = one
    return fields


def _init(
    cls: type, fields: Mapping[str, Field], positional: tuple[str, ...]
) -> Callable[..., None]:
    names = frozenset(fields)
    defaults = {n: one.default for n, one in fields.items() if one.default is not _MISSING}
    factories = [
        (n, one.default_factory) for n, one in fields.items() if one.default_factory is not _MISSING
    ]
    then = hasattr(cls, "__post_init__")

    def __init__(self: Any, /, *args: Any, **values: Any) -> None:  # noqa: N807
        if args:
            _place(cls, positional, args, values)
        given = {**defaults, **values}
        for name, factory in factories:
            if name not in given:
                given[name] = factory()
        if given.keys() != names:
            raise _wrong(cls, fields, given)
        self.__dict__.update(given)  # not by setattr: a frozen record refuses that
        if then:
            self.__post_init__()

    return __init__


def _place(
    cls: type, positional: tuple[str, ...], args: tuple[Any, ...], values: dict[str, Any]
) -> None:
    if len(args) > len(positional):
        raise TypeError(
            f"{cls.__qualname__} takes {len(positional)} positional arguments, not {len(args)}"
        )
    for name, value in zip(positional, args, strict=False):
        if name in values:
            raise TypeError(f"{cls.__qualname__} got multiple values for argument {name!r}")
        values[name] = value


def _wrong(cls: type, fields: Mapping[str, Field], given: Mapping[str, Any]) -> TypeError:
    unknown = [name for name in given if name not in fields]
    if unknown:
        return TypeError(f"{cls.__qualname__} got an unexpected keyword argument {unknown[0]!r}")
    missing = ", ".join(repr(name) for name in fields if name not in given)
    return TypeError(f"{cls.__qualname__} misses required arguments: {missing}")


def _reader(names: tuple[str, ...]) -> Callable[[Any], tuple[Any, ...]]:
    """Return what reads these attributes as a tuple."""
    if len(names) > 1:
        return operator.attrgetter(*names)
    return lambda self: tuple(getattr(self, name) for name in names)


def _repr(shown: tuple[str, ...]) -> Callable[[Any], str]:
    def __repr__(self: Any) -> str:  # noqa: N807
        inner = ", ".join(f"{name}={getattr(self, name)!r}" for name in shown)
        return f"{self.__class__.__qualname__}({inner})"

    return reprlib.recursive_repr()(__repr__)


def _comparison(
    name: str, compare: Callable[[Any, Any], Any], values: Callable[[Any], tuple[Any, ...]]
) -> Callable[[Any, Any], Any]:
    def method(self: Any, other: object) -> Any:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return compare(values(self), values(other))

    method.__name__ = name
    return method


def _hash(values: Callable[[Any], tuple[Any, ...]]) -> Callable[[Any], int]:
    def __hash__(self: Any) -> int:  # noqa: N807
        return hash(values(self))

    return __hash__


def _refusals(cls: Any, names: frozenset[str]) -> tuple[Callable[..., None], Callable[..., None]]:
    def __setattr__(self: Any, name: str, value: Any) -> None:  # noqa: N807
        if type(self) is cls or name in names:
            raise FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)

    def __delattr__(self: Any, name: str) -> None:  # noqa: N807
        if type(self) is cls or name in names:
            raise FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)

    return __setattr__, __delattr__


def _fields(record: Any) -> tuple[Field, ...]:
    """Return the fields of a record or of its class.

    Raises:
        TypeError: it is none.
    """
    found: dict[str, Field] | None = getattr(record, _FIELDS, None)
    if found is None:
        raise TypeError(f"{record!r} is no record")
    return tuple(found.values())


def _replace(record: Any, /, **changes: Any) -> Any:
    """Return a new record of the same class, with some values changed."""
    values = {one.name: getattr(record, one.name) for one in _fields(record)}
    return type(record)(**{**values, **changes})


def _asdict(record: Any) -> dict[str, Any]:
    """Return a record's values by name, records in it as dictionaries too; all are copies."""
    return {one.name: _copied(getattr(record, one.name)) for one in _fields(record)}


def _copied(value: Any) -> Any:
    kind = type(value)
    if kind in _ATOMS:
        return value
    if hasattr(kind, _FIELDS):
        return _asdict(value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return kind(*[_copied(one) for one in value])
    if isinstance(value, (list, tuple)):
        return kind(_copied(one) for one in value)
    if isinstance(value, dict):
        return kind((_copied(key), _copied(one)) for key, one in value.items())
    import copy  # noqa: PLC0415 - rare

    return copy.deepcopy(value)


if TYPE_CHECKING:
    from dataclasses import asdict, dataclass, field, fields, replace
else:
    dataclass, field, fields, replace, asdict = _record, Field, _fields, _replace, _asdict
