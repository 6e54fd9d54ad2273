"""Pytrees, with the installed jax as the oracle."""

from __future__ import annotations

import collections
import copy
import dataclasses
import functools
import gc
import inspect
import pickle
import weakref
from typing import Any

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lingon.tree as lt
import lingon.tree_util as L

J = jax.tree_util
Point = collections.namedtuple("Point", "x y")
Other = collections.namedtuple("Other", "x y")


class Pair:
    def __init__(self, a: Any, b: Any, tag: Any = "tag"):
        self.a, self.b, self.tag = a, b, tag

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Pair) and vars(self) == vars(other)

    def __repr__(self) -> str:
        return f"Pair({self.a!r}, {self.b!r}, {self.tag!r})"


class Keyed(Pair):
    pass


@dataclasses.dataclass
class Data:
    x: Any
    y: Any
    name: str = dataclasses.field(default="n", metadata={"static": True})


@dataclasses.dataclass(frozen=True)
class Fixed:
    value: int


for tu in (L, J):
    tu.register_pytree_node(Pair, lambda p: ((p.a, p.b), p.tag), lambda t, c: Pair(*c, t))
    tu.register_pytree_with_keys(
        Keyed,
        lambda p, tu=tu: (((tu.GetAttrKey("a"), p.a), ("custom", p.b)), p.tag),
        lambda t, c: Keyed(*c, t),
    )
    tu.register_dataclass(Data)
    tu.register_static(Fixed)

keys = st.one_of(st.text("abcdé'", max_size=3))
leaves = st.one_of(st.integers(0, 9), st.text("xy", max_size=2))


def _containers(children: Any) -> Any:
    pairs = st.lists(st.tuples(keys, children), max_size=3)
    return st.one_of(
        st.lists(children, max_size=3),
        st.lists(children, max_size=3).map(tuple),
        st.dictionaries(keys, children, max_size=3),
        st.dictionaries(st.integers(-2, 5), children, max_size=3),
        st.dictionaries(st.tuples(st.integers(0, 1), keys), children, max_size=2),
        pairs.map(collections.OrderedDict),
        pairs.map(lambda p: collections.defaultdict(list, p)),
        st.builds(Point, children, children),
        st.builds(Pair, children, children, st.sampled_from(["t", 1, ("t",)])),
        st.builds(Keyed, children, children),
        st.builds(Data, children, children, st.sampled_from("mn")),
        st.builds(Fixed, st.integers(0, 1)),
        st.builds(lambda *c: collections.deque(c), children),
    )


trees = st.recursive(st.one_of(leaves, st.none()), _containers, max_leaves=12)


def key_of(key: Any) -> Any:
    return (type(key).__name__, str(key), repr(key)) if hasattr(key, "__match_args__") else key


def paths_of(pairs: Any) -> list[Any]:
    return [(tuple(key_of(k) for k in path), leaf) for path, leaf in pairs]


@settings(max_examples=300, deadline=None)
@given(trees)
def test_flatten_matches_jax(tree: Any) -> None:
    ours, def_ours = L.tree_flatten(tree)
    theirs, def_theirs = J.tree_flatten(tree)
    assert ours == theirs == L.tree_leaves(tree)
    assert repr(def_ours) == repr(def_theirs) == str(def_ours)
    assert def_ours.num_leaves == def_theirs.num_leaves
    assert def_ours.num_nodes == def_theirs.num_nodes
    assert repr(def_ours.children()) == repr(def_theirs.children())
    assert repr(def_ours.node_data()) == repr(def_theirs.node_data())
    assert L.treedef_is_leaf(def_ours) == J.treedef_is_leaf(def_theirs)
    assert def_ours == L.tree_structure(tree)
    assert hash(def_ours) == hash(L.tree_structure(tree))
    again = def_ours.unflatten(ours)
    assert again == tree
    assert repr(again) == repr(def_theirs.unflatten(theirs))
    assert pickle.loads(pickle.dumps(def_ours)) == def_ours
    assert copy.deepcopy(def_ours) == def_ours
    data, kids = def_ours.node_data(), def_ours.children()
    rebuilt = L.PyTreeDef.from_node_data_and_children(L.default_registry, data, kids)
    assert rebuilt == def_ours


