"""Drives all connections through warm-up, window and drain; afterwards it holds what was counted."""

from __future__ import annotations

import asyncio
import gc
import math
import time
from collections.abc import Iterator

from gap_python.answer import ERROR, Connection, ConnectionLostError
from gap_python.config import Config
from gap_python.failure import EXIT_INTEGRITY, ClientError
from gap_python.progress import emit
from gap_python.schedule import NANOSECONDS_PER_SECOND, Phases, Schedule, to_nanoseconds
from gap_python.tally import Tally, Times
from gap_python.usage import Cpu, cpu
from gap_python.workload import Operation, stream


class ConnectionLoad:
    """One connection's part of the load."""

    def __init__(
        self, number: int, slot: int, connection: Connection, operations: Iterator[Operation]
    ) -> None:
        self.number = number
        self.slot = slot
        self.connection = connection
        self.operations = operations
        self.reserved = 0
        self.issued = 0
        self.lost = False
        self.out: dict[int, tuple[str, int]] = {}
        """Kind and start of each request that is out."""
        self.waiting: dict[int, int] = {}
        """When each of them was sent last, the longest wait first."""
        self.failed: list[tuple[int, str]] = []
        self.in_doubt: list[int] = []
        self.retried: dict[int, None] = {}
        """Indices of the requests that were sent again, each once, in the order in which that began."""
        self.lanes: list[asyncio.Task[None]] = []


