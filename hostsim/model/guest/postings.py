"""What a burst of a vCPU has posted ahead, so that it can be taken back where the burst is cut short."""

from __future__ import annotations

from typing import Any, TypeAlias, TypeVar

from hostsim.engine.packet_train import Stream, Train
from hostsim.model.contract import PacketSink

__all__ = ["Postings"]

S = TypeVar("S", bound=Stream)
Posted: TypeAlias = tuple[PacketSink[Any], Train[Any]]


class Postings:
    """The packets that the burst of a vCPU has posted, and those held back since it was cut short."""

    def __init__(self) -> None:
        self._sink: PacketSink[Any] | None = None
        """Whom this burst has posted to first; as a rule all of it is for one."""
        self._posted: list[Train[Any]] = []
        self._to_others: list[Posted] = []
        self._held_back: list[Posted] = []

    def forget(self) -> None:
        """Begin another burst: what the last one has posted stays posted."""
        self._sink = None
        if self._to_others:
            self._to_others = []

    def post(self, target: PacketSink[S], train: Train[S]) -> None:
        """Post packets to a sink, at instants that may lie ahead."""
        sink = self._sink
        if sink is target:
            self._posted.append(train)
        elif sink is None:
            self._sink = target
            self._posted = [train]
        else:
            self._to_others.append((target, train))
        target.post(train)

    def take_back(self, now: int) -> None:
        """Take back what is posted for later than ``now``, and hold it back."""
        sink, others = self._sink, self._to_others
        if sink is not None:
            self._sink = None
            self._cancel(sink, self._posted, now)
        if others:
            self._to_others = []
        while others:
            target = others[0][0]
            self._cancel(target, [train for other, train in others if other is target], now)
            others = [posted for posted in others if posted[0] is not target]

    def _cancel(self, target: PacketSink[Any], trains: list[Train[Any]], now: int) -> None:
        for train in target.cancel(trains, now):
            self._held_back.append((target, train))

    def post_again(self, later: int) -> None:
        """Post what was held back, ``later`` picoseconds later than it was to be."""
        held = self._held_back
        if not held:
            return
        self._held_back = []
        for target, train in held:
            train.ready += later
            self.post(target, train)
