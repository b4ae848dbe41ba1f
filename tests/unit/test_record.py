"""Records mean what the standard library's dataclasses mean."""

from __future__ import annotations

import dataclasses
import pickle
import subprocess
import sys
from typing import Any, ClassVar, Generic, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpiboot.model import record

T = TypeVar("T")


@record.dataclass(frozen=True, kw_only=True)
class Point:
    x: int
    y: int = 2
    tags: list[str] = record.field(default_factory=list, repr=False)
    known: ClassVar[int] = 7


@record.dataclass(frozen=True, kw_only=True)
class Deep(Point):
    z: tuple[Point, ...] = ()


@record.dataclass
class Open(Generic[T]):
    value: T
    more: Any = None

    def __post_init__(self) -> None:
        if self.value == "bad":
            raise ValueError("bad")


def test_a_frozen_record_refuses_assignment_and_deletion():
    point = Point(x=1)
    for change in (lambda: setattr(point, "x", 2), lambda: setattr(point, "new", 2)):
        with pytest.raises(record.FrozenInstanceError):
            change()
    with pytest.raises(AttributeError):
        del point.x
    assert point.x == 1


def test_each_instance_gets_a_value_of_its_own_from_the_factory():
    one, other = Point(x=1), Point(x=1)
    one.tags.append("a")
    assert (one.tags, other.tags, Point(x=1, tags=["b"]).tags) == (["a"], [], ["b"])


def test_a_subclass_has_the_fields_of_its_base_first():
    assert [one.name for one in record.fields(Deep)] == ["x", "y", "tags", "z"]
    assert repr(Deep(x=1)) == "Deep(x=1, y=2, z=())"
    assert Deep(x=1) != Point(x=1)


def test_the_copy_as_dictionary_is_deep():
    deep = Deep(x=1, z=(Point(x=3, tags=["t"]),), tags=["own"])
    made = record.asdict(deep)
    assert made == {"x": 1, "y": 2, "tags": ["own"], "z": ({"x": 3, "y": 2, "tags": ["t"]},)}
    made["tags"].append("changed")
    assert deep.tags == ["own"]


def test_what_follows_construction_runs_and_may_refuse_also_in_a_changed_copy():
    with pytest.raises(ValueError, match="bad"):
        Open("bad")
    with pytest.raises(ValueError, match="bad"):
        record.replace(Open("good"), value="bad")


def test_a_record_that_can_change_has_no_hash_and_a_frozen_one_has():
    with pytest.raises(TypeError, match="unhashable"):
        hash(Open(1))
    assert hash(Deep(x=1, tags=())) == hash((1, 2, (), ()))  # type: ignore[arg-type]


def test_a_record_within_itself_is_shown_once():
    one = Open[Any](1)
    one.more = one
    assert repr(one) == "Open(value=1, more=...)"


def test_methods_that_a_class_defines_itself_stay():
    @record.dataclass(frozen=True)
    class Own:
        a: int

        def __repr__(self) -> str:
            return "mine"

        def __eq__(self, other: object) -> bool:
            return True

        def __hash__(self) -> int:
            return 5

    assert (repr(Own(1)), Own(1) == 4, hash(Own(2))) == ("mine", True, 5)


def test_records_without_equality_are_equal_only_to_themselves():
    @record.dataclass(eq=False)
    class Same:
        a: int

    one = Same(1)
    assert one == one  # noqa: PLR0124
    assert one != Same(1)
    assert hash(one) == object.__hash__(one)


def test_positional_fields_match_patterns():
    match Open(4):
        case Open(value):
            assert value == 4


def test_a_record_survives_pickling():
    deep = Deep(x=1, z=(Point(x=5),))
    assert pickle.loads(pickle.dumps(deep)) == deep  # noqa: S301 - our own


def test_a_default_that_can_change_is_refused():
    with pytest.raises(ValueError, match="default_factory"):

        @record.dataclass(frozen=True)
        class Shared:
            a: list[int] = []  # noqa: RUF012 - the fault that is looked for


def test_options_that_records_do_not_have_are_refused():
    with pytest.raises(TypeError):
        record.dataclass(slots=True)
    with pytest.raises(TypeError):
        record.field(compare=False)
    with pytest.raises(TypeError, match="no record"):
        record.replace(3, a=1)  # type: ignore[type-var]


def test_the_module_loads_nothing_that_costs_time():
    code = (
        "import sys; import mpiboot.model.record;"
        " print({'dataclasses', 'inspect', 'copy'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


names = st.sampled_from(["a", "b", "c", "d"])
values = st.one_of(st.integers(-2, 2), st.text(max_size=2), st.tuples(st.integers(0, 1)))


@st.composite
def _classes(draw: st.DrawFn) -> tuple[type, type]:
    """The same class twice: from the standard library, and ours."""
    frozen, kw_only = draw(st.booleans()), draw(st.booleans())
    options = {"frozen": frozen, "kw_only": kw_only, "order": draw(st.booleans())}
    layers = draw(st.lists(st.dictionaries(names, st.none() | values), min_size=1, max_size=2))
    made = []
    for maker in (dataclasses, record):
        kind: type = object
        for layer in layers:
            # Fields with defaults come last, or the class is none.
            own = dict(sorted(layer.items(), key=lambda item: item[1] is not None))
            space: dict[str, Any] = {"__annotations__": dict.fromkeys(own, "Any"), "__doc__": ""}
            for name, value in own.items():
                if value is not None and isinstance(value, str):
                    space[name] = maker.field(default_factory=lambda value=value: value)
                elif value is not None:
                    space[name] = maker.field(default=value, repr=value != 1)
            kind = maker.dataclass(**options)(type("Made", (kind,), space))
        made.append(kind)
    return made[0], made[1]


def _tried(call: Any) -> Any:
    try:
        return call()
    except (TypeError, AttributeError) as fault:
        return AttributeError if isinstance(fault, AttributeError) else TypeError


def _shape(one: Any) -> Any:
    return one if isinstance(one, type) else (repr(one), one.__dict__)


@given(
    kinds=st.data(),
    args=st.lists(values, max_size=3),
    first=st.dictionaries(names, values),
    second=st.dictionaries(names, values),
)
def test_any_class_acts_as_the_standard_librarys(
    kinds: st.DataObject, args: list[Any], first: dict[str, Any], second: dict[str, Any]
):
    try:
        pair = kinds.draw(_classes())
    except TypeError:  # the standard library's own: a base's default comes first
        return
    seen = []
    for kind, maker in zip(pair, (dataclasses, record), strict=True):
        one = _tried(lambda kind=kind: kind(*args, **first))
        other = _tried(lambda kind=kind: kind(**second))
        answers = [_shape(one), _shape(other), kind.__match_args__]  # type: ignore[attr-defined]
        answers.append([field.name for field in maker.fields(kind)])
        if not isinstance(one, type) and not isinstance(other, type):
            answers += [
                one == other,
                _tried(lambda one=one: hash(one)),
                _tried(lambda one=one, other=other: one < other),
                _tried(lambda one=one: setattr(one, "a", 5)),
                _shape(_tried(lambda one=one, maker=maker: maker.replace(one, **second))),
                maker.asdict(one),
            ]
        seen.append(answers)
    assert seen[0] == seen[1]
