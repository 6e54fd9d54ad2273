"""What conditionals and loops share: tracing their functions, joining constants, messages.

A function given to a conditional or a loop is traced once for each signature: `trace` remembers
what it made as long as the function lives. Values that the function closes over become leading
inputs of the jaxpr (`hoisted`), and the caller passes them as operands.
"""

from __future__ import annotations

import types
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...runtime import ArrayImpl
from ..core import config, dtypes, pytree
from ..core.avals import ShapedArray, get_aval
from ..core.jaxpr import ClosedJaxpr, Jaxpr, Var, close_with_vars
from ..core.staging import DebugInfo, trace_to_jaxpr
from ..core.trace import Tracer, state
from ..core.tree_differences import structure_differences
from ..primitives.conversion import convert
from ..transforms.api_util import FlatFun, check_results, debug_info, fun_name, fun_where
from ..transforms.jit import forgetters

# --- tracing -------------------------------------------------------------------------------


class Adapted:
    """A user's function in the form that a loop needs: `call(function, *args)`.

    It refers to the function weakly, so that it can be remembered with it (`adapted`).
    """

    __slots__ = ("__weakref__", "_call", "_user")

    def __init__(self, user: Callable[[], Any], call: Callable[..., Any]):
        self._user, self._call = user, call

    @property
    def __wrapped__(self) -> Any:
        return self._user()

    @property
    def __name__(self) -> str:
        return fun_name(self._user())

    def __call__(self, *args: Any) -> Any:
        return self._call(self._user(), *args)


_adapted: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()


def adapted(f: Callable[..., Any], call: Callable[..., Any]) -> Adapted:
    """`f` behind `call`, a function of a module; the same object whenever both are the same."""
    if isinstance(f, types.MethodType):
        return Adapted(lambda: f, call)
    try:
        known = _adapted.setdefault(f, {})
        user = weakref.ref(f)
    except TypeError:
        return Adapted(lambda: f, call)
    if call not in known:
        known[call] = Adapted(user, call)
    return known[call]


class Traced:
    """A function of a conditional or a loop, traced for one signature.

    `consts` are the values of `jaxpr.constvars`, which may be tracers.
    """

    __slots__ = ("_hoisted", "_joined", "consts", "jaxpr", "name", "out_tree", "where")

    def __init__(self, jaxpr: Jaxpr, consts: list[Any], out_tree: Any, name: str, where: str):
        self.jaxpr, self.consts, self.out_tree = jaxpr, consts, out_tree
        self.name, self.where = name, where
        self._hoisted: ClosedJaxpr | None = None
        self._joined: dict[Any, Any] = {}

    @property
    def out_avals(self) -> list[Any]:
        return self.jaxpr.out_avals

    @property
    def hoisted(self) -> ClosedJaxpr:
        """The jaxpr of `(*consts, *inputs)`; always the same object."""
        if self._hoisted is None:
            self._hoisted = close_with_vars(self.jaxpr)
        return self._hoisted

    def __str__(self) -> str:
        return f"{self.name} at {self.where}" if self.where else self.name


#: function -> [(key, references to what it closes over by place, trace or None, what was traced)]
_traces: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()
_MAX_SIGNATURES = 32
forgetters.append(_traces.clear)
#: places in closures that change while functions are traced, such as counters of their calls
_restless: set[tuple] = set()


def trace(
    f: Callable[..., Any],
    in_tree: Any,
    in_avals: Sequence[ShapedArray],
    traced_for: str,
) -> Traced:
    """Trace a function whose `(args, kwargs)` have the given structure and avals.

    What was traced is remembered, unless something that the function closes over has become another
    object since. Raises TypeError where it returns something that is no array.
    """
    closure = _closure(f)
    if closure is None or config.check_tracer_leaks.value:
        return _trace(f, in_tree, in_avals, traced_for)
    key = (in_tree, tuple(in_avals), traced_for, state.axis_env, config.trace_key())
    try:
        known = _traces.setdefault(f, [])
    except TypeError:
        return _trace(f, in_tree, in_avals, traced_for)
    for k, contents, owner, traced in known:
        if k == key and (owner is None or owner() is state.trace) and _unchanged(contents, closure):
            return traced
    traced = _trace(f, in_tree, in_avals, traced_for)
    owner = weakref.ref(state.trace) if any(isinstance(c, Tracer) for c in traced.consts) else None
    after = _closure(f)
    if after is not None and after.keys() == closure.keys():
        if len(_restless) > 4096:
            _restless.clear()
        _restless.update(p for p, x in closure.items() if after[p] is not x)
        if len(known) >= _MAX_SIGNATURES:
            known.pop(0)
        known.append((key, {p: _reference(x) for p, x in after.items()}, owner, traced))
    return traced


