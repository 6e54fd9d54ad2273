"""Primitives: each is one object that holds all its rules, declared in one place.

A rule is a function with the same signature for every primitive, so that transformations know no
operation by name:

* `abstract(*avals, **params)` -> aval, or a list of avals if `multiple_results`
* `reference(*arrays, **params)` -> NumPy array, or a sequence of them; arguments are NumPy arrays
  of the avals' dtypes; the result is cast to the dtype that `abstract` gave
* `jvp(primitive, primals, tangents, params)` -> (out, tangent out); tangents may be `Zero`
* `transpose(primitive, cts, args, params)` -> one cotangent (or None, or Zero) for each argument;
  the linear arguments are `UndefinedPrimal`
* `batch(primitive, axis, args, dims, params)` -> (out, dim out); dims are ints or None
* optional: `jet(primitive, primals, series, params)` -> (out, series of out)
* optional, for primitives that carry functions: `evaluate`, `stage`, `partial_eval`, `split`
* optional, for them, too: `structure(params)` -> the parameters that say what is computed, where
  others, such as rules of differentiation, do not (see `structure_key.py`)
* optional, for primitives that run Python in the midst of a program: `host(params, where)` -> a
  function of arrays to a sequence of arrays; `where` is the user's source line for messages
* optional: `checkify(primitive, trace, args, params)` -> results, for primitives that report
  run-time errors or carry jaxprs; see `transforms/checkify.py`

`rules.py` has the common forms of them. A rule that cannot exist is declared with `absent(reason)`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from . import trace as _trace
from .avals import NotAnArrayError


class Registry(dict[str, "Primitive"]):
    """Primitives by name.

    Families of primitives are imported when one of them is first used. Whoever looks for a name
    that is not there, or at all names, gets the remaining ones imported first.
    """

    #: Imports all families; set by the package of the primitives.
    import_all: Callable[[], None] | None = None

    def complete(self) -> None:
        """Import the families that are not imported yet."""
        load = self.import_all
        if load is not None:
            load()
            self.import_all = None

    def __missing__(self, name: str) -> Primitive:
        self.complete()
        if dict.__contains__(self, name):
            return dict.__getitem__(self, name)
        raise KeyError(name)

    def __contains__(self, name: object) -> bool:
        if not dict.__contains__(self, name):
            self.complete()
        return dict.__contains__(self, name)

    def get(self, name: str, default: Any = None) -> Any:
        if name not in self:
            self.complete()
        return dict.get(self, name, default)

    def __iter__(self) -> Iterator[str]:
        self.complete()
        return dict.__iter__(self)

    def __len__(self) -> int:
        self.complete()
        return dict.__len__(self)

    def keys(self) -> Any:
        self.complete()
        return dict.keys(self)

    def values(self) -> Any:
        self.complete()
        return dict.values(self)

    def items(self) -> Any:
        self.complete()
        return dict.items(self)


registry = Registry()


class Absent:
    """Declares that a primitive has no such rule, and why."""

    def __init__(self, reason: str):
        self.reason = reason

    def __call__(self, primitive: Primitive, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f"{primitive.name}: {self.reason}")

    def __bool__(self) -> bool:
        return False


def absent(reason: str) -> Any:
    """A rule that does not exist; using it raises NotImplementedError with the reason."""
    return Absent(reason)


class Sample:
    """Sample inputs of a primitive for the generated tests.

    `args` are NumPy arrays, Python scalars, or (shape, dtype) pairs made random by the test with
    values from `low` to `high`; `params` are the primitive's parameters. `grad=False` excludes
    the sample from gradient tests (kinks, integers), `tol` widens the numeric tolerance.
    """

    def __init__(
        self,
        *args: Any,
        low: float = -2.0,
        high: float = 2.0,
        grad: bool = True,
        tol: float | None = None,
        **params: Any,
    ):
        self.args, self.params = args, params
        self.low, self.high, self.grad, self.tol = low, high, grad, tol


class Primitive:
    """An operation with all its rules. See the module's docstring for the rules' signatures."""

    def __init__(
        self,
        name: str,
        *,
        abstract: Callable[..., Any],
        reference: Callable[..., Any] | Absent,
        jvp: Callable[..., Any] | Absent,
        transpose: Callable[..., Any] | Absent,
        batch: Callable[..., Any] | Absent,
        samples: Iterable[Sample] | Callable[[], Iterable[Sample]] = (),
        multiple_results: bool = False,
        effects: Callable[..., frozenset] | None = None,
        evaluate: Callable[..., Any] | None = None,
        stage: Callable[..., Any] | None = None,
        partial_eval: Callable[..., Any] | None = None,
        split: Callable[..., Any] | None = None,
        jet: Callable[..., Any] | None = None,
        axis_names: Callable[[dict], tuple] | None = None,
        dce: Callable[..., Any] | None = None,
        params_text: Callable[[Any], dict] | None = None,
        calls: str | None = None,
        forbidden: Callable[[], Exception] | None = None,
        free: bool = False,
        host: Callable[[dict, str], Callable[..., Any]] | None = None,
        checkify: Callable[..., Any] | None = None,
        structure: Callable[[dict], dict] | None = None,
    ):
        if dict.__contains__(registry, name):
            raise ValueError(f"primitive {name!r} is declared twice")
        self.name = name
        self.abstract_eval = abstract
        self.reference = reference
        self.jvp, self.transpose, self.batch = jvp, transpose, batch
        self._samples = samples
        self.multiple_results = multiple_results
        self.effects = effects
        self.stage = stage
        self.partial_eval = partial_eval
        # Partial evaluation under a policy, see transforms/recompute.py.
        self.split = split
        # Power series, see core/series.py; without a rule the jvp rule serves.
        self.jet = jet
        self.axis_names = axis_names
        self.dce = dce
        self.params_text = params_text
        # The parameter that is a jaxpr which the equation calls with its operands, under the name
        # in the parameter `name`; such jaxprs are printed with the caller's variable names.
        self.calls = calls
        # The error of a program in which this primitive is still there when it is compiled.
        self.forbidden = forbidden
        self.host = host
        self.checkify = checkify
        # The parameters that say what is computed, where others, such as rules, do not.
        self.structure = structure
        # Whether the result takes no work worth mentioning (a reshape, a broadcast, an iota, a
        # conversion): differentiation then runs it again rather than have the result stored.
        self.free = free
        # Where the primitive's programs run: `mesh_of(params)` is a mesh or None.
        self.mesh_of: Callable[[dict], Any] | None = None
        # How it wants its operands to be cut: `wants(params)` is a spec or None for each.
        self.wants: Callable[[dict], Any] | None = None
        # `varies(primitive, avals, params)`: the axes along which (operands must, results do) vary,
        # where that is not all along which an operand does.
        self.varies: Callable[..., Any] | None = None
        # How it runs on parts of its operands, see primitives/partition.py.
        self.partition: Callable[..., Any] | None = None
        self._evaluate = evaluate
        # Result avals by argument avals and parameters; kept by eager evaluation.
        self.results: dict[tuple, Any] = {}
        registry[name] = self

    def bind(self, *args: Any, **params: Any) -> Any:
        """Apply the primitive under the current trace."""
        state = _trace.state
        try:
            if state.check_vma:
                args = _trace.standardize(self, args, params)
            return state.trace.process_primitive(self, args, params)
        except NotAnArrayError as e:
            for i, a in enumerate(args):
                if a is e.value:
                    raise TypeError(
                        f"Error interpreting argument to {self.name} as a JAX value: {a!r} of type "
                        f"{type(a)}, passed at position {i}, is no array. Arrays, NumPy arrays, "
                        "and Python and NumPy scalars are accepted."
                    ) from None
            raise

    def evaluate(self, args: Sequence[Any], params: dict) -> Any:
        """Run on concrete values."""
        if self._evaluate is not None:
            return self._evaluate(self, args, params)
        return default_evaluate(self, args, params)

    @property
    def samples(self) -> list[Sample]:
        s = self._samples
        return list(s() if callable(s) else s)

    def __repr__(self) -> str:
        return self.name


def _unset(primitive: Primitive, args: Sequence[Any], params: dict) -> Any:
    raise RuntimeError("lingon.frontend.core.eager is not loaded")


#: How primitives without an `evaluate` of their own run eagerly; set by core/eager.py.
default_evaluate: Callable[..., Any] = _unset


def sample_array(rng: np.random.Generator, spec: Any, low: float, high: float) -> Any:
    """Make a sample argument: a (shape, dtype) pair becomes a random array, others stay."""
    if not (isinstance(spec, tuple) and len(spec) == 2 and isinstance(spec[0], tuple)):
        return spec
    shape, dtype = spec
    dt = np.dtype(dtype)
    if dt == np.bool_:
        return rng.integers(0, 2, shape).astype(bool)
    if dt.kind == "c":
        parts = rng.uniform(low, high, (2, *shape))
        return np.asarray(parts[0] + 1j * parts[1]).astype(dt)
    if dt.kind in "iu":
        lo = max(int(low), 0) if dt.kind == "u" else int(low)
        return rng.integers(lo, max(int(high), lo + 1) + 1, shape).astype(dt)
    return np.asarray(rng.uniform(low, high, shape)).astype(dt)
