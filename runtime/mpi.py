"""Messages between the processes of a program, over MPI. Imported when processes are connected.

All waiting is for requests that do not block, so that it ends when a process that is waited for has
ended, has failed, or has not been heard of for too long: a thread of every process sends all others a
sign of life at intervals.
"""

from __future__ import annotations

import os
import struct
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from lingon.runtime._runtime import set_transport

#: Payloads of up to this size travel together with their header.
SMALL = 1 << 13
#: What a message begins with: what the transport's users call a header, and the payload's size.
HEADER = struct.Struct("<6q")
#: Messages about processes: kind, two numbers; then a text.
CONTROL = struct.Struct("<3q")
ALIVE, ENDED, FAILED = range(3)
#: How long what a process sent before it ended may take to come, and how long the word of a failure.
LINGER, GRACE = 1.0, 0.1
#: How often waiting looks without a pause, and its longest pause afterwards.
SPINS = 200
PAUSE = 1e-3
#: How long to look without a pause for large payloads, in seconds.
BUSY, BUSY_PER_BYTE = 5e-3, 2e-9

Header = tuple[int, int, int, int, int]


def _import() -> tuple[Any, bool]:
    """mpi4py's MPI, and whether it is left to us to finalize it."""
    try:
        import mpi4py
    except ImportError:
        raise ImportError(
            "lingon.distributed needs mpi4py: pip install 'lingon[distributed]', and an MPI library "
            "such as the system's or pip install mpich"
        ) from None
    owned = "mpi4py.MPI" not in sys.modules and mpi4py.rc.finalize is None
    if owned:
        mpi4py.rc.finalize = False
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        raise ImportError(
            f"mpi4py finds no MPI library ({error}): install MPICH or Open MPI, for example with "
            "pip install mpich"
        ) from error
    return MPI, owned


