"""Random programs in random stacks of transformations: machine code against the interpreter."""

from __future__ import annotations

from typing import Any

import culprit
import pytest
from checking import compiled, differences
from hypothesis import HealthCheck, given, settings
from random_programs import Program, inputs, program_strategy, run

import lingon


class Mismatch(AssertionError):
    """The compiled program is wrong."""

    def __init__(self, program: Program, what: list[str]):
        super().__init__("\n".join(what))
        self.program = program


def check(program: Program) -> None:
    """Raise Mismatch where compiled code and interpreter differ by more than rounding explains."""
    args = inputs(len(program.steps))
    closed = lingon.make_jaxpr(lambda *xs: run(program, xs))(*args)
    what = differences(compiled(closed, args), closed, args)
    if what:
        raise Mismatch(program, what)


PARTS = 4


@pytest.mark.parametrize("part", range(PARTS))
def test_compiled_programs_agree_with_the_interpreter(
    part: int, request: pytest.FixtureRequest
) -> None:
    count = 20_000 if request.config.getoption("--full") else 2_000

    @settings(
        max_examples=count // PARTS,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        print_blob=False,
    )
    @given(program_strategy(depth=part if part < 3 else 3))
    def programs_agree(program: Any) -> None:
        check(program)

    try:
        programs_agree()
    except Mismatch as e:
        pytest.fail(f"{e}\n{e.program}\n{culprit.report(e.program)}", pytrace=False)


def test_a_wrong_result_is_noticed_and_blamed_on_the_pass_that_made_it() -> None:
    """The check itself can fail: a pass that swaps operands is found."""
    program = Program((culprit.SUBTRACTION,))
    with culprit.planted_fault():
        with pytest.raises(Mismatch):
            check(program)
        assert "swap-subtractions" in culprit.report(program)