def _unchanged(contents: dict[tuple, Callable[[], Any]], closure: dict[tuple, Any]) -> bool:
    return contents.keys() == closure.keys() and all(
        contents[p]() is x or p in _restless for p, x in closure.items()
    )


def _trace(f: Any, in_tree: Any, in_avals: Sequence[ShapedArray], traced_for: str) -> Traced:
    flat = FlatFun(f, in_tree)

    def checked(*leaves: Any) -> list[Any]:
        outs = flat(*leaves)
        check_results(f, traced_for, outs, flat.out_tree)
        return outs

    jaxpr, consts = trace_to_jaxpr(checked, in_avals, debug_info(traced_for, f, in_tree))
    name, where = fun_name(f), fun_where(f)
    # the debug info of the trace refers to the function, which must not be kept alive
    jaxpr = jaxpr.replace(debug_info=DebugInfo(traced_for, name, where))
    return Traced(jaxpr, consts, flat.out_tree, name, where)


_ATOMS = (bool, int, float, complex, str, bytes, type(None), np.dtype, np.generic)
_MAX_CLOSURE = 256


def _closure(f: Any) -> dict[tuple, Any] | None:
    """What a function closes over, containers opened, by place; None if that is too much, or of
    types that cannot be watched."""
    found: dict[tuple, Any] = {}
    while isinstance(f, Adapted):
        f = f.__wrapped__

    def visit(place: tuple, x: Any, depth: int) -> bool:
        if len(found) >= _MAX_CLOSURE or depth > 8:
            return False
        if isinstance(x, (tuple, list, dict)):
            items = x.items() if isinstance(x, dict) else enumerate(x)
            found[(id(x), "length")] = len(x)
            return all(visit((id(x), key), v, depth + 1) for key, v in items)
        found[place] = x
        return isinstance(x, (*_ATOMS, ArrayImpl, Tracer, np.ndarray)) or (
            type(x).__weakrefoffset__ != 0
        )

    if isinstance(f, types.FunctionType):
        for cell in f.__closure__ or ():
            try:
                contents = cell.cell_contents
            except ValueError:
                return None
            if not visit((id(cell),), contents, 0):
                return None
    return found


def _reference(x: Any) -> Callable[[], Any]:
    """A weak reference, or a strong one to what cannot refer to anything."""
    if isinstance(x, _ATOMS):
        return lambda: x
    return weakref.ref(x)


# --- constants -----------------------------------------------------------------------------


def join_consts(traced: Sequence[Traced]) -> tuple[list[ClosedJaxpr], list[Any]]:
    """Make the constants of several functions common leading inputs of all their jaxprs.

    Each value occurs once, in the order in which the functions mention them. Functions that are
    the same stay so.
    """
    consts: list[Any] = []
    place: dict[int, int] = {}
    for t in traced:
        for c in t.consts:
            if id(c) not in place:
                place[id(c)] = len(consts)
                consts.append(c)
    if all(len(t.consts) == len(consts) for t in traced):
        orders = [[place[id(c)] for c in t.consts] for t in traced]
        if all(order == list(range(len(consts))) for order in orders):
            return [t.hoisted for t in traced], consts
    key = tuple((id(t), tuple(place[id(c)] for c in t.consts)) for t in traced)
    first = traced[0]
    if key not in first._joined:
        avals = [get_aval(c) for c in consts]
        done: dict[int, ClosedJaxpr] = {}
        for t in traced:
            if id(t) not in done:
                done[id(t)] = _with_consts(t, [place[id(c)] for c in t.consts], avals)
        if len(first._joined) >= _MAX_SIGNATURES:
            first._joined.clear()
        # the functions are kept so that their ids stay theirs
        first._joined[key] = ([done[id(t)] for t in traced], tuple(traced[1:]))
    return first._joined[key][0], consts