@settings(max_examples=200, deadline=None)
@given(trees)
def test_paths_match_jax(tree: Any) -> None:
    ours, def_ours = L.tree_flatten_with_path(tree)
    theirs, _ = J.tree_flatten_with_path(tree)
    assert paths_of(ours) == paths_of(theirs)
    assert def_ours == L.tree_structure(tree)
    for (p, _), (q, _) in zip(ours, theirs, strict=True):
        assert L.keystr(p) == J.keystr(q)
        assert L.keystr(p, simple=True, separator="/") == J.keystr(q, simple=True, separator="/")
    shown = lambda tu: tu.tree_map_with_path(lambda p, x: (tu.keystr(p), x), tree)
    assert repr(shown(L)) == repr(shown(J))


@settings(max_examples=200, deadline=None)
@given(trees, trees)
def test_two_trees_match_jax(a: Any, b: Any) -> None:
    assert (L.tree_structure(a) == L.tree_structure(b)) == (
        J.tree_structure(a) == J.tree_structure(b)
    )
    for f in (
        lambda tu: tu.tree_structure(a).flatten_up_to(b),
        lambda tu: tu.tree_map(lambda *xs: xs, a, b),
        lambda tu: tu.tree_broadcast(a, b),
    ):
        try:
            expected = f(J)
        except ValueError:
            with pytest.raises(ValueError, match="structures differ"):
                f(L)
        else:
            assert repr(f(L)) == repr(expected)
    composed = L.tree_structure(a).compose(L.tree_structure(b))
    theirs = J.tree_structure(a).compose(J.tree_structure(b))
    assert repr(composed) == repr(theirs)
    assert (composed.num_leaves, composed.num_nodes) == (theirs.num_leaves, theirs.num_nodes)
    assert composed == L.tree_structure(L.tree_map(lambda _: b, a))


@settings(max_examples=100, deadline=None)
@given(trees, st.integers(0, 3))
def test_is_leaf_matches_jax(tree: Any, kind: int) -> None:
    predicate = [
        lambda x: x is None,
        lambda x: isinstance(x, tuple),
        lambda x: isinstance(x, dict) and len(x) == 1,
        lambda x: isinstance(x, list | Pair),
    ][kind]
    assert L.tree_leaves(tree, is_leaf=predicate) == J.tree_leaves(tree, is_leaf=predicate)
    assert repr(L.tree_structure(tree, predicate)) == repr(J.tree_structure(tree, predicate))
    asked: dict[Any, list[Any]] = {}
    for tu in (L, J):
        log = asked.setdefault(tu, [])

        def ask(path: Any, x: Any, log: list[Any] = log) -> bool:
            log.append((tuple(key_of(k) for k in path), repr(x)))
            return len(path) == 2

        got = tu.tree_flatten_with_path(tree, is_leaf=ask, is_leaf_takes_path=True)[0]
        log.append(paths_of(got))
    assert asked[L] == asked[J]


def test_public_names_and_signatures() -> None:
    for ours, theirs in ((L, J), (lt, jax.tree)):
        names = {n for n in dir(theirs) if not n.startswith("_")}
        assert names - set(ours.__all__) == set()
        for name in names:
            f = getattr(theirs, name)
            if not inspect.isfunction(f):
                continue
            a = inspect.signature(getattr(ours, name)).parameters
            b = inspect.signature(f).parameters
            assert list(a) == list(b), name
            for p, q in zip(a.values(), b.values(), strict=True):
                assert p.kind == q.kind, name
                assert (p.default is p.empty) == (q.default is q.empty), name
                if type(q.default).__name__ != "Unspecified":
                    assert p.default == q.default, name


def test_equality_is_by_type_order_and_metadata() -> None:
    s = L.tree_structure
    od = collections.OrderedDict
    assert s({"a": 1, "b": 2}) == s({"b": 1, "a": 2})
    assert s(od(a=1, b=2)) != s(od(b=1, a=2))
    assert s(od(a=1)) != s({"a": 1})
    assert s((1,)) != s([1])
    assert s((1,)) != 3
    assert s(Pair(1, 2, "a")) != s(Pair(1, 2, "b"))
    assert s(Point(1, 2)) != s(Other(1, 2))
    assert s({1: 0}) == s({True: 0})
    assert hash(s({1: 0})) == hash(s({True: 0}))
    assert s(Pair(1, 2, [1])) == s(Pair(1, 2, [1]))
    assert hash(s(Pair(1, 2, [1]))) == hash(s(Pair(1, 2, [1])))
    with pytest.raises(ValueError, match="an array cannot be metadata"):
        s(Pair(1, 2, np.arange(3))) == s(Pair(1, 2, np.arange(3)))  # noqa: B015
    with pytest.raises(TypeError):
        s(1) < s(2)  # type: ignore[operator]  # noqa: B015


