"""What several hosts say of one load, until each has reported: its progress as that of one client.

The window's edges follow from the moment at which all clocks start, by the clock of the server's machine.
"""

from __future__ import annotations

import selectors
import time
from collections.abc import Callable, Sequence

from gapbook.load.configuration import LoadConfiguration
from gapbook.model.event import Event, Progress
from gapbook.trial.load_hosts.engaged import EngagedHost
from gapbook.trial.load_hosts.messages import Reported, Saying

__all__ = ["Following"]

SILENT_S = 10.0
"""A client says once a second how far it is: a host that says nothing for so long is lost."""
_WHOLE_WITHIN_S = 30.0
_START, _END = "window_start", "window_end"


class Following:
    """``start_unix_s`` is when all clocks start, by ours; ``on_event`` hears what one client would say."""

    def __init__(
        self,
        hosts: Sequence[EngagedHost],
        configuration: LoadConfiguration,
        start_unix_s: float,
        on_event: Callable[[Event], None],
    ) -> None:
        self._hosts = hosts
        self._on_event = on_event
        self._start_s = time.monotonic() + start_unix_s - time.time()
        window_start_s = self._start_s + configuration["warmup_s"]
        self._edges = [(window_start_s, _START), (window_start_s + configuration["window_s"], _END)]
        self._heard_s = [self._start_s] * len(hosts)
        self._acknowledged = [0] * len(hosts)
        self._ready = 0
        self._outputs: dict[int, bytes] = {}

    def outputs(self) -> list[bytes]:
        """The report of each host's client as it was written; raises ClientError that names the host which failed, which
        is lost, or which said nothing for :data:`SILENT_S` seconds."""
        with selectors.DefaultSelector() as selector:
            for place, host in enumerate(self._hosts):
                selector.register(host, selectors.EVENT_READ, place)
            while len(self._outputs) < len(self._hosts):
                for key, _ in selector.select(self._wait_s()):
                    self._hear(key.data)
                    if key.data in self._outputs:
                        selector.unregister(key.fileobj)
                self._mark_edges()
                self._require_words()
        # The clock of a host may be ahead of ours by what is not known of it.
        while self._edges:
            time.sleep(self._wait_s())
            self._mark_edges()
        return [self._outputs[place] for place in range(len(self._hosts))]

    def _hear(self, place: int) -> None:
        host = self._hosts[place]
        answer = host.hear(_WHOLE_WITHIN_S)
        self._heard_s[place] = max(self._start_s, time.monotonic())
        if isinstance(answer, Reported):
            self._outputs[place] = answer.output
        elif isinstance(answer, Saying):
            self._pass_on(place, answer)
        else:
            raise host.failed(f"was asked for a load, and said {type(answer).__name__}")

    def _pass_on(self, place: int, said: Saying) -> None:
        if said.elapsed_s is not None:
            self._acknowledged[place] = said.acknowledged
            # They say so at the same moments: one of them sets the pace.
            if place == 0:
                total = sum(self._acknowledged)
                self._on_event(Progress(phase=said.phase, elapsed_s=said.elapsed_s, acknowledged=total))
        elif said.event == "ready":
            self._ready += 1
            if self._ready == len(self._hosts):
                self._on_event(Event("ready"))
        elif said.event not in {_START, _END}:
            self._on_event(Event(said.event))

    def _mark_edges(self) -> None:
        while self._edges and time.monotonic() >= self._edges[0][0]:
            self._on_event(Event(self._edges.pop(0)[1]))

    def _wait_s(self) -> float:
        """Until the next edge, or until a host has said nothing for too long."""
        silent = [
            heard_s + SILENT_S for place, heard_s in enumerate(self._heard_s) if place not in self._outputs
        ]
        until_s = min([*silent, *(edge_s for edge_s, _ in self._edges)])
        return max(0.0, until_s - time.monotonic())

    def _require_words(self) -> None:
        now_s = time.monotonic()
        for place, heard_s in enumerate(self._heard_s):
            if place not in self._outputs and now_s - heard_s >= SILENT_S:
                raise self._hosts[place].failed(
                    f"said nothing for {SILENT_S:g} s; see that it runs and its link holds"
                )
