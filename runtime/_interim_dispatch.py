"""Call path of jitted functions in Python, until the compiled one is built in."""

from __future__ import annotations

from typing import Any


def set_global_config(fingerprint: int, x64: bool) -> None:
    pass


def set_thread_config(fingerprint: int, x64: bool | None) -> None:
    pass


def set_tracing(tracing: bool) -> None:
    pass


def pool_stats() -> dict[str, int]:
    return {}


class JitDispatch:
    def __init__(self, miss: Any, fun: Any, static_argnums: Any, static_argnames: Any):
        self.miss = miss

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.miss(args, kwargs)[0]

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        import functools

        return self if instance is None else functools.partial(self, instance)

    def clear_fast_cache(self) -> None:
        pass

    @staticmethod
    def clear_all() -> None:
        pass