def test_wrong_numbers_of_leaves() -> None:
    treedef = L.tree_structure((1, (2, 3)))
    assert treedef.unflatten(iter("abc")) == ("a", ("b", "c"))
    with pytest.raises(ValueError, match="Too few leaves for PyTreeDef; expected 3, got 1"):
        treedef.unflatten([1])
    with pytest.raises(ValueError, match="Too many leaves for PyTreeDef; expected 3"):
        treedef.unflatten(iter(range(10**9)))
    with pytest.raises(TypeError, match="iterable"):
        treedef.unflatten(3)
    with pytest.raises(ZeroDivisionError):
        treedef.unflatten(1 / 0 for _ in range(3))


@pytest.mark.parametrize(
    ("a", "b", "texts"),
    [
        ((1, 2), (1, 2, 3), ["tuple of length 2", "tuple of length 3"]),
        ({"a": (1, [2, 3])}, {"a": (1, [2])}, ["tree 2['a'][1]", "list of length 2"]),
        ({"a": 1, "b": 2}, {"a": 1, "c": 2}, ["missing keys: 'b'", "unexpected keys: 'c'"]),
        ((1, None), (1, 2), ["tree 2[1]", "has None", "is_leaf=lambda x: x is None"]),
        (Point(1, (2,)), Point(1, 3), ["tree 2.y", "a leaf of type <class 'int'>"]),
        (Point(1, 2), Other(1, 2), ["test_pytree.Point", "test_pytree.Other"]),
        (Pair(1, 2, "s"), Pair(1, 2, "t"), ["Pair", "metadata 's'", "metadata 't'"]),
        ([Keyed((1,), 2)], [Keyed([1], 2)], ["tree 2[0].a", "a list of length 1"]),
        ([Data(1, 2, "m")], [Data(1, 2, "n")], ["('m',)", "('n',)"]),
        ((1, Fixed(1)), (1, Fixed(2)), ["Fixed(value=1)", "Fixed(value=2)"]),
    ],
)
def test_mismatch_names_path_and_structures(a: Any, b: Any, texts: list[str]) -> None:
    with pytest.raises(ValueError, match="structures differ") as e:
        L.tree_map(lambda *_: 0, a, b)
    message = str(e.value)
    for text in [*texts, repr(L.tree_structure(a)), repr(L.tree_structure(b))]:
        assert text in message
    with pytest.raises(ValueError):
        J.tree_map(lambda *_: 0, a, b)


def test_mismatch_in_a_later_tree_is_numbered() -> None:
    with pytest.raises(ValueError, match=r"tree_map tree 3\[0\]"):
        L.tree_map(lambda *_: 0, [(1,)], [(2,)], [3])
    with pytest.raises(ValueError, match=r"tree_map_with_path tree 2: .*list"):
        L.tree_map_with_path(lambda *_: 0, [1], (2,))