class Processes:
    """The processes of one MPI program.

    Args:
      timeout: after how many seconds without a sign of life a process counts as lost.
      start_timeout: how many seconds to wait for all processes to come here.
      error: the exception type of failures.
      collective_timeout: how many seconds an exchange may take, or None.

    Raises ImportError without mpi4py or an MPI library, `error` where MPI is not to be used with
    threads or processes do not come. Attributes: `index`, `count`, `neighbours` (the number of
    processes on this machine).
    """

    def __init__(
        self,
        *,
        timeout: float,
        start_timeout: float,
        error: type[Exception],
        collective_timeout: float | None = None,
    ):
        self.MPI, self.owns_mpi = _import()
        mpi = self.MPI
        self.timeout, self.error, self.collective_timeout = timeout, error, collective_timeout
        if mpi.Query_thread() < mpi.THREAD_MULTIPLE:
            raise error("lingon.distributed needs an MPI library that may be used by all threads")
        world = mpi.COMM_WORLD
        self.index, self.count = world.Get_rank(), world.Get_size()
        self.others = [p for p in range(self.count) if p != self.index]
        self.pid = os.getpid()
        self.data = self._duplicate(world, start_timeout)
        self.control = self._duplicate(world, start_timeout)
        node = self.data.Split_type(mpi.COMM_TYPE_SHARED)
        self.neighbours = node.Get_size()
        node.Free()
        #: When each process was last heard of.
        self.heard = dict.fromkeys(self.others, time.monotonic())
        #: Processes that take part no more: when that was heard, and why.
        self.ended: dict[int, tuple[float, str]] = {}
        #: The last run of each mesh that has failed, here or there.
        self.failed_there: dict[int, tuple[int, int, str]] = {}
        self.failed_here: dict[int, int] = {}
        #: The last error that another process' failure has caused here, and its cause.
        self.told: tuple[Any, str] = (None, "")
        #: Beginnings of messages of later runs, which are still to be taken in.
        self.early: dict[tuple[int, int], bytearray] = {}
        #: Sizes of payloads to come that nobody wants.
        self.owed: dict[tuple[int, int], list[int]] = {}
        #: Sends of failed exchanges, with what they send.
        self.abandoned: list[tuple[Any, Any]] = []
        self.signs: dict[int, Any] = {}
        self.rounds = 0
        self.lock = threading.Lock()
        self.closing = threading.Event()
        self.thread = threading.Thread(target=self._live, name="lingon signs of life", daemon=True)
        if self.others:
            self.thread.start()
        set_transport(self)

    def _duplicate(self, comm: Any, timeout: float) -> Any:
        new, request = comm.Idup()
        end = time.monotonic() + timeout
        while not request.Test():
            if time.monotonic() > end:
                raise self.error(
                    f"the {self.count} processes did not all call lingon.distributed.initialize() "
                    f"within {timeout:g} seconds"
                )
            time.sleep(PAUSE)
        return new

    # --- signs of life ------------------------------------------------------------------------

    def _live(self) -> None:
        pause = min(max(self.timeout / 10, 0.02), 10.0)
        while not self.closing.wait(pause):
            try:
                for p in self.others:
                    if p in self.ended:
                        continue
                    last = self.signs.get(p)
                    if last is None or last[0].Test():
                        self.signs[p] = self._tell(p, ALIVE)
                self._listen()
            except self.MPI.Exception:
                # The connection is broken; those that wait find out by the time that passes.
                time.sleep(pause)

    def _tell(self, process: int, kind: int, a: int = 0, b: int = 0, text: str = "") -> Any:
        """Send a message about processes; returns the request and what it sends."""
        message = CONTROL.pack(kind, a, b) + text.encode()
        return self.control.Isend([message, self.MPI.BYTE], process, 0), message

    def _listen(self) -> None:
        """Take in what has come about processes."""
        if not self.lock.acquire(blocking=False):
            return
        try:
            status = self.MPI.Status()
            while self.control.Iprobe(self.MPI.ANY_SOURCE, 0, status):
                source = status.Get_source()
                message = bytearray(status.Get_count(self.MPI.BYTE))
                self.control.Recv([message, self.MPI.BYTE], source, 0)
                kind, a, b = CONTROL.unpack_from(message)
                text = message[CONTROL.size :].decode(errors="replace")
                self.heard[source] = time.monotonic()
                if kind == ENDED:
                    self.ended.setdefault(source, (time.monotonic(), text))
                elif kind == FAILED:
                    if b > self.failed_there.get(a, (0,))[0]:
                        self.failed_there[a] = (b, source, text)
        finally:
            self.lock.release()

    def _check(self, wanted: Sequence[int], header: Header, began: float) -> None:
        """Raise if waiting for these processes is in vain."""
        self._listen()
        now = time.monotonic()
        failed = self.failed_there.get(header[0])
        if failed is not None and failed[0] >= header[1]:
            error = self.error(
                f"the program has failed in process {failed[1]} while process {self.index} waits "
                f"for it in a collective: {failed[2]}"
            )
            self.told = error, failed[2]
            raise error
        for p in wanted:
            if p in self.ended and now - self.ended[p][0] > LINGER:
                raise self.error(
                    f"process {p} has ended{self.ended[p][1]} while process {self.index} waits for "
                    "it in a collective"
                )
            if p not in self.ended and now - max(self.heard[p], began) > self.timeout:
                raise self.error(
                    f"process {p} has not been heard of for {self.timeout:g} seconds while process "
                    f"{self.index} waits for it in a collective: it is lost"
                )
        if self.collective_timeout is not None and now - began > self.collective_timeout:
            raise self.error(
                f"process {self.index} has waited for {self.collective_timeout:g} seconds for "
                f"processes {sorted(wanted)} in a collective"
            )

    # --- exchanges ------------------------------------------------------------------------------

    def exchange(self, tag: int, header: Header, failed: Any, peers: Sequence[Any]) -> None:
        """Send to and receive from processes. See runtime/processes.h."""
        _Exchange(self, tag + 1, header, failed, peers).run()

    def abort(self, mesh: int, run: int, processes: Sequence[int], error: Any) -> None:
        """Tell processes that a run of programs has failed here, and why."""
        self.failed_here[mesh] = run
        told, cause = self.told
        self.told = None, ""
        why = cause
        if told is not error:
            first = str(error).strip().partition("\n")[0]
            why = f"process {self.index}: {type(error).__name__}: {first}"[:300]
        for p in processes:
            if p not in self.ended:
                self.abandoned.append(self._tell(p, FAILED, mesh, run, why))

    def allgather(self, data: Any, name: int = 0) -> list[bytes]:
        """The bytes that all processes give, in order. All must call it with one `name`."""
        data = bytes(data)
        out = [data] * self.count
        if not self.others:
            return out
        self.rounds += 1
        mine = struct.pack("<q", len(data))
        sizes = {p: bytearray(8) for p in self.others}
        alive = b"\0"
        header = (-1, self.rounds, name)
        _Exchange(
            self, 0, (*header, 0, 0), alive, [(p, mine, memoryview(sizes[p])) for p in self.others]
        ).run()
        parts = {p: bytearray(struct.unpack("<q", sizes[p])[0]) for p in self.others}
        peers = [(p, data or None, memoryview(b) if b else None) for p, b in parts.items()]
        _Exchange(self, 0, (*header, 1, 0), alive, peers).run()
        for p, b in parts.items():
            out[p] = bytes(b)
        return out

    # --- the end ----------------------------------------------------------------------------------

    def close(self, timeout: float, why: str = "") -> None:
        """Tell the others that this process takes part no more.

        Without a reason `why`, waits up to `timeout` seconds until the others have said so, too, and
        ends MPI's part in an orderly way.
        """
        if self.pid != os.getpid():
            return
        set_transport(None)
        told = [self._tell(p, ENDED, text=why) for p in self.others]
        end = time.monotonic() + (LINGER if why else timeout)
        orderly = not why
        while not all(request.Test() for request, _ in told):
            if time.monotonic() > end:
                orderly = False
                break
            time.sleep(PAUSE)
        while orderly and len(self.ended) < len(self.others):
            self._listen()
            now = time.monotonic()
            waiting = [p for p in self.others if p not in self.ended]
            orderly = now < end and all(now - self.heard[p] < self.timeout for p in waiting)
            time.sleep(PAUSE)
        orderly = orderly and not any(text for _, text in self.ended.values())
        self.closing.set()
        if self.others:
            self.thread.join()
        self.orderly = orderly

    def finalize(self) -> None:
        """At the end of the process: leave MPI, without waiting for processes that are gone."""
        if self.pid != os.getpid() or self.MPI.Is_finalized():
            return
        if self.orderly:
            if self.owns_mpi:
                self.MPI.Finalize()
        elif not self.owns_mpi:
            # mpi4py would wait for all processes for ever.
            sys.stdout.flush()
            sys.stderr.flush()
            self.MPI.COMM_WORLD.Abort(1)