def _with_consts(t: Traced, places: Sequence[int], avals: Sequence[Any]) -> ClosedJaxpr:
    own = dict(zip(places, t.jaxpr.constvars, strict=True))
    lead = [own[i] if i in own else Var(a) for i, a in enumerate(avals)]
    return ClosedJaxpr(t.jaxpr.replace(constvars=[], invars=[*lead, *t.jaxpr.invars]), ())


# --- weak types ----------------------------------------------------------------------------


def promote_weak_carry(
    in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray]
) -> list[ShapedArray]:
    """Carry avals where a weakly typed input whose output has another dtype takes the dtype that
    both promote to. Call it with new outputs until nothing changes."""
    new = []
    for a, b in zip(in_avals, out_avals, strict=True):
        if (
            isinstance(a, ShapedArray)
            and isinstance(b, ShapedArray)
            and a.weak_type
            and a.dtype != b.dtype
            and not dtypes.is_extended(b.dtype)
        ):
            dtype, _ = dtypes.promote(((a.dtype, True), (b.dtype, b.weak_type)))
            a = ShapedArray(a.shape, dtype, False) if dtype != a.dtype else a
        new.append(a)
    return new


def convert_carry(values: Sequence[Any], avals: Sequence[ShapedArray]) -> list[Any]:
    """The initial carry in the dtypes of `avals`."""
    return [
        x if get_aval(x).dtype == a.dtype else convert_leaf(x, a)
        for x, a in zip(values, avals, strict=True)
    ]


def convert_leaf(x: Any, aval: ShapedArray) -> Any:
    """A value in another dtype; Python scalars are converted without an operation."""
    if isinstance(x, (bool, int, float, complex)):
        return np.asarray(x, aval.dtype)[()]
    return convert(x, aval.dtype)


def trace_carry(
    f: Callable[..., Any],
    in_tree: Any,
    avals_before: Sequence[ShapedArray],
    init: Sequence[Any],
    avals_after: Sequence[ShapedArray],
    carry_tree: Any,
    traced_for: str,
    check: Callable[[Traced, list[ShapedArray]], None],
) -> tuple[Traced, list[Any], list[ShapedArray]]:
    """Trace a loop's body, promoting weakly typed carries until their types are stable.

    The inputs are `(*avals_before, *carry, *avals_after)`; the first outputs are the new carry.
    `check(traced, carry avals)` raises where the carry's structure or types do not match; it is
    called when no promotion is left. Returns the body, the initial carry in its final types, and
    their avals.
    """
    carry = [get_aval(x) for x in init]
    while True:
        traced = trace(f, in_tree, [*avals_before, *carry, *avals_after], traced_for)
        if len(traced.out_avals) < len(carry):
            new = carry
        else:
            new = promote_weak_carry(carry, traced.out_avals[: len(carry)])
        if new == carry:
            check(traced, carry)
            return traced, convert_carry(init, carry), carry
        carry = new


# --- messages ------------------------------------------------------------------------------


def is_array_like(x: Any) -> bool:
    try:
        get_aval(x)
    except TypeError:
        return False
    return True


def check_leaves(leaves: Sequence[Any]) -> list[Any]:
    """The avals of operands. Raises TypeError naming one that is no array."""
    avals = []
    for x in leaves:
        try:
            avals.append(get_aval(x))
        except OverflowError:
            raise
        except TypeError:
            raise TypeError(f"Argument '{x}' of type {type(x)} is not a valid JAX type") from None
    return avals


def leaf_paths(tree: Any) -> list[str]:
    """The path of every leaf of a structure, like `['a'][0]`."""
    dummy = pytree.tree_unflatten(tree, [object()] * tree.num_leaves)
    return [pytree.keystr(p) for p, _ in pytree.tree_flatten_with_path(dummy)[0]]


def type_difference(a: ShapedArray, b: ShapedArray) -> str:
    """How two avals differ in shape and dtype, as a clause; empty if they do not."""
    what = []
    if a.dtype != b.dtype:
        what.append("the dtypes do not match")
    if a.shape != b.shape:
        what.append("the shapes do not match")
    return ", and ".join(what)


def same_types(a: Sequence[Any], b: Sequence[Any]) -> bool:
    """Whether avals are equal up to weak types."""
    return len(a) == len(b) and all(
        x == y or (isinstance(x, ShapedArray) and x.same_type(y)) for x, y in zip(a, b, strict=True)
    )


