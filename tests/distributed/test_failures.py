"""Processes that fail: the others raise instead of waiting for ever."""

import pytest
from launch import run

#: What happens to process 1 -> what the others are told, and the exit code of all.
ENDS = {
    "kill": ("process 1 has not been heard of for 2 seconds", 9),
    "vanish": ("process 1 has not been heard of for 2 seconds", 4),
    "freeze": ("process 1 has not been heard of for 2 seconds", 5),
    "exit": ("process 1 has ended while", 3),
    "exception": ("process 1 has ended after ValueError: process 1 has had enough while", 1),
}


@pytest.mark.parametrize(
    ("mode", "processes"), [*[(mode, 2) for mode in ENDS], ("kill", 4), ("exception", 4)]
)
def test_a_process_that_ends_makes_the_others_raise(mode, processes):
    text, code = ENDS[mode]
    done = run("failures_program.py", mode, processes=processes, devices=2)
    others = [p for p in range(processes) if p != 1]
    for p in others:
        # With several others, one may hear first of another's failure.
        told = [line for line in done.stdout.splitlines() if line.startswith(f"{p}: raised")]
        assert len(told) == 2, done.stdout
        assert f"{p}: after a while" in done.stdout and f"{p}: end" in done.stdout, done.stdout
    assert text in done.stdout, done.stdout
    assert done.returncode != 0, done.stdout
    if processes == 2:
        assert done.returncode == code, done.stdout


@pytest.mark.parametrize("processes", [2, 3])
def test_a_failed_program_leaves_the_processes_usable(processes):
    done = run("failures_program.py", "callback", processes=processes, devices=2)
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("again True") == 2 * processes, done.stdout
    assert done.stdout.count("raised nothing") == 0, done.stdout
    assert "1: raised" in done.stdout and "ArithmeticError" in done.stdout
    assert "0: raised" in done.stdout


def test_different_programs():
    done = run("failures_program.py", "mismatch", processes=2, devices=2)
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("wait in different collectives or run different programs") == 4
    assert done.stdout.count("again True") == 4


def test_a_slow_process_is_waited_for():
    done = run("failures_program.py", "slow", processes=2)
    assert done.returncode == 0 and done.stdout.count("again True") == 2, done.stdout


def test_a_limit_for_each_collective():
    done = run("failures_program.py", "timeout", processes=2, LINGON_COLLECTIVE_TIMEOUT="1.5")
    assert "0: raised process 0 has waited for 1.5 seconds for processes [1]" in done.stdout
    assert "1: raised" in done.stdout, done.stdout


def test_after_shutdown():
    done = run("failures_program.py", "shutdown", processes=2, devices=2)
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("initialized False") == 2
    assert done.stdout.count("no longer connected") == 2
    assert done.stdout.count("local True") == 2