class _Exchange:
    """Messages to and from some processes: one to each, and one from each."""

    def __init__(
        self, link: Processes, tag: int, header: Header, failed: Any, peers: Sequence[Any]
    ):
        self.link, self.tag, self.header, self.failed = link, tag, header, failed
        self.peers = peers
        self.byte = link.MPI.BYTE
        #: What is under way: requests, what they send, and what is done when they are complete.
        self.sends: list[tuple[Any, Any]] = []
        self.receives: dict[int, tuple[Any, Any, Callable[..., None]]] = {}
        self.wanted = {p: view for p, _, view in peers if view is not None}
        self.bytes = sum(memoryview(x).nbytes for _, *both in peers for x in both if x is not None)

    def run(self) -> None:
        """Exchange everything; raises the link's error where that cannot be."""
        try:
            self._run()
        except self.link.MPI.Exception as error:
            self._give_up()
            raise self.link.error(
                f"MPI failed in a collective of process {self.link.index}: {error}"
            ) from error
        except BaseException:
            self._give_up()
            raise
        finally:
            # The memory is the caller's: nobody may look at it later.
            self.receives.clear()
            for view in (self.failed, *self.wanted.values()):
                if isinstance(view, memoryview):
                    view.release()

    def _run(self) -> None:
        link, comm = self.link, self.link.data
        for p in self.wanted:
            self._receive_next(p)
        for p, data, _ in self.peers:
            if data is None:
                continue
            size = memoryview(data).nbytes
            head = HEADER.pack(*self.header, size)
            if size <= SMALL:
                head += bytes(data)
            self.sends.append((comm.Isend([head, self.byte], p, self.tag), head))
            if size > SMALL:
                self.sends.append((comm.Isend([data, self.byte], p, self.tag), data))
        began = time.monotonic()
        # MPI moves large payloads only while it is called.
        patience = began + (BUSY + self.bytes * BUSY_PER_BYTE if self.bytes > SMALL else 0.0)
        looks = 0
        while True:
            for p, (request, buffer, then) in list(self.receives.items()):
                if request.Test():
                    del self.receives[p]
                    then(p, buffer)
                    looks = 0
            if self.sends:
                self.sends = [s for s in self.sends if not s[0].Test()]
            if not self.receives and not self.sends:
                return
            if self.failed[0]:
                raise link.error("a collective is given up: another device's program has failed")
            looks += 1
            if looks % SPINS == 0:
                others = list(self.receives) or [p for p, data, _ in self.peers if data is not None]
                link._check(others, self.header, began)
            if looks > SPINS and time.monotonic() < patience:
                os.sched_yield()
            elif looks > SPINS:
                time.sleep(min(PAUSE, 2e-5 * (looks - SPINS) ** 0.5))

    def _receive(self, p: int, buffer: Any, then: Callable[..., None]) -> None:
        request = self.link.data.Irecv([buffer, self.byte], p, self.tag)
        self.receives[p] = (request, buffer, then)

    def _receive_next(self, p: int, *_: Any) -> None:
        """Wait for the next message, after payloads that nobody wants."""
        owed = self.link.owed.get((p, self.tag))
        early = self.link.early.pop((p, self.tag), None)
        if owed:
            self._receive(p, bytearray(owed.pop(0)), self._receive_next)
        elif early is not None:
            self._message(p, early)
        else:
            self._receive(p, bytearray(HEADER.size + SMALL), self._message)

    def _message(self, p: int, buffer: bytearray) -> None:
        *header, size = HEADER.unpack_from(buffer)
        view = self.wanted[p]
        if tuple(header) == self.header and size == view.nbytes:
            if size <= SMALL:
                view[:] = buffer[HEADER.size : HEADER.size + size]
            else:
                self._receive(p, view, lambda *_: None)
            return
        if header[0] == self.header[0] and header[1] > self.header[1]:
            self.link.early[p, self.tag] = buffer
            # Why it has left may be told a moment later.
            began = time.monotonic()
            while time.monotonic() < began + GRACE:
                self.link._check((), self.header, began)
                time.sleep(PAUSE)
            raise self.link.error(
                f"process {p} has left the program, which has failed there or has no such collective, "
                f"while process {self.link.index} waits for it in a collective"
            )
        if size > SMALL:
            self.link.owed.setdefault((p, self.tag), []).append(size)
        if header[1] <= self.link.failed_here.get(header[0], -1):
            self._receive_next(p)  # of a run that has failed
            return
        raise self.link.error(
            f"processes {self.link.index} and {p} wait in different collectives or run different "
            "programs: all processes must run the same ones in the same order"
        )

    def _give_up(self) -> None:
        """Leave nothing behind that could be taken for a part of a later exchange."""
        link = self.link
        link.abandoned = [s for s in link.abandoned if not s[0].Test()] + self.sends
        for p, (request, buffer, then) in self.receives.items():
            owed = link.owed.setdefault((p, self.tag), [])
            status = link.MPI.Status()
            request.Cancel()
            request.Wait(status)
            if then != self._message:
                if status.Is_cancelled():  # a payload that has not come yet
                    owed.insert(0, memoryview(buffer).nbytes)
            elif not status.Is_cancelled():
                size = HEADER.unpack_from(buffer)[-1]
                if size > SMALL:
                    owed.append(size)
