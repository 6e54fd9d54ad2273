"""vmap as users call it: axes as pytrees, checks, errors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..core import pytree
from ..core.avals import get_aval
from .api_util import FlatFun, argument_names, check_callable, wraps
from .batching import Axis, batch_flat, move_batch_axis
from .fused import fuse


def broadcast_prefix(prefix: Any, tree: Any, what: str) -> list[Any]:
    """One entry of `prefix` for each leaf of `tree`, None being an entry.

    Raises ValueError where `prefix` is no tree prefix of `tree`.
    """
    is_none = lambda x: x is None  # noqa: E731
    try:
        return pytree.broadcast_prefix(prefix, tree, is_leaf=is_none)
    except ValueError as e:
        text = str(e).replace("<ROOT>", what)
        raise ValueError(
            f"{what} specification must be a tree prefix of the corresponding value; {text}"
        ) from None


def _mapped_size(
    who: str,
    fun: Any,
    in_tree: Any,
    leaves: Sequence[Any],
    dims: Sequence[Any],
    axis_size: int | None,
) -> int:
    sizes: list[tuple[int, int, int]] = []
    for i, (x, d) in enumerate(zip(leaves, dims, strict=True)):
        if d is None:
            continue
        try:
            shape = get_aval(x).shape
        except TypeError:
            raise TypeError(f"Argument '{x}' of type {type(x)} is not a valid JAX type") from None
        if not isinstance(d, int):
            raise TypeError(f"{who} in_axes must be an int, None, or a pytree of them, got {d!r}")
        rank = len(shape)
        if not -rank <= d < rank:
            need = d + 1 if d >= 0 else -d
            raise ValueError(
                f"{who} was requested to map its argument along axis {d}, which implies that its "
                f"rank should be at least {need}, but is only {rank} (its shape is {shape})"
            )
        sizes.append((i, d, shape[d]))
    found = {s for _, _, s in sizes} | ({axis_size} if axis_size is not None else set())
    if len(found) == 1:
        return next(iter(found))
    if not found:
        raise ValueError(
            f"{who} must have at least one non-None value in in_axes or axis_size must be specified"
        )
    names = argument_names(fun, in_tree)
    by_size: dict[int, list[str]] = {}
    for i, d, s in sizes:
        aval = get_aval(leaves[i])
        by_size.setdefault(s, []).append(
            f"axis {d} of argument {names[i]} of type {aval.str_short(long=True)}"
        )
    lines = []
    if axis_size is not None:
        lines.append(f"  * the `axis_size` argument was {axis_size};")
    most = max(len(v) for v in by_size.values())
    for s, where in sorted(by_size.items(), key=lambda kv: -len(kv[1])):
        if len(where) == 1:
            lines.append(f"  * one axis had size {s}: {where[0]};")
        else:
            count = "most" if len(where) == most and len(by_size) > 1 else "some"
            lines.append(f"  * {count} axes ({len(where)} of them) had size {s}, e.g. {where[0]};")
    text = "\n".join(lines).rstrip(";")
    raise ValueError(f"{who} got inconsistent sizes for array axes to be mapped:\n{text}")


def vmap(
    fun: Callable,
    in_axes: Any = 0,
    out_axes: Any = 0,
    axis_name: Any = None,
    axis_size: int | None = None,
    spmd_axis_name: Any = None,
    sum_match: bool = False,
) -> Callable:
    """Vectorize `fun`: it sees single elements, the result maps it over array axes.

    Args:
      in_axes: which axis of each argument to map: an int, None (not mapped), or a tuple (or list)
        with an entry per positional argument, each a pytree prefix of the argument.
      out_axes: where the mapped axis goes in the results; a pytree prefix of the output.
      axis_name: name under which collectives such as `lax.psum` refer to the axis.
      axis_size: size of the axis, needed only when nothing is mapped.

    Keyword arguments are always mapped over axis 0. Raises ValueError for axes that do not fit.
    """
    check_callable(fun)
    if isinstance(in_axes, list):
        in_axes = tuple(in_axes)
    if not (in_axes is None or isinstance(in_axes, (int, tuple))):
        raise TypeError(
            "vmap in_axes must be an int, None, or a tuple of entries corresponding to the "
            f"positional arguments passed to the function, but got {in_axes}."
        )
    for leaf in pytree.tree_leaves(in_axes):
        if not isinstance(leaf, int):
            raise TypeError(
                "vmap in_axes must be an int, None, or (nested) container with those types as "
                f"leaves, but got {in_axes}."
            )
    for leaf in pytree.tree_leaves(out_axes):
        if not isinstance(leaf, int):
            raise TypeError(
                "vmap out_axes must be an int, None, or (nested) container with those types as "
                f"leaves, but got {out_axes}."
            )

    @wraps(fun)
    def vmap_f(*args: Any, **kwargs: Any) -> Any:
        if isinstance(in_axes, tuple) and len(in_axes) != len(args):
            raise ValueError(
                "vmap in_axes must be an int, None, or a tuple of entries corresponding to the "
                f"positional arguments passed to the function, but got {len(in_axes)=}, {len(args)=}"
            )
        leaves, in_tree = pytree.tree_flatten((args, kwargs))
        if not leaves and axis_size is None:
            raise ValueError(
                "vmap wrapped function must be passed at least one argument containing an array or "
                f"axis_size must be specified, got empty *args={args} and **kwargs={kwargs}"
            )
        arg_dims = broadcast_prefix(in_axes, args, "vmap in_axes")
        dims = [*arg_dims, *[0] * (len(leaves) - len(arg_dims))]
        size = _mapped_size("vmap", fun, in_tree, leaves, dims, axis_size)
        dims = [
            d if d is None else d % len(get_aval(x).shape)
            for x, d in zip(leaves, dims, strict=True)
        ]
        flat = FlatFun(fun, in_tree)

        def run(*xs: Any) -> list[Any]:
            outs = flat(*xs)
            for o in outs:
                try:
                    get_aval(o)
                except TypeError:
                    raise TypeError(
                        f"Output from batched function {o!r} with type {type(o)} is not a valid "
                        "JAX type"
                    ) from None
            return outs

        outs, out_dims = batch_flat(run, Axis(size, axis_name), leaves, dims)
        example = pytree.tree_unflatten(flat.out_tree, outs)
        wanted = broadcast_prefix(out_axes, example, "vmap out_axes")
        results = [
            _place(size, d, w, o, i, flat.out_tree)
            for i, (o, d, w) in enumerate(zip(outs, out_dims, wanted, strict=True))
        ]
        return pytree.tree_unflatten(flat.out_tree, results)

    return fuse(fun, vmap_f, ("vmap", in_axes, out_axes, axis_name, axis_size))


def _place(size: int, dim: int | None, want: int | None, x: Any, i: int, out_tree: Any) -> Any:
    if want is None:
        if dim is not None:
            tree = pytree.tree_unflatten(out_tree, range(out_tree.num_leaves))
            path = pytree.keystr(pytree.tree_flatten_with_path(tree)[0][i][0])
            raise ValueError(
                f"at vmap out_axes{path}, got axis spec None but output was batched on axis {dim}"
            )
        return x
    rank = len(get_aval(x).shape) + (dim is None)
    if not -rank <= want < rank:
        raise ValueError(f"axis {want} is out of bounds for array of dimension {rank}")
    return move_batch_axis(size, dim, want % rank, x)
