"""Solutions of equations, differentiated implicitly whatever the solver does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..core import pytree
from ..core.interpreter import eval_closed
from ..core.tracebacks import boundary
from ..primitives.linear_solve import LinearSolveTuple, bind_solve, transposed_map
from ..transforms.autodiff import jvp, linearize
from ..transforms.custom_rules import SymbolicZero, custom_jvp, zero_from_primal
from .control_flow_util import Traced, check_leaves, trace
from .elementwise import neg

__all__ = ["custom_linear_solve", "custom_root"]


def _in_tree(*trees: Any) -> Any:
    """The structure of `(args, {})`."""
    return pytree.treedef_tuple([pytree.treedef_tuple(trees), pytree.tree_structure({})])


def _split_aux(who: str, traced: Traced, has_aux: bool) -> tuple[Any, Any]:
    """The structures of a solver's solution and of its auxiliary data."""
    tree = traced.out_tree
    if not has_aux:
        return tree, None
    children = tree.children() if tree.node_data() and tree.node_data()[0] is tuple else ()
    if len(children) != 2:
        raise ValueError(
            f"{who}() produced a pytree with structure {tree}, but a pytree tuple with auxiliary "
            "output was expected because has_aux was set to True."
        )
    return children[0], children[1]


# --- linear equations ----------------------------------------------------------------------


@boundary
def custom_linear_solve(
    matvec: Callable,
    b: Any,
    solve: Callable[[Callable, Any], Any],
    transpose_solve: Callable[[Callable, Any], Any] | None = None,
    symmetric: bool = False,
    has_aux: bool = False,
) -> Any:
    """Solve `matvec(x) == b` by `solve(matvec, b)`, differentiated as the solution of that equation.

    Args:
      matvec: a linear function, differentiable in what it closes over.
      b: the right-hand side, a pytree of arrays.
      solve: function of `matvec` and a right-hand side like `b` to the solution. It need not be
        differentiable.
      transpose_solve: the same for the transposed equation; it is given the transpose of `matvec`.
        Reverse mode needs it.
      symmetric: whether matvec is its own transpose; `solve` then solves the transposed equation.
      has_aux: whether the solvers return a pair of the solution and auxiliary data, which has no
        derivative.

    Returns the solution, or the pair. What is solved is not checked.

    Raises ValueError where a function's results have other shapes than `b`; in reverse mode
    TypeError where there is no transposed solver.
    """
    for name, f in (("matvec", matvec), ("solve", solve), ("transpose_solve", transpose_solve)):
        if not callable(f) and not (f is None and name == "transpose_solve"):
            raise TypeError(f"custom_linear_solve: {name} must be callable, got {f!r}")
    leaves, tree = pytree.tree_flatten(b)
    avals = check_leaves(leaves)
    one = _in_tree(tree)

    def checked(who: str, traced: Traced, out_tree: Any) -> None:
        shapes = [a.shape for a in traced.out_avals[: out_tree.num_leaves]]
        want = [a.shape for a in avals]
        if shapes != want:
            raise ValueError(f"{who}() output shapes must match b, got {shapes} and {want}")
        if out_tree != tree:
            raise TypeError(
                f"{who}() output pytree structure must match b, got {out_tree} and {tree}."
            )

    mv = trace(matvec, one, avals, "custom_linear_solve")
    checked("matvec", mv, mv.out_tree)
    solver = trace(lambda rhs: solve(matvec, rhs), one, avals, "custom_linear_solve")
    x_tree, _ = _split_aux("solve", solver, has_aux)
    checked("solve", solver, x_tree)
    back = vm = None
    vm_consts: list[Any] = []
    if symmetric:
        vm, vm_consts, back = mv.hoisted, mv.consts, solver
        if transpose_solve is not None:
            back = trace(lambda rhs: transpose_solve(matvec, rhs), one, avals, "transpose_solve")
    elif transpose_solve is not None:
        vm, vm_consts = transposed_map(mv.hoisted, len(mv.consts)), mv.consts

        def vecmat(y: Any) -> Any:
            ys, y_tree = pytree.tree_flatten(y)
            if y_tree != tree:
                raise TypeError(f"vecmat takes a pytree like b, {tree}, got {y_tree}")
            return pytree.tree_unflatten(tree, eval_closed(vm, *mv.consts, *ys))

        back = trace(lambda rhs: transpose_solve(vecmat, rhs), one, avals, "transpose_solve")
    if back is not None:
        back_tree, _ = _split_aux("transpose_solve", back, has_aux)
        checked("transpose_solve", back, back_tree)
    jaxprs = LinearSolveTuple(
        mv.hoisted, vm, solver.hoisted, None if back is None else back.hoisted
    )
    consts = [mv.consts, vm_consts, solver.consts, [] if back is None else back.consts]
    outs = bind_solve(jaxprs, consts, leaves)
    return pytree.tree_unflatten(solver.out_tree, outs)


