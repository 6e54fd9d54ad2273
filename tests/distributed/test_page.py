"""The code of docs/distributed.md runs, and the example reaches the loss of one process."""

import re

import pytest
from launch import check


@pytest.mark.parametrize(("processes", "devices"), [(2, 1), (3, 2)])
def test_the_page(processes, devices):
    out = check("page_program.py", processes=processes, devices=devices)
    assert out.count("good") == processes


def test_example():
    out = check("../../examples/digits_mpi.py", "--steps", "40", "--check", processes=2)
    losses = re.findall(r"loss (\S+),", out)
    assert len(losses) == 2 and losses[0] == losses[1], out
