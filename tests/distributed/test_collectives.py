"""Collectives between real MPI processes."""

import pytest
from launch import check


@pytest.mark.parametrize("what", ["reductions", "moves", "groups", "programs", "stress"])
@pytest.mark.parametrize(("processes", "devices"), [(2, 2), (4, 1)])
def test_collectives(what, processes, devices):
    out = check("collectives_program.py", what, processes=processes, devices=devices)
    assert out.count("good") == processes


def test_parts_of_large_results_with_several_devices_each():
    out = check("collectives_program.py", "stress", "7", processes=3, devices=2)
    assert out.count("good") == 3