def bullets(lines: Sequence[str]) -> str:
    """One sentence, or a list of them."""
    if len(lines) == 1:
        s = lines[0]
        return f"{f'The{s[3:]}' if s.startswith('the ') else s}."
    return "\n".join(f"  * {s};" for s in lines[:-1]) + f"\n  * {lines[-1]}."


def check_carry(
    who: str,
    name: str,
    in_tree: Any,
    in_avals: Sequence[ShapedArray],
    out_tree: Any,
    out_avals: Sequence[ShapedArray],
) -> None:
    """Raise TypeError unless a body's carry output has the structure and types of its input.

    `who` is how the message begins (`while_loop body function`), `name` what the carry argument
    is called in the body.
    """
    if in_tree != out_tree:
        lines = [
            f"the input carry{_component(name, path)} is {a} but the corresponding component of "
            f"the carry output is {b}, so {why}"
            for path, a, b, why in structure_differences(in_tree, out_tree)
        ] or [f"the input carry {name} is {in_tree} but the carry output is {out_tree}"]
        raise TypeError(
            f"{who} carry input and carry output must have the same pytree structure, but they "
            f"differ:\n\n{bullets(lines)}\n\nRevise the function so that the carry output has the "
            "same pytree structure as the carry input."
        )
    if same_types(in_avals, out_avals):
        return
    lines, hints = [], []
    for path, a, b in zip(leaf_paths(in_tree), in_avals, out_avals, strict=True):
        if a == b or (isinstance(a, ShapedArray) and a.same_type(b)):
            continue
        lines.append(
            f"the input carry{_component(name, path)} has type {_type(a)} but the corresponding "
            f"output carry component has type {_type(b)}, so {type_difference(a, b)}"
        )
        hint = _carry_hint(f"{name}{path}", a, b)
        if hint:
            hints.append(hint)
    raise TypeError(
        f"{who} carry input and carry output must have equal types, but they differ:\n\n"
        f"{bullets(lines)}\n\nRevise the function so that all output types match the corresponding "
        "input types." + "".join(f"\n{h}" for h in hints)
    )


def _component(name: str, path: str) -> str:
    return f" component {name}{path}" if path else f" {name}"


def _type(a: Any) -> str:
    return a.str_short(long=True)


def _carry_hint(where: str, a: ShapedArray, b: ShapedArray) -> str:
    """What to change where the carry's dtypes differ."""
    if a.dtype == b.dtype or a.shape != b.shape:
        return ""
    da, db = dtypes.dtype_name(a.dtype), dtypes.dtype_name(b.dtype)
    return (
        f"For {where}: return `.astype({da})` of the new value, or start from a value of dtype "
        f"{db}."
    )


def check_same_outputs(
    who: str, names: Sequence[str], traced: Sequence[Traced], plural: str | None = None
) -> None:
    """Raise TypeError unless all branches return the same structure and types.

    `who` is `cond` or `switch`; `names` is what each branch is called in messages.
    """
    first, n = traced[0], names[0]
    for t, m in zip(traced[1:], names[1:], strict=True):
        where = f"\n\n{n} is {first}\n{m} is {t}\n\n"
        if first.out_tree != t.out_tree:
            lines = [
                f"{n} output{_at(path)} is {a} but {m} output{_at(path)} is {b}, so {why}"
                for path, a, b, why in structure_differences(first.out_tree, t.out_tree)
            ] or [f"{n} output is {first.out_tree} but {m} output is {t.out_tree}"]
            raise TypeError(
                f"{who} branch outputs must have the same pytree structure, but they differ:"
                f"{where}{bullets(lines)}\n\nRevise {n} and/or {m} so that they have the same "
                "pytree structure."
            )
        if same_types(first.out_avals, t.out_avals):
            continue
        lines = [
            f"the output of {n}{_at(path)} has type {_type(a)} but the corresponding output of "
            f"{m} has type {_type(b)}, so {type_difference(a, b)}"
            for path, a, b in zip(leaf_paths(t.out_tree), first.out_avals, t.out_avals, strict=True)
            if not (a == b or (isinstance(a, ShapedArray) and a.same_type(b)))
        ]
        raise TypeError(
            f"{who} branches must have equal output types but they differ.{where}"
            f"{bullets(lines)}\n\nRevise {n} and/or {m} so that all output types match."
        )


def _at(path: str) -> str:
    return f" at path {path}" if path else ""


__all__: list[str] = []