def test_errors_of_callbacks_pass_through() -> None:
    class Odd:
        def __init__(self, result: Any):
            self.result = result

    L.register_pytree_node(Odd, lambda o: o.result() if callable(o.result) else o.result, Pair)
    for bad in (None, (1, 2, 3), [(1, 2), None], (3, 4)):
        with pytest.raises(ValueError, match=r"must return a pair \(children, aux_data\)"):
            L.tree_leaves(Odd(bad))
    with pytest.raises(ZeroDivisionError):
        L.tree_leaves(Odd(lambda: 1 / 0))
    assert L.tree_leaves(Odd((iter([1, 2]), None))) == [1, 2]
    with pytest.raises(ZeroDivisionError):
        L.tree_leaves(Odd(((1 / 0 for _ in "x"), None)))
    with pytest.raises(ZeroDivisionError):
        L.tree_map(lambda x: 1 / x, (1, 0))
    with pytest.raises(ZeroDivisionError):
        L.tree_leaves((1,), is_leaf=lambda x: 1 / 0)
    for value in ([1], 1, np.bool_(True)):
        with pytest.raises(ValueError, match="is_leaf must return True or False"):
            L.tree_leaves((1,), is_leaf=lambda x, value=value: value)
    with pytest.raises(TypeError, match="is_leaf must be callable"):
        L.tree_leaves((1,), is_leaf=3)  # type: ignore[arg-type]

    class BadKeys(Pair):
        pass

    L.register_pytree_with_keys(BadKeys, lambda p: p.a, lambda t, c: c, lambda p: ((1, 2), None))
    for bad in (3, (3, None), ((1, 2), None), ((("k", 1),), None)):
        with pytest.raises(ValueError, match="flatten_with_keys"):
            L.tree_flatten_with_path(BadKeys(bad, 0))


def test_unsortable_keys() -> None:
    for tree in ({1: 1, "a": 2}, {1j: 0, 2j: 1}):
        with pytest.raises(ValueError, match="sortable") as e:
            L.tree_leaves(tree)
        assert isinstance(e.value.__cause__, TypeError)
    with pytest.raises(TypeError):
        L.tree_leaves(collections.defaultdict(int, {1: 1, "a": 2}))
    assert L.tree_leaves(collections.OrderedDict({1: 1, "a": 2})) == [1, 2]
    moved = collections.OrderedDict(a=1, b=2)
    moved.move_to_end("a")
    assert L.tree_leaves(moved) == [2, 1]


def test_deep_and_cyclic_trees_raise() -> None:
    cyclic: list[Any] = []
    cyclic.append(cyclic)
    with pytest.raises(RecursionError):
        L.tree_leaves(cyclic)
    deep: Any = 0
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(RecursionError):
        L.tree_structure(deep)
    while deep:
        deep = deep[0]
    make, registry = L.PyTreeDef.from_node_data_and_children, L.default_registry
    treedef = L.tree_structure(0)
    for _ in range(3000):
        treedef = make(registry, (list, None), [treedef])
    assert treedef.num_nodes == 3001
    for use in (
        lambda: treedef.unflatten([1]),
        lambda: repr(treedef),
        lambda: treedef.compose(treedef),
        lambda: treedef.walk(lambda n, d: None, lambda x: x, [1]),
        lambda: pickle.loads(pickle.dumps(treedef)),
    ):
        with pytest.raises(RecursionError):
            use()


def test_list_that_changes_while_it_is_flattened() -> None:
    trees: list[Any] = [1, 2, 3]

    class Clears:
        pass

    L.register_pytree_node(Clears, lambda c: (trees.clear() or (), None), lambda a, c: Clears())
    trees[0] = Clears()
    assert L.tree_leaves(trees) == [2, 3]


def test_one_level() -> None:
    dd = collections.defaultdict(int, b=1, a=2)
    for tree in ((1, (2,)), [1], {"b": 1, "a": 2}, None, collections.OrderedDict(b=1, a=2), dd,
                 Point(1, 2), Pair(1, 2), Data(1, 2), Fixed(3)):  # fmt: skip
        a, b = L.flatten_one_level(tree), J.flatten_one_level(tree)
        assert (list(a[0]), a[1]) == (list(b[0]), b[1])
        a, b = L.flatten_one_level_with_keys(tree), J.flatten_one_level_with_keys(tree)
        assert a[1] == b[1]
        if not isinstance(tree, Point):  # jax repeats the first field's name
            assert [(key_of(k), v) for k, v in a[0]] == [(key_of(k), v) for k, v in b[0]]
    for f in (L.flatten_one_level, L.flatten_one_level_with_keys):
        with pytest.raises(ValueError, match="int"):
            f(3)
    for t in (int, tuple, list, dict, type(None), collections.deque, Point, Pair, Data, Fixed):
        assert L.is_tree_node(t) == J.is_tree_node(t)
    for items in ([1, 2], [1, (2,)], [None], [], (1,), iter([1, 2])):
        seen = list(items)
        assert L.all_leaves(iter(seen)) == J.all_leaves(iter(seen))
    assert L.all_leaves([(1,), 2], is_leaf=lambda x: isinstance(x, tuple))


