"""TCP towards a guest: a stream, or files posted one after the other."""

from __future__ import annotations

from hostsim.engine.train import Train
from hostsim.model.traffic.congestion import Congestion
from hostsim.model.traffic.connection import ENDLESS, Answer, Connection, Ends, Frames, Think

__all__ = ["Receiving"]


class Receiving(Connection):
    """The peer sends, the guest receives.

    Attributes:
        data: the peer's segments.
    """

    __slots__ = (
        "_acks",
        "_acks_out",
        "_acks_out_frames",
        "_answer",
        "_answer_lost",
        "_asked",
        "_due",
        "_owing",
        "_seen",
        "_think",
        "data",
    )

    def __init__(
        self,
        ends: Ends,
        congestion: Congestion,
        file: int,
        *,
        size: int,
        frame_ps: int,
        burst: int,
        full: bool,
        think: Think | None = None,
    ) -> None:
        """A connection that nothing has been sent on.

        Args:
            ends: what it lies between.
            congestion: the peer's window.
            file: segments of each file, or `ENDLESS`.
            size: bytes of data in a segment.
            frame_ps: time of a segment on the wire.
            burst: segments that the peer puts on the wire in one go.
            full: segments are as large as the path allows, so that large receive offload may join them.
            think: time from an answer to the next file; none where nothing is said.
        """
        super().__init__(ends, congestion, file)
        self.data = Frames(ends, size, frame_ps, self._read, self._lose, burst=burst, joins=full)
        self._acks = Answer(ends.totals, 0, self._acks_sent, self._acks_dropped)
        self._answer = Answer(ends.totals, 0, self._answer_sent, self._answer_dropped)
        self._seen = self._owing = self._acks_out = self._acks_out_frames = self._due = self._asked = 0
        self._answer_lost, self._think = False, think

    def begin(self, at: int) -> None:
        """The peer starts on a file, or the stream, at an instant."""
        self._remaining = self._due = self._file
        if self._file != ENDLESS:
            self._ends.totals.asked += 1
            self._asked = at
        self._release(at, 0, 1)

    def _release(self, at: int, step: int, turns: int) -> None:
        """The peer sends what it may."""
        frames = min(self._congestion.room(), self._remaining)
        if frames > 0:
            self._remaining -= frames
            self._congestion.in_flight += frames
            self._ends.link.release(self.data, at, step, turns, frames)

    def _read(self, train: Train, start: int, far: bool) -> int:
        """The process reads packets of data, acknowledges them, and answers when a file is complete."""
        ends = self._ends
        application, vcpu = ends.application, ends.vcpu
        packets = train.count
        frames = packets * train.frames
        octets = frames * self.data.size
        end = start + packets * application.per_packet + vcpu.timing.guest_copy(octets, far=far)
        if vcpu.wakes(self):
            end += vcpu.timing.guest_process_wake
        vcpu.count_read(train, start, end)
        ends.totals.octets += octets
        self._owing += frames
        self._seen += packets
        self._due -= frames
        if self._due <= 0:
            end += application.per_request
            vcpu.post(ends.queue, Train(self._answer, 1, end, 0, end, 0))
            self._seen = 0
            return end
        acks, self._seen = divmod(self._seen, application.ack_every)
        kept = min(self._owing, self._seen * train.frames)
        if not acks and not self._acks_out and self._owing + self._lost >= self._congestion.in_flight:
            acks, kept, self._seen = 1, 0, 0  # the sender had nothing more that it may send, and said so with PSH
        if acks:
            self._acks_out += acks
            self._acks_out_frames += self._owing - kept
            self._owing = kept
            each = vcpu.timing.guest_ack
            step = (end - start) // acks + each
            end += acks * each
            vcpu.post(ends.queue, Train(self._acks, acks, end - (acks - 1) * step, step, end, 0))
        return end

    def _acks_sent(self, train: Train, first: int, step: int, _frame_ps: int) -> None:
        """Acknowledgements reach the peer, which sends more."""
        count = train.count
        acked = self._acks_out_frames * count // self._acks_out
        self._acks_out -= count
        self._acks_out_frames -= acked
        self._congestion.acked(acked)
        if self._lost:
            self._repair()
        self._release(first + self._ends.delay, step, count)

    def _acks_dropped(self, acks: int) -> None:
        """The next acknowledgement covers what these would have; when none is to come, the peer's timer brings it about."""
        self._acks_out -= acks
        if not self._acks_out:
            self._owing += self._acks_out_frames
            self._acks_out_frames = 0
            if self._owing + self._lost >= self._congestion.in_flight:
                self._await_time_out()

    def _answer_sent(self, _train: Train, first: int, _step: int, _frame_ps: int) -> None:
        """The answer covers all of the file; the peer posts the next one."""
        self._congestion.acked(self._congestion.in_flight)
        self._owing = self._acks_out_frames = 0
        there = first + self._ends.delay
        self._ends.totals.answer(there - self._asked)
        self.begin(there + (self._think() if self._think is not None else 0))

    def _answer_dropped(self, _frames: int) -> None:
        self._answer_lost = True
        self._await_time_out()

    def _forget_unacknowledged(self) -> int:
        owing, self._owing, self._seen = self._owing, 0, 0
        return owing

    def _send_again(self, now: int) -> None:
        if self._answer_lost:
            self._answer_lost = False
            self._ends.queue.hand(Train(self._answer, 1, now, 0, now, 0))
        self._release(now, 0, 1)
