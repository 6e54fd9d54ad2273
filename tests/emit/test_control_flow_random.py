"""Random programs of nested loops and conditionals against jax."""

from __future__ import annotations

import jax
import pytest
from control_flow_programs import program
from emit_oracle import check


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Blocks of ten programs: six, or a hundred of them."""
    blocks = 100 if metafunc.config.getoption("--full") else 6
    metafunc.parametrize("block", range(blocks))


def test_programs(block):
    with jax.enable_x64(False):
        for seed in range(10 * block, 10 * block + 10):
            function, arguments = program(seed)
            try:
                check(function, *arguments, rtol=2e-4, atol=2e-5)
            except Exception as error:
                raise AssertionError(f"program {seed}: {error}") from error