def test_namedtuple_lookalikes() -> None:
    class Bad(tuple):
        _fields = ("a", "b")

    with pytest.raises(ValueError, match="_fields"):
        L.tree_leaves(Bad((1,)))

    class Plain(tuple):
        pass

    assert L.tree_leaves(Plain((1, 2))) == [Plain((1, 2))]


def test_registration_errors() -> None:
    for t in (Pair, Data, tuple, dict, type(None), collections.OrderedDict):
        with pytest.raises(ValueError, match="already a pytree node"):
            L.register_pytree_node(t, lambda x: ((), None), lambda a, c: None)
    with pytest.raises(ValueError, match="already a pytree node"):
        L.register_dataclass(Data)
    with pytest.raises(ValueError, match="already a pytree node"):
        L.register_static(Fixed)
    with pytest.raises(TypeError):
        L.register_pytree_node(3, lambda x: ((), None), lambda a, c: None)  # type: ignore[arg-type]

    @dataclasses.dataclass
    class D:
        a: int
        b: int
        c: int = dataclasses.field(init=False, default=3)

    for args, error, text in [
        ((["a", "b"], ["b"]), ValueError, "overlap"),
        ((["a"], []), ValueError, r"lack \['b'\]"),
        ((["a", "b", "z"], []), ValueError, r"have \['z'\]"),
        ((["a", "b", "c"], []), ValueError, r"have \['c'\]"),
        ((), ValueError, r"have \['c'\]"),
        ((["a"],), TypeError, "together"),
    ]:
        with pytest.raises(error, match=text):
            L.register_dataclass(D, *args)
        with pytest.raises(error):
            J.register_dataclass(D, *args)
    with pytest.raises(TypeError, match="must be a class"):
        L.register_dataclass(D(1, 2), ["a"], ["b"])  # type: ignore[type-var]
    with pytest.raises(TypeError, match="not a dataclass"):
        L.register_dataclass(type("Plain", (), {}))


def test_dataclass_fields() -> None:
    @functools.partial(L.register_dataclass, data_fields=["a"], meta_fields=[], drop_fields=["b"])
    @dataclasses.dataclass
    class D:
        a: int
        b: int = 7

    assert L.tree_map(lambda x: x + 1, D(1, 2)) == D(2, 7)
    for kwargs in ({}, {"default": 3, "metadata": {"x": 1}}, {"metadata": {"static": False}}):
        a, b = lt.static(**kwargs), jax.tree.static(**kwargs)
        assert (a.default, a.metadata) == (b.default, b.metadata)
    with pytest.raises(TypeError):
        lt.static(foo=3)


def test_class_decorators() -> None:
    for tu in (L, J):

        class Node:
            def __init__(self, a: Any, b: Any):
                self.a, self.b = a, b

            def tree_flatten(self) -> Any:
                return (self.a, self.b), None

            @classmethod
            def tree_unflatten(cls, aux: Any, children: Any) -> Any:
                assert type(children) is tuple
                return cls(*children)

        class WithKeys(Node):
            def tree_flatten_with_keys(self, tu: Any = tu) -> Any:
                return ((tu.DictKey("a"), self.a), (tu.SequenceKey(1), self.b)), None

        assert tu.register_pytree_node_class(Node) is Node
        assert tu.register_pytree_with_keys_class(WithKeys) is WithKeys
        assert repr(tu.tree_flatten_with_path(Node(1, (2,)))[0]) == (
            "[((FlattenedIndexKey(key=0),), 1), "
            "((FlattenedIndexKey(key=1), SequenceKey(idx=0)), 2)]"
        )
        assert repr(tu.tree_flatten_with_path(WithKeys(1, 2))[0]) == (
            "[((DictKey(key='a'),), 1), ((SequenceKey(idx=1),), 2)]"
        )
        assert vars(tu.tree_map(lambda x: x + 1, WithKeys(1, 2))) == {"a": 2, "b": 3}


