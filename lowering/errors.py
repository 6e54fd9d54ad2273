"""The exceptions of the lowering layer."""

from __future__ import annotations


class CompilationError(RuntimeError):
    """A program could not be compiled.

    Attributes:
        stage: name of the stage that was being produced, or None.
        step: the pass or step that failed, or None.
        ir: the text of the program just before the failing step, or None.
    """

    def __init__(
        self,
        message: str,
        *,
        stage: str | None = None,
        step: str | None = None,
        ir: str | None = None,
    ) -> None:
        self.stage = stage
        self.step = step
        self.ir = ir
        where = []
        if stage is not None:
            where.append(f"stage {stage}")
        if step is not None:
            where.append(f"step {step}")
        prefix = f"compilation failed ({', '.join(where)}): " if where else "compilation failed: "
        text = prefix + message
        if ir is not None:
            text += "\n--- program before the failing step ---\n" + _shorten(ir)
        super().__init__(text)


class UsageError(ValueError):
    """Something asked of the compiler that does not exist, such as an unknown stage name."""


def _shorten(text: str, limit: int = 4000) -> str:
    if len(text) <= limit:
        return text
    return text[:limit] + f"\n... ({len(text) - limit} more characters; see the exception's .ir)"