class Load:
    """The load of one configuration. Each connection has ``in_flight`` lanes; a lane has one request out."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.phases = Phases.of(config)
        self.schedule = Schedule(config.connections, config.rate_per_s)
        self.tally = Tally(self.phases, config.workload)
        self.started_unix_s = 0.0
        self.drained_s = 0.0
        self.window_cpu = Cpu(0.0, 0.0)
        self._request_timeout = to_nanoseconds(config.request_timeout_s)
        self._clock_start = 0
        self._failure: BaseException | None = None
        self._all_answered = asyncio.Event()
        self.connections = [
            ConnectionLoad(number, slot, config.connect(), stream(config.workload, number))
            for slot, number in enumerate(
                range(config.first_connection, config.first_connection + config.connections)
            )
        ]

    async def run(self) -> None:
        """Raises ClientError when the endpoint cannot be used or its answers cannot be believed."""
        await self._open()
        emit("ready")
        # What is there now stays: the collector need not walk it again and again inside the window.
        gc.freeze()
        self.started_unix_s = time.time()
        self._clock_start = time.perf_counter_ns()
        for load in self.connections:
            load.lanes = [asyncio.create_task(self._lane(load)) for _ in range(self.config.in_flight)]
        lanes = [lane for load in self.connections for lane in load.lanes]
        ended = asyncio.gather(*lanes, return_exceptions=True)
        ended.add_done_callback(lambda _: self._all_answered.set())
        await self._keep_time()
        now = self._now()
        self.drained_s = (now - self.phases.window_end) / NANOSECONDS_PER_SECOND
        if self._failure is None:
            await asyncio.sleep(max(0.0, self.config.linger_s - self.drained_s))
        for load in self.connections:
            self._give_up(load, now)
        await ended
        if self._failure is not None:
            raise self._failure

    async def _open(self) -> None:
        opening = [asyncio.create_task(load.connection.open()) for load in self.connections]
        try:
            await asyncio.gather(*opening)
        finally:
            for task in opening:
                task.cancel()
            await asyncio.gather(*opening, return_exceptions=True)

    def _now(self) -> int:
        return time.perf_counter_ns() - self._clock_start

    async def _lane(self, load: ConnectionLoad) -> None:
        """One request after another: each when it is due and the one before is answered."""
        try:
            while await self._request(load):
                pass
        except ConnectionLostError as error:
            self._lose(load, str(error))
        except asyncio.CancelledError:
            raise
        except BaseException as error:
            self._failure = self._failure or error
            self._all_answered.set()

    async def _request(self, load: ConnectionLoad) -> bool:
        """False once no further request may start."""
        index = load.reserved
        load.reserved += 1
        operation = next(load.operations)
        intended = self.schedule.intended(load.slot, index)
        start = self._now()
        while start < intended:
            if intended >= self.phases.window_end:
                return False
            await asyncio.sleep((intended - start) / NANOSECONDS_PER_SECOND)
            start = self._now()
        if start >= self.phases.window_end or load.lost:
            return False
        if index != load.issued:
            raise ClientError(
                EXIT_INTEGRITY, f"connection {load.number}: operation {index} is not the next one"
            )
        load.issued += 1
        load.out[index] = operation.kind, start
        load.waiting[index] = start
        answer = await load.connection.call(index, operation)
        retries = 0
        while answer.refused_for_now and retries < self.config.max_retries:
            retries += 1
            self._count_retries(load, index, 1)
            del load.waiting[index]
            load.waiting[index] = self._now()
            answer = await load.connection.call(index, operation)
        end = self._now()
        del load.out[index], load.waiting[index]
        self._count_retries(load, index, answer.retries)
        if answer.refusal is not None:
            load.failed.append((index, answer.refusal))
            if answer.refusal == ERROR and self.tally.first_error is None:
                self.tally.first_error = answer.text
        times = Times(intended if self.config.rate_per_s else start, start, end)
        self.tally.answered(operation.kind, answer.refusal, times)
        return True

    def _count_retries(self, load: ConnectionLoad, index: int, retries: int) -> None:
        if retries:
            self.tally.retried += retries
            load.retried[index] = None

    def _lose(self, load: ConnectionLoad, reason: str) -> None:
        if load.lost:
            return
        self.tally.lost_connections += 1
        emit("connection_lost", connection=load.number, reason=reason)
        self._give_up(load, self._now())

    def _give_up(self, load: ConnectionLoad, now: int) -> None:
        """What is out on the connection is in doubt from now on."""
        load.lost = True
        for index, (kind, start) in load.out.items():
            self.tally.unanswered(kind, start, now)
            load.in_doubt.append(index)
        load.out.clear()
        load.waiting.clear()
        running = asyncio.current_task()
        for lane in load.lanes:
            if lane is not running:
                lane.cancel()
        load.connection.close()

    async def _keep_time(self) -> None:
        """Everything that is due by the clock and not by an answer."""
        at_window_start: Cpu | None = None
        window_ended = False
        next_tick = NANOSECONDS_PER_SECOND
        next_timeout_check = 0
        while True:
            now = self._now()
            if at_window_start is None and now >= self.phases.window_start:
                at_window_start = cpu()
                emit("window_start")
            if at_window_start is not None and not window_ended and now >= self.phases.window_end:
                self.window_cpu = cpu().since(at_window_start)
                window_ended = True
                emit("window_end")
            if now >= next_tick:
                next_tick = (now // NANOSECONDS_PER_SECOND + 1) * NANOSECONDS_PER_SECOND
                emit(
                    "progress",
                    phase=self.phases.name(now),
                    elapsed_s=round(now / NANOSECONDS_PER_SECOND, 3),
                    acknowledged=self.tally.acknowledged,
                    failed=self.tally.failed,
                )
            if now >= next_timeout_check:
                next_timeout_check = self._check_timeouts(now)
            if self._failure is not None:
                return
            if window_ended and (now >= self.phases.drain_end or self._all_answered.is_set()):
                return
            edges = [self.phases.window_start, self.phases.window_end, self.phases.drain_end]
            due = min([edge for edge in edges if edge > now] + [next_tick, next_timeout_check])
            await self._sleep_until(due, woken_by_answers=window_ended)

    async def _sleep_until(self, due: int, *, woken_by_answers: bool) -> None:
        left_s = max(0, due - self._now()) / NANOSECONDS_PER_SECOND
        if woken_by_answers or self._failure is not None:
            try:
                await asyncio.wait_for(self._all_answered.wait(), left_s)
            except TimeoutError:
                return
        else:
            await asyncio.sleep(left_s)

    def _check_timeouts(self, now: int) -> int:
        """Lose connections whose oldest request waits too long; the time at which the next may."""
        earliest = now + self._request_timeout
        for load in self.connections:
            oldest = next(iter(load.waiting.values()), math.inf)
            late_at = oldest + self._request_timeout
            if late_at <= now:
                self._lose(load, f"no answer within {self.config.request_timeout_s:g} s")
            elif late_at < earliest:
                earliest = int(late_at)
        return earliest