def test_keys() -> None:
    for tu in (L, J):
        assert str(tu.DictKey("a")) == "['a']"
        assert str(tu.SequenceKey(3)) == "[3]"
        assert str(tu.GetAttrKey("a")) == ".a"
        assert str(tu.FlattenedIndexKey(3)) == "[<flat index 3>]"
        path = (tu.DictKey("a"), tu.GetAttrKey("b"), tu.SequenceKey(0), tu.FlattenedIndexKey(3))
        assert tu.keystr(path) == "['a'].b[0][<flat index 3>]"
        assert tu.keystr(path, separator=".") == "['a']..b.[0].[<flat index 3>]"
        assert tu.keystr(path, simple=True) == "ab03"
        assert tu.keystr(("x", 3, None)) == "x3None"
        assert tu.DictKey(1) != tu.SequenceKey(1)
        assert len({tu.DictKey("a"), tu.DictKey("a"), "a"}) == 2
        assert tu.DictKey(key="a") == tu.DictKey("a")
        for key in path:
            assert pickle.loads(pickle.dumps(key)) == key or tu is J
            assert copy.copy(key) == key or tu is J
        with pytest.raises(TypeError):
            tu.SequenceKey(1.5)
        with pytest.raises(TypeError):
            tu.DictKey()
        with pytest.raises(AttributeError):
            tu.DictKey("a").key = 3
        match tu.GetAttrKey("field"):
            case tu.GetAttrKey(name):
                assert name == "field"


def test_reductions() -> None:
    for tu in (L, J):
        assert tu.tree_reduce(lambda a, b: a + b, {"a": 1, "b": (2, 3)}) == 6
        assert tu.tree_reduce(lambda a, b: (a, b), (1, 2), None) == ((None, 1), 2)
        assert tu.tree_reduce(lambda a, b: a, {}, 5) == 5
        with pytest.raises(TypeError):
            tu.tree_reduce(lambda a, b: a, {})
        with pytest.raises(TypeError):
            tu.tree_reduce_associative(lambda a, b: a, [])
        assert tu.tree_reduce_associative(lambda a, b: a, [], identity=4) == 4
        assert tu.tree_all((1, True))
        assert not tu.tree_all((1, 0))
    for n in range(1, 20):
        items = [str(i) for i in range(n)]
        pair = lambda a, b: f"({a}{b})"
        assert L.tree_reduce_associative(pair, items) == J.tree_reduce_associative(pair, items)


def test_transpose() -> None:
    tree = {"a": (1, 2, 3), "b": (4, 5, 6)}
    for tu in (L, J):
        outer, inner = tu.tree_structure({"a": 0, "b": 0}), tu.tree_structure((0, 0, 0))
        expected = ({"a": 1, "b": 4}, {"a": 2, "b": 5}, {"a": 3, "b": 6})
        assert tu.tree_transpose(outer, inner, tree) == expected
        assert tu.tree_transpose(outer, None, tree) == expected
        assert tu.tree_transpose(tu.tree_structure([1]), tu.tree_structure(()), [()]) == ()
        with pytest.raises(TypeError):
            tu.tree_transpose(outer, tu.tree_structure((0, 0)), tree)
        with pytest.raises(TypeError):
            tu.tree_transpose(outer, None, {"a": (1, 2), "b": (3,)})
        with pytest.raises(ValueError):
            tu.tree_transpose(outer, None, {"a": (1, 2)})
        with pytest.raises(IndexError):
            tu.tree_transpose(tu.tree_structure([]), None, [])
    with pytest.raises(TypeError, match=r"expected: PyTreeDef\(\{'a': \(\*, \*\)"):
        L.tree_transpose(L.tree_structure({"a": 0}), L.tree_structure((0, 0)), {"a": 1})


def test_broadcast_prefix_has_none_as_leaf_on_request() -> None:
    is_none = lambda x: x is None
    for tu in (L, J):
        assert tu.tree_broadcast((1, None), (3, (4, 5)), is_leaf=is_none) == (1, (None, None))
        assert tu.tree_broadcast((1, 2), (3, (4, 5)), is_leaf=lambda x: x == (4, 5)) == (1, (2, 2))
        with pytest.raises(ValueError):
            tu.tree_broadcast((1, None), (3, (4, 5)))


def _function(x: Any, y: int = 2) -> Any:
    return (x, y)