# --- roots ---------------------------------------------------------------------------------


@boundary
def custom_root(
    f: Callable,
    initial_guess: Any,
    solve: Callable[[Callable, Any], Any],
    tangent_solve: Callable[[Callable, Any], Any],
    has_aux: bool = False,
) -> Any:
    """A root of `f`, found by `solve(f, initial_guess)` and differentiated implicitly.

    Args:
      f: function of one pytree of arrays to one of the same structure; the result is differentiated
        with respect to what `f` closes over.
      initial_guess: where the solver begins.
      solve: function of `f` and the guess to x with f(x) = 0. It need not be differentiable.
      tangent_solve: function of a linear function `g` (`f` linearized at the root) and `y` to x with
        g(x) = y; for scalars `lambda g, y: y / g(1.0)`.
      has_aux: whether `solve` returns a pair of the root and auxiliary data, which has no derivative.

    The derivative is that of the implicit function theorem: df/dx dx = -df/da da.

    Raises TypeError for functions that cannot be called and for results of another structure than
    `initial_guess`.
    """
    for name, g in (("f", f), ("solve", solve), ("tangent_solve", tangent_solve)):
        if not callable(g):
            raise TypeError(f"custom_root: {name} must be callable, got {g!r}")
    guess, tree = pytree.tree_flatten(initial_guess)
    avals = check_leaves(guess)
    fun = trace(f, _in_tree(tree), avals, "custom_root")
    _same_structure("f", fun.out_tree, tree, "initial_guess")
    solver = trace(lambda x: solve(f, x), _in_tree(tree), avals, "custom_root")
    x_tree, _ = _split_aux("solve", solver, has_aux)
    _same_structure("solve", x_tree, tree, "initial_guess")
    x_avals = solver.out_avals[: tree.num_leaves]

    def linear_solve(x: Any, y: Any) -> Any:
        _, push = linearize(f, x)
        out = tangent_solve(push, y)
        _same_structure("tangent_solve", pytree.tree_structure(out), tree, "x")
        return out

    y_avals = [a.at_least_vspace() for a in fun.out_avals]
    tangent = trace(linear_solve, _in_tree(tree, tree), [*x_avals, *y_avals], "custom_root")
    a, b, c = len(fun.consts), len(solver.consts), len(tangent.consts)

    def _custom_root(*args: Any) -> list[Any]:
        return eval_closed(solver.hoisted, *args[a : a + b], *args[a + b + c :])

    root = custom_jvp(_custom_root)

    def _root_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        out = root(*primals)
        x, aux = out[: tree.num_leaves], out[tree.num_leaves :]
        live = [type(t) is not SymbolicZero for t in tangents[:a]]
        if not any(live):
            return out, [zero_from_primal(o, symbolic_zeros=True) for o in out]

        def at_root(*moving: Any) -> list[Any]:
            it = iter(moving)
            consts = [next(it) if nz else p for p, nz in zip(primals[:a], live, strict=True)]
            return eval_closed(fun.hoisted, *consts, *x)

        ps, ts = ([v for v, nz in zip(vs, live, strict=False) if nz] for vs in (primals, tangents))
        _, change = jvp(at_root, ps, ts)
        dx = eval_closed(tangent.hoisted, *primals[a + b : a + b + c], *x, *map(neg, change))
        return out, [*dx, *[zero_from_primal(o, symbolic_zeros=True) for o in aux]]

    root.defjvp(_root_jvp, symbolic_zeros=True)
    outs = root(*fun.consts, *solver.consts, *tangent.consts, *guess)
    return pytree.tree_unflatten(solver.out_tree, outs)


def _same_structure(who: str, tree: Any, want: Any, like: str) -> None:
    if tree != want:
        raise TypeError(
            f"{who}() output pytree structure must match {like}, got {tree} and {want}."
        )
