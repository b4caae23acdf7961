"""Interrupt coalescing of vNICs and moderation of NICs: base classes, driver rules, profile search."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from hostsim.config.platform import Coalescing
from hostsim.engine.compiled import mypyc_attr
from hostsim.errors import WiringError
from hostsim.units import MS, NS, SECOND, US

__all__ = [
    "COALESCING_SCHEMES",
    "MODERATION_RULES",
    "NEVER",
    "RATE_WINDOW",
    "CoalescedCompletions",
    "CoalescingDepth",
    "CoalescingScheme",
    "EventScore",
    "FrameSizeModeration",
    "InterruptThrottling",
    "LatencyClasses",
    "Moderation",
    "PacketCountModeration",
    "PacketRateModeration",
    "ProfileSearch",
    "RateBasedCoalescing",
    "RateBoundCalls",
    "SmoothedClasses",
    "StaticCoalescing",
    "TxCoalescing",
    "coalescing_scheme",
]


RATE_WINDOW: Final = 4 * MS
"""Default window of rate-based coalescing, which equals the default timeout."""
NEVER: Final = 1 << 30
"""A depth above any ring."""


@mypyc_attr(allow_interpreted_subclasses=True)  # plug-ins subclass schemes
class CoalescingScheme:
    """Interrupt coalescing scheme of a vNIC's receive queue: the delay of interrupts. Default: no delay.

    Each receive queue has a separate object. With a waiting packet, the queue interrupts its guest at the time `due`,
    when `depth` packets wait, or when the guest halts if the wait `is_ended_by_halt`, whichever is first. While an
    interrupt is pending or the guest polls, no decision is made.
    """

    def due(self, first: int) -> int:
        """Return the time of the interrupt for packets, the oldest of which is ready at ``first``.

        ``first`` may be past or in the future; a result before ``first`` counts as ``first``.
        """
        return first

    def depth(self) -> int | None:
        """Return the number of waiting packets, at least 1, that ends the wait, or None."""
        return None

    def is_ended_by_halt(self) -> bool:
        """True if a guest that has halted, or is about to, is interrupted at once."""
        return False

    def posted(self, count: int, ready: int) -> None:
        """Record packets put into the ring, the first at ``ready``, which may be in the future."""

    def raised(self, now: int, taken: int) -> None:
        """Record an interrupt of the vNIC at ``now``; the guest has taken ``taken`` packets so far."""


class StaticCoalescing(CoalescingScheme):
    """Static coalescing: an interrupt at a number of packets or after a timeout.

    A guest that has halted is interrupted immediately.
    """

    def __init__(self, depth: int, timeout: int) -> None:
        self._depth, self._timeout = depth, timeout

    def due(self, first: int) -> int:
        return first + self._timeout

    def depth(self) -> int | None:
        return self._depth

    def is_ended_by_halt(self) -> bool:
        return True


class CoalescingDepth:
    """Coalescing depth: the number of packets for one interrupt or call, which limits the event rate.

    The depth rises with the packet rate.

    The interrupt rate is the packet rate over the depth (facts 1.2). Packets are counted over a window and the depth holds for the next one.

    Attributes:
        depth: number of waiting packets for one interrupt or call; 1 below the low rate.
    """

    def __init__(
        self, ceiling: int, cap: int, low: int = 0, timeout: int = RATE_WINDOW, window: int = RATE_WINDOW
    ) -> None:
        """Create a law.

        Args:
            ceiling: largest number of interrupts/s or calls/s.
            cap: largest depth.
            low: number of packets in a timeout below which no packets are coalesced.
            timeout: time of ``low``, in picoseconds.
            window: smallest time for a rate, in picoseconds.
        """
        self.depth = 1
        self._ceiling, self._cap, self._low, self._timeout, self._window = ceiling, cap, low, timeout, window
        self._since = self._count = 0

    def count(self, packets: int, at: int) -> None:
        """Count packets, the first at a given time; the end of a window updates the depth."""
        counted = self._count = self._count + packets
        passed = at - self._since
        if passed >= self._window:
            self._since, self._count = at, 0
            if counted * self._timeout < self._low * passed:
                self.depth = 1
                return
            depth = -(-counted * SECOND // (passed * self._ceiling))
            self.depth = max(1, min(self._cap, depth))

    def cancel(self, packets: int) -> None:
        """Subtract packets that were taken back."""
        self._count -= packets


class RateBasedCoalescing(CoalescingScheme):
    """Rate-based coalescing: one interrupt for the packets of an interval, or after a bounded wait.

    The interval is the inverse of the largest interrupt rate. Below that packet rate, each packet interrupts.
    """

    def __init__(self, law: CoalescingDepth, wait: int, *, ended_by_halt: bool = False) -> None:
        """Create a scheme.

        Args:
            law: depth of the scheme.
            wait: longest wait of a packet, in picoseconds.
            ended_by_halt: True if a halt of the guest ends the wait.
        """
        self._law, self._wait, self._ended_by_halt = law, wait, ended_by_halt

    def is_ended_by_halt(self) -> bool:
        return self._ended_by_halt

    def posted(self, count: int, ready: int) -> None:
        self._law.count(count, ready)

    def due(self, first: int) -> int:
        law = self._law
        return first + self._wait if law.depth > 1 else first

    def depth(self) -> int | None:
        law = self._law
        return law.depth if law.depth > 1 else None


class InterruptThrottling(CoalescingScheme):
    """Interrupt throttling of an emulated e1000: a minimum interval between interrupts (register ITR)."""

    def __init__(self, rate: int) -> None:
        """Create a scheme with at most ``rate`` interrupts/s."""
        self._interval = SECOND // rate
        self._next = 0

    def due(self, first: int) -> int:
        return self._next if self._next > first else first

    def raised(self, now: int, taken: int) -> None:
        self._next = now + self._interval


class Moderation:
    """Interrupt moderation of a physical NIC: a minimum interval between interrupts of a vector.

    It applies to frames and transmit completions.

    Attributes:
        adapts: True if the interval depends on the traffic.
    """

    def __init__(self, interval: int, *, adapts: bool = False) -> None:
        self._interval, self.adapts = interval, adapts

    def interrupted(self, now: int, received: int, rx_octets: int, sent: int, tx_octets: int) -> None:
        """Record an interrupt, with the frames and bytes since the previous one.

        An adaptive rule sets its interval.
        """

    def unmasked(self, now: int) -> None:
        """Record the end of a poll, at which the driver unmasks the interrupt; ``now`` may be in the future."""

    def for_completions(self) -> Moderation:
        """Return the moderation of transmit completions on the same vector; here the same interval."""
        return self

    def set_interval(self, interval: int) -> None:
        """Set the interval."""
        self._interval = interval

    def due(self, first: int, last: int | None) -> int:
        """Return the time of the next interrupt for a frame ready at ``first``.

        ``last`` is the time of the previous interrupt; None before the first.
        """
        if last is None:
            return first
        paced_to = last + self._interval
        return paced_to if paced_to > first else first  # max() takes twice as long, for every interrupt


class CoalescedCompletions(Moderation):
    """Moderation of transmit completions with a separate timer, which starts with the first completion."""

    def due(self, first: int, last: int | None) -> int:
        return first + self._interval


class TxCoalescing:
    """Transmit coalescing of a vNIC's queue: when waiting packets wake the sleeping context.

    In this base the guest never calls. It is used for an e1000, whose packets the VMkernel finds by polling, and in
    dense mode, in which contexts sleep longer.

    Attributes:
        timeout: longest wait of a packet, in picoseconds.
        depth: number of waiting packets at which the guest calls; `NEVER` if it does not.
        in_passing: True if a receive context of the same vNIC wakes the transmit context.
    """

    def __init__(self, timeout: int, *, in_passing: bool = True) -> None:
        self.timeout, self.in_passing = timeout, in_passing
        self.depth = NEVER

    def posted(self, count: int, ready: int) -> None:
        """Record that the guest posts packets, the first at ``ready``."""

    def cancelled(self, count: int) -> None:
        """Record that a preempted guest takes packets back."""

    def restart(self) -> None:
        """Restart after another scheme was active."""


class RateBoundCalls(TxCoalescing):
    """Transmit coalescing of a vmxnet3: a limited number of calls/s.

    The number of waiting packets before a call follows the send rate, by the same law as receive coalescing.
    """

    def __init__(self, timeout: int, law: CoalescingDepth) -> None:
        """Create a scheme with its depth; ``timeout`` is the longest wait of a packet, in picoseconds."""
        super().__init__(timeout)
        self.depth = 1
        self._law = law

    def posted(self, count: int, ready: int) -> None:
        law = self._law
        law.count(count, ready)
        self.depth = law.depth

    def cancelled(self, count: int) -> None:
        self._law.cancel(count)

    def restart(self) -> None:
        self.depth = self._law.depth = 1


_PROFILES: Final = ((2, 256), (8, 128), (16, 64), (32, 64), (64, 64))
"""Profiles: microseconds after the last frame, and number of frames."""
_EVENTS: Final = 64
_PATIENCE: Final = 2 * len(_PROFILES)
"""Number of steps after which a search without result rests, and of measurements for which it rests."""

_RESTS: Final = 0
_TIRED: Final = 1
_UP: Final = 2
_DOWN: Final = 3


class ProfileSearch(Moderation):
    """Interrupt moderation by a search among five profiles (mlx5).

    More bytes/ms are better, then more frames, then fewer interrupts.

    Source: ``net_dim`` of Linux from 4.16 on (lib/dim from 5.3 on), with its receive profiles whose period restarts at
    each completion, and mlx5e_build_nic_params, which enables it on capable devices and starts with the second profile.
    A wait is computed at its start: the mean time until random frames, with the mean distance of those of the last
    poll, leave a gap of the period, unless their number is reached before. The frames of a poll have arrived since the
    end of the previous poll, which may be long before the interrupt, or after it.
    """

    def __init__(self) -> None:
        super().__init__(8 * US, adapts=True)
        self._period, self._most = 8 * US, 128
        self._profile = 0  # initial position of the search, although the device has the second profile
        self._state, self._ups, self._downs, self._steps = _RESTS, 0, 0, 0
        self._before = (0, 0, 0)
        self._measuring = False
        self._since = self._last = self._events = self._frames = self._octets = 0
        self._polled_ps = self._poll_end = 0

    def unmasked(self, now: int) -> None:
        self._polled_ps, self._poll_end = now - self._poll_end, now

    def due(self, first: int, last: int | None) -> int:
        return first + self._interval

    def interrupted(self, now: int, received: int, rx_octets: int, sent: int, tx_octets: int) -> None:
        self._events += 1
        self._frames += received
        self._octets += rx_octets
        if not self._measuring:
            self._begin(now)
        elif self._events >= _EVENTS:
            if self._decide(now - self._since):
                period, self._most = _PROFILES[self._profile]
                self._period = period * US
                self._measuring = False
            else:
                self._begin(now)
        gap = self._polled_ps // received if received else (now - self._last) // sent if sent else 0
        if gap:
            self._interval = self._wait(gap)
        self._last = now

    def _begin(self, now: int) -> None:
        """Start a measurement."""
        self._measuring, self._since = True, now
        self._events = self._frames = self._octets = 0

    def _wait(self, gap: int) -> int:
        """Return the mean time from a frame to the end of the first gap of the period, in picoseconds.

        Frames are random with mean distance ``gap``. The series of gap * (e^(period / gap) - 1) is summed term by
        term.
        """
        period, longest = self._period, self._most * gap
        wait = term = period
        order = 2
        while term and wait < longest:
            term = term * period // (order * gap)
            wait += term
            order += 1
        return max(min(wait, longest), 1)

    def _decide(self, passed: int) -> bool:
        """Take a step after a measurement of length ``passed``; returns True if the profile changes."""
        rates = (
            _a_millisecond(self._octets, passed),
            _a_millisecond(self._frames, passed),
            _a_millisecond(_EVENTS, passed),
        )
        state, earlier = self._state, self._profile
        if state == _RESTS:
            if _compared(rates, self._before):
                self._set_off()
        elif state == _TIRED:
            self._steps -= 1
            if not self._steps:
                self._set_off()
        else:
            if _compared(rates, self._before) <= 0:
                self._turn()
            if self._is_between():
                self._rest(_RESTS)
                self._steps = 0
            else:
                self._go()
        if state != _RESTS or self._state != _RESTS:
            self._before = rates
        return self._profile != earlier

    def _set_off(self) -> None:
        """Continue after a rest."""
        self._state = _DOWN if self._profile else _UP
        self._go()

    def _turn(self) -> None:
        """Reverse the direction."""
        if self._state == _UP:
            self._state, self._downs = _DOWN, 0
        else:
            self._state, self._ups = _UP, 0

    def _is_between(self) -> bool:
        """True one step back from a turn after more than one step: both neighbours are worse."""
        if self._state == _UP:
            return self._downs > 1 and self._ups == 1
        return self._ups > 1 and self._downs == 1

    def _go(self) -> None:
        """Take a step, or rest at an end of the profiles or after too many steps."""
        if self._steps == _PATIENCE:
            self._rest(_TIRED)
        elif (self._state == _UP and self._profile == len(_PROFILES) - 1) or (
            self._state == _DOWN and not self._profile
        ):
            self._rest(_RESTS)
            self._steps = 0
        else:
            if self._state == _UP:
                self._profile += 1
                self._ups += 1
            else:
                self._profile -= 1
                self._downs += 1
            self._steps += 1

    def _rest(self, state: int) -> None:
        self._state, self._ups, self._downs = state, 0, 0


def _a_millisecond(count: int, passed: int) -> int:
    """Return a count per millisecond, rounded up."""
    return -(-count * MS // passed) if passed else 0


def _compared(now: tuple[int, int, int], before: tuple[int, int, int]) -> int:
    """Return 1 if a measurement is better than the previous one, -1 if worse, 0 within a tenth."""
    for index in range(3):
        new, old = now[index], before[index]
        if not old:
            if index == 2:
                return 0
            return 1 if new else 0
        if 100 * abs(new - old) // old > 10:
            return 1 if (new > old) == (index < 2) else -1
    return 0


_LOWEST: Final = 0
_LOW: Final = 1
_BULK: Final = 2


class FrameSizeModeration(Moderation):
    """Interrupt moderation by the mean size of frames (igb): larger frames cause fewer interrupts.

    The interval follows the larger mean size of received and sent frames: an eighth of a microsecond for each byte, a
    twelfth for medium sizes, including preamble, gap and check sequence. Source: ``igb_update_ring_itr`` of VMware's
    igb driver, 2.1.11.1 (ESXi 5.0), which starts at 162 us; 5.0.5.1 (ESXi 6.0) has a minimum interval of 49 us.
    """

    def __init__(self, least: int = 1 * US) -> None:
        """Create a rule with a minimum interval ``least``, in picoseconds."""
        super().__init__(162 * US, adapts=True)
        self._least = least

    def interrupted(self, now: int, received: int, rx_octets: int, sent: int, tx_octets: int) -> None:
        mean = max(rx_octets // received if received else 0, tx_octets // sent if sent else 0)
        if not mean:
            return
        size = min(mean + 24, 3000)
        quarters = size // 3 if 300 < size < 1200 else size // 2  # of a microsecond; the register counts microseconds
        self._interval = max(quarters // 4 * US, self._least)


class LatencyClasses(Moderation):
    """Interrupt moderation by latency classes (ixgbe with a dynamic rate).

    The classes have 100,000, 20,000 or 8,000 interrupts/s, by the bytes per microsecond.

    Up to 10 bytes/us are the class of lowest latency, up to 20 that of low latency, and more are bulk. A class changes
    by one step at an interrupt, and the rate moves by a tenth of the difference. The busier direction decides. Source:
    ``ixgbe_update_itr`` and ``ixgbe_set_itr`` of the Linux driver up to 4.14, and of VMware's with
    ``InterruptThrottleRate=1``.
    """

    def __init__(self) -> None:
        super().__init__(50 * US, adapts=True)
        self._rx = self._tx = _LOWEST

    def interrupted(self, now: int, received: int, rx_octets: int, sent: int, tx_octets: int) -> None:
        microseconds = self._interval // US
        if received:
            self._rx = _next_class(self._rx, rx_octets // microseconds)
        if sent:
            self._tx = _next_class(self._tx, tx_octets // microseconds)
        latency_class = max(self._rx, self._tx)
        target = 10 * US if latency_class == _LOWEST else 50 * US if latency_class == _LOW else 125 * US
        interval = self._interval
        if target != interval:
            self._interval = 10 * target * interval // (9 * target + interval)


def _next_class(now: int, rate: int) -> int:
    """Return the latency class after an interrupt, for ``rate`` bytes/us."""
    if now == _LOWEST:
        return _LOW if rate > 10 else _LOWEST
    if now == _LOW:
        return _BULK if rate > 20 else _LOW if rate > 10 else _LOWEST
    return _BULK if rate > 20 else _LOW


class PacketRateModeration(Moderation):
    """Interrupt moderation by the packet rate of a queue (mlx4).

    There is no moderation up to 400,000 frames/s; from 450,000 on an interrupt waits for 128 us or 128 KiB.

    The rate is measured four times per second; small frames, up to 256 bytes, are never delayed. Source:
    ``mlx4_en_auto_moderation`` of VMware's mlx4_en driver, 1.9.7.0 (ESXi 5.5 and 6.0), which starts at 16 us.
    """

    def __init__(self) -> None:
        super().__init__(16 * US, adapts=True)
        self._since = self._frames = self._octets = 0

    def interrupted(self, now: int, received: int, rx_octets: int, sent: int, tx_octets: int) -> None:
        self._frames += received
        self._octets += rx_octets
        passed = now - self._since
        if passed < 250 * MS:
            return
        rate, octets = self._frames * SECOND // passed, self._octets
        if octets > 256 * self._frames and rate > 400_000:
            usecs = min(128, (rate - 400_000) * 128 // 50_000)
            self._interval = min(usecs * US, 131_072 * passed // octets)
        else:
            self._interval = 0
        self._since, self._frames, self._octets = now, 0, 0


class PacketCountModeration(Moderation):
    """Interrupt moderation by the packets of an interrupt (i40e): the target is 56 to 112.

    Each direction has an interval. Fewer packets raise an interval by 2 us, up to 126 us; more halve the shorter of
    both, and more than 256 set it by the size of frames and the line rate. One to three received frames of less than
    9,000 bytes give half of that, unless bulk data is sent. A direction without an update for one or two ticks of the
    kernel restarts: received frames at 2 us, sent ones at 126 us. One register is written at an interrupt, and the next
    three interrupts do not adapt the interval. Source: ``i40e_update_itr`` and ``i40e_update_enable_itr`` of the Linux
    driver from 4.17 on, which starts at 50 us.
    """

    def __init__(self, line_rate: float, tick: int = 1 * MS) -> None:
        """Create a rule.

        Args:
            line_rate: bits/s, which scale the intervals.
            tick: period of the kernel's timer, usually 1 ms, in picoseconds.
        """
        super().__init__(_START * US, adapts=True)
        self._tick = tick
        self._unit = 2048 if line_rate >= 40e9 else 1024 if line_rate >= 20e9 else 512 if line_rate > 1e9 else 64
        # target and register values: microseconds, with the flag of low latency in a higher bit, which takes part in comparisons
        self._rx = self._tx = self._rx_set = self._tx_set = _START
        self._looked, self._settling = 1, 0
        self._sent = Moderation(_START * US)

    def for_completions(self) -> Moderation:
        return self._sent

    def interrupted(self, now: int, received: int, rx_octets: int, sent: int, tx_octets: int) -> None:
        tick = now // self._tick
        if tick > self._looked:
            self._rx, self._tx = _SHORTEST + _LATENCY, _LONGEST + _LATENCY
        elif not self._settling:
            self._tx = self._sent_setting(sent, tx_octets)
            self._rx = self._received_setting(received, rx_octets)
        self._looked = tick + 1
        self._write()

    def _sent_setting(self, packets: int, octets: int) -> int:
        """Return the target interval of sent frames."""
        setting = self._tx
        if packets < 4:
            if setting == _LONGEST and self._rx % _LATENCY == _LONGEST:
                return _LONGEST + _LATENCY
        elif packets > 32:
            setting %= _LATENCY
        return self._next_setting(setting, packets, octets)

    def _received_setting(self, packets: int, octets: int) -> int:
        """Return the target interval of received frames."""
        if 0 < packets < 4 and octets < 9000 and self._tx >= _LATENCY:
            return self._by_size(octets // packets, 2) + _LATENCY
        return self._next_setting(self._rx, packets, octets)

    def _next_setting(self, before: int, packets: int, octets: int) -> int:
        """Return the interval after a number of packets, from the previous interval."""
        if packets < 56:
            return min(before % _LATENCY + 2, _LONGEST) + before // _LATENCY * _LATENCY
        if packets > 256:
            return self._by_size(octets // packets, 1)
        shorter = min(self._rx_set, self._tx_set) % _LATENCY
        return shorter if packets <= 112 else max(shorter // 4 * 2, _SHORTEST)

    def _by_size(self, size: int, part: int) -> int:
        """Return the term of the interval for frames of a mean size, in microseconds.

        It is 170 times the size of the frame on the wire, divided by its size in memory.
        """
        if size <= 60:
            scaled = 4096
        elif size <= 380:
            scaled = 40 * size + 1696
        elif size <= 1084:
            scaled = 15 * size + 11_452
        else:
            scaled = 5 * size + 22_420 if size <= 1980 else 32_256
        return min(2 * -(-(scaled // part) // self._unit), _LONGEST)

    def _write(self) -> None:
        """Write one of the two registers.

        A decrease precedes an increase, received frames precede sent ones, and of two increases the larger is first.
        """
        rx_rise, tx_rise = self._rx - self._rx_set, self._tx - self._tx_set
        if rx_rise >= 0 and (tx_rise < 0 or rx_rise < tx_rise):
            self._tx_set = self._tx
            self._sent.set_interval(self._tx % _LATENCY * US)
        elif rx_rise:
            self._rx_set = self._rx
            self._interval = self._rx % _LATENCY * US
        else:
            self._settling = max(0, self._settling - 1)
            return
        self._settling = 3


_START: Final = 50
_SHORTEST: Final = 2
_LONGEST: Final = 126
_LATENCY: Final = 1 << 15
"""Intervals of i40e in microseconds, and its flag of low latency."""


class SmoothedClasses(Moderation):
    """Interrupt moderation by latency classes over a hundred interrupts (i40e up to Linux 4.16).

    The classes have 50,000, 20,000, 18,000 or 8,000 interrupts/s.

    Up to 10 bytes/us are the class of lowest latency, up to 20 that of low latency, and more are bulk. A class changes
    by one step, except that more than 40,000 received frames/s select the fourth class at once. The slower direction
    decides. Source: ``i40e_set_new_dynamic_itr``, whose register counts in 2 us; it starts at 50 us.
    """

    def __init__(self) -> None:
        super().__init__(50 * US, adapts=True)
        self._rx = self._tx = _LOW
        self._countdown = 100
        self._received = self._rx_octets = self._went = self._tx_octets = 0

    def interrupted(self, now: int, received: int, rx_octets: int, sent: int, tx_octets: int) -> None:
        self._received += received
        self._rx_octets += rx_octets
        self._went += sent
        self._tx_octets += tx_octets
        if self._countdown:
            self._countdown -= 1
            return
        self._countdown = 100
        microseconds = self._interval // US * 100  # the nominal length of a hundred intervals
        interval = 0
        if self._received:
            fast = self._received * 1_000_000 // microseconds > 40_000
            self._rx = _ULTRA if fast else _next_class(min(self._rx, _BULK), self._rx_octets // microseconds)
            interval = _CLASS_INTERVALS[self._rx]
        if self._went:
            self._tx = _next_class(self._tx, self._tx_octets // microseconds)
            interval = max(interval, _CLASS_INTERVALS[self._tx])
        if interval:
            self._interval = interval * US
        self._received = self._rx_octets = self._went = self._tx_octets = 0


_ULTRA: Final = 3
_CLASS_INTERVALS: Final = (20, 50, 54, 124)


class EventScore(Moderation):
    """Interrupt moderation by the frames of a thousand interrupts (sfc).

    Fewer than 4,000 frames shorten the interval by a step, more than 8,000 lengthen it, up to 60 us.

    Source: ``efx_poll`` of the Linux driver, with a score of two for each received frame and thresholds of 8,000 and 16,000; it starts with the longest interval. The step
    is the timer's quantum, 6,144 ns in the SFC9000 (``siena_probe_nvconfig``), and intervals are multiples of it.
    """

    def __init__(self, step: int = 6_144 * NS) -> None:
        """Create a rule with intervals that are multiples of ``step``, in picoseconds."""
        self._step, self._longest = step, 60 * US // step * step
        super().__init__(self._longest, adapts=True)
        self._interrupts = self._frames = 0

    def interrupted(self, now: int, received: int, rx_octets: int, sent: int, tx_octets: int) -> None:
        self._interrupts += 1
        self._frames += received
        if self._interrupts < 1000:
            return
        if self._frames < 4000:
            self._interval = max(self._interval - self._step, self._step)
        elif self._frames > 8000:
            self._interval = min(self._interval + self._step, self._longest)
        self._interrupts = self._frames = 0


COALESCING_SCHEMES: Final[dict[str, Callable[[Coalescing], CoalescingScheme]]] = {
    "disabled": lambda settings: CoalescingScheme(),
    "static": lambda settings: StaticCoalescing(settings.depth, settings.timeout),
    "rbc": lambda settings: RateBasedCoalescing(
        CoalescingDepth(
            settings.rate, settings.depth_cap, settings.low_packets, settings.timeout, settings.rate_window
        ),
        settings.wait,
        ended_by_halt=settings.ended_by_halt,
    ),
    "throttled": lambda settings: InterruptThrottling(settings.rate),
}
"""Coalescing schemes of vNICs, by name in ``Net.CoalesceScheme`` and ``ethernetX.coalescingScheme``, and that of an
e1000.
"""
MODERATION_RULES: Final[dict[str, Callable[[float], Moderation]]] = {
    "igb": lambda line_rate: FrameSizeModeration(),
    "igb-conservative": lambda line_rate: FrameSizeModeration(49 * US),
    "ixgbe": lambda line_rate: LatencyClasses(),
    "mlx4": lambda line_rate: PacketRateModeration(),
    "i40e": PacketCountModeration,
    "i40e-classes": lambda line_rate: SmoothedClasses(),
    "mlx5": lambda line_rate: ProfileSearch(),
    "sfc": lambda line_rate: EventScore(),
}
"""Rules of interrupt moderation for a line rate in bits/s, by ``moderation`` of a physical NIC, the name of a
driver.
"""


def coalescing_scheme(settings: Coalescing) -> CoalescingScheme:
    """Return a new coalescing scheme by the settings of a vNIC.

    Raises:
        WiringError: an unknown scheme.
    """
    make = COALESCING_SCHEMES.get(settings.scheme)
    if make is None:
        names = ", ".join(COALESCING_SCHEMES)
        raise WiringError(f"unknown coalescing scheme {settings.scheme!r}; allowed: {names}")
    return make(settings)