def test_partial() -> None:
    p = L.Partial(_function, 1, y=3)
    assert p() == (1, 3)
    assert isinstance(p, functools.partial)
    q = J.Partial(_function, 1, y=3)
    assert repr(L.tree_structure(p)) == repr(J.tree_structure(q))
    assert paths_of(L.tree_leaves_with_path(p)) == paths_of(J.tree_leaves_with_path(q))
    assert L.tree_map(lambda x: x + 1, p)() == (2, 4)
    assert L.tree_structure(p) == L.tree_structure(L.Partial(_function, 5, y=6))
    assert L.tree_structure(p) != L.tree_structure(L.Partial(_other, 5, y=6))
    nested = L.Partial(p, 7)
    assert L.tree_leaves(nested) == [7]
    assert nested.args == (7,)
    plain = functools.partial(_function, 1)
    assert L.tree_leaves(L.Partial(plain, y=8)) == [8]
    assert L.Partial(plain, y=8)() == (1, 8)
    again = pickle.loads(pickle.dumps(p))
    assert type(again) is L.Partial
    assert again() == (1, 3)
    with pytest.raises(TypeError):
        L.Partial()  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        L.Partial(3)  # type: ignore[arg-type]


def _other(x: Any, y: int = 2) -> Any:
    return None


def test_treedef_construction_and_pickles_are_checked() -> None:
    s, make = L.tree_structure, L.PyTreeDef.from_node_data_and_children
    reg = L.default_registry
    assert (
        L.treedef_tuple([s(1), s([1])]) == s((0, [0])) == make(reg, (tuple, None), [s(1), s([1])])
    )
    assert L.treedef_tuple(()) == s(())
    for bad in ([3], 3):
        with pytest.raises(TypeError):
            L.treedef_tuple(bad)  # type: ignore[arg-type]
    for data, kids in [
        ((dict, ["a"]), [s(1), s(1)]),
        ((int, None), []),
        ((Point, None), [s(1)]),
        ((type(None), None), [s(1)]),
        (None, [s(1)]),
        ((Data, ()), [s(1), s(1)]),
        ((collections.defaultdict, ()), []),
    ]:
        with pytest.raises(ValueError):
            make(reg, data, kids)
    with pytest.raises(TypeError):
        L.PyTreeDef()
    broken = L.PyTreeDef.__new__(L.PyTreeDef)
    for state in (([],), ([((tuple, None), 2)],), ([((dict, ["a"]), 2), (None, 0), (None, 0)],)):
        with pytest.raises((ValueError, TypeError)):
            broken.__setstate__(state)
    assert s({"a": 1, "b": [2, None]}).walk(
        lambda node, data: ("node", node, data), lambda leaf: leaf * 10, [1, 2]
    ) == J.tree_structure({"a": 1, "b": [2, None]}).walk(
        lambda node, data: ("node", node, data), lambda leaf: leaf * 10, [1, 2]
    )


def test_cycles_through_structures_are_collected() -> None:
    class Tag:
        pass

    tag = Tag()
    tag.treedef = L.tree_structure(Pair(1, 2, tag))  # type: ignore[attr-defined]
    ref = weakref.ref(tag)
    del tag
    gc.collect()
    assert ref() is None


def test_no_reference_leaks() -> None:
    import sys

    leaf, tag = object(), object()
    tree = {"b": [leaf, (leaf, None)], "a": Pair(leaf, Data(leaf, 1), tag), "c": Point(leaf, 2)}
    before = sys.getrefcount(leaf), sys.getrefcount(tag)
    for _ in range(10):
        leaves, treedef = L.tree_flatten(tree)
        treedef.unflatten(leaves)
        L.tree_flatten_with_path(tree)
        L.tree_map(lambda *x: x, tree, tree)
        hash(treedef), treedef == L.tree_structure(tree), repr(treedef), treedef.children()
        with pytest.raises(ValueError):
            treedef.flatten_up_to({**tree, "c": 1})
        with pytest.raises(ValueError):
            treedef.unflatten([leaf])
        with pytest.raises(ZeroDivisionError):
            treedef.walk(lambda n, d: 1 / 0, lambda x: x, leaves)
        del leaves, treedef
    gc.collect()
    assert (sys.getrefcount(leaf), sys.getrefcount(tag)) == before
