"""The platform: settings of a hypervisor version by the names that administrators type, and the values that they resolve to.

A platform file lists every setting it knows, with default, range and meaning. One that is not listed is an error; one that
is listed but has no effect in the model (``modelled: false``) is a warning that the results carry, where it is set to
something else than the model does.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from hostsim.config.costs import CostModel
from hostsim.config.field import Descriptors, Positive, SmallCount, Spec
from hostsim.config.quantity import Percent, PositiveDuration
from hostsim.units import MS, US

__all__ = [
    "Coalescing",
    "CoalescingSpec",
    "FeatureSpec",
    "HostSettings",
    "LroSpec",
    "NetQueueSpec",
    "NumaIoSpec",
    "PlatformSpec",
    "Refill",
    "SettingSpec",
    "TuningSpec",
    "VmSettings",
    "VnicSettings",
]


class SettingSpec(Spec):
    """A setting of a platform: its default, its allowed values, whether it is modelled."""

    default: int | str
    """Default value."""
    low: int | None = None
    """Least value, of a number."""
    high: int | None = None
    """Greatest value, of a number."""
    choices: tuple[str, ...] | None = None
    """Allowed values, of a choice."""
    unit: str = ""
    """Unit of a number, in words."""
    modelled: bool
    """False when hostsim knows the setting but nothing in the model depends on it."""
    behaves_as: int | str | None = None
    """Value that the model does the same as, of a setting that is not modelled; its default where nothing is said."""
    meaning: str
    """What it does, in one line."""
    source: str
    """Where default and range come from."""

    @model_validator(mode="after")
    def _one_or_the_other(self) -> SettingSpec:
        if self.modelled and self.behaves_as is not None:
            raise ValueError("is for a setting that is not modelled|no behaves_as, or modelled: false")
        return self

    def is_missed(self, value: int | str) -> bool:
        """True when a host with this value, as `read` gives it, does something that the model does not."""
        return not self.modelled and value != (self.default if self.behaves_as is None else self.behaves_as)

    def allowed(self) -> str:
        """The allowed values in words."""
        if self.choices is not None:
            return "one of " + ", ".join(f'"{choice}"' for choice in self.choices)
        if self.low is None and self.high is None:
            return "text" if isinstance(self.default, str) else f"an integer {self.unit}".strip()
        if self.low is None or self.high is None:
            return f"an integer {self.unit}".strip() + (
                f" from {self.low} on" if self.high is None else f" up to {self.high}"
            )
        return f"an integer {self.low}..{self.high} {self.unit}".strip()

    def read(self, value: object) -> int | str:
        """The value as the model takes it; numbers may be written as text, as in a ``.vmx`` file.

        Raises:
            ValueError: not allowed.
        """
        if isinstance(value, bool) or not isinstance(value, int | str):
            raise ValueError("is neither a number nor text")
        if self.choices is not None:
            if str(value) not in self.choices:
                raise ValueError("is not one of the choices")
            return str(value)
        if isinstance(self.default, str) and self.low is None:
            return str(value)
        try:
            number = int(value)
        except ValueError:
            raise ValueError("is not an integer") from None
        if (self.low is not None and number < self.low) or (self.high is not None and number > self.high):
            raise ValueError("is out of range")
        return number


Threshold = Annotated[Percent, Field(gt=0, le=100)]
"""A share of a PCPU or of a node that a balancer acts on."""


class NetQueueSpec(Spec):
    """Thresholds of the NetQueue balancer, for packing vNICs on fewer receive queues and for unpacking them; no source is known for their values."""

    period: PositiveDuration
    """Time between two looks at the queues."""
    pack_below: Threshold
    """Share of a PCPU that the receive contexts of the queues left would use at most, for a queue to be given up."""
    unpack_above: Threshold
    """Share of a PCPU that the receive context of a queue uses, from which one of its vNICs gets another queue."""
    open_below: Threshold
    """Share of the time of the PCPUs of the NIC's NUMA node that is used, up to which a further queue is put into use."""

    @model_validator(mode="after")
    def _apart(self) -> NetQueueSpec:
        if self.pack_below >= self.unpack_above:
            raise ValueError("would pack what it has just unpacked|pack_below: a share below unpack_above")
        return self


class NumaIoSpec(Spec):
    """Thresholds of NUMA-aware I/O for the load of a NIC's node; no source is known."""

    fill_below: Threshold
    """Share of a node's cores that is wanted there, up to which VMs are pulled to it."""
    relieve_above: Threshold
    """Share of a node's cores that is wanted there, from which VMs that were pulled to it go back."""
    fade: Positive
    """Looks over which the mean of a load fades."""

    @model_validator(mode="after")
    def _apart(self) -> NumaIoSpec:
        if self.fill_below >= self.relieve_above:
            raise ValueError("would pull back what it has just put back|fill_below: a share below relieve_above")
        return self


class TuningSpec(Spec):
    """Parameters of dynamic tuning (dense mode): its effect on regular VMs while it is active."""

    tx_timeout: PositiveDuration
    """Longest wait of a packet on a transmit ring while the guest runs."""


class LroSpec(Spec):
    """Parameters of software LRO; no source is known."""

    sessions: SmallCount
    """Connections whose frames a receive context joins at the same time; frames of others go on by themselves."""


class CoalescingSpec(Spec):
    """Rate-based coalescing of vNICs where its documentation says nothing."""

    rate_window: PositiveDuration
    """Time over which it takes the rate of packets."""
    rx_intervals: Annotated[float, Field(ge=1, le=400)]
    """Longest wait of a received packet, in intervals between interrupts at the ceiling; never longer than the coarse timeout."""
    ended_by_halt: Annotated[int, Field(ge=0, le=1)]
    """1: a guest that halts is interrupted at once for what waits, as by static coalescing; 0: it waits as one that runs."""


class IdleSpec(Spec):
    """Core states (C-states) of idle processors, deeper than C1."""

    fade: Positive
    """Idle periods of a PCPU over which the mean of their length fades, by which the next one is predicted."""
    exit_share: Annotated[float, Field(gt=0, le=1)]
    """Share of the documented exit latency that it takes to leave a state."""
    latencies: Annotated[float, Field(gt=0)] | None = None
    """Mean idle time of a PCPU, in exit latencies, from which on a kernel without a hypervisor enters a state; else the power policy decides."""
    states: dict[str, dict[str, PositiveDuration]]
    """Exit latencies of the states of each processor family, by the state's name; a family that is not named has C1 alone."""

    def of(self, family: str) -> IdleSpec:
        """The same without the states of other families."""
        return self.model_copy(update={"states": {name: own for name, own in self.states.items() if name == family}})


class FeatureSpec(Spec):
    """Features that one version of the hypervisor has and another has not."""

    vnic_rss: bool
    """A vNIC may take from several hardware queues (``ethernetX.pnicFeatures``)."""
    vnic_parallel: bool
    """Receive contexts of several hardware queues put packets on a vNIC at the same time; else one at a time, under a lock of the vNIC."""
    vxlan: bool
    """A virtual switch may put frames into VXLAN."""


class PlatformSpec(Spec):
    """The platform: a version of the hypervisor with its costs and the defaults of its settings."""

    platform: str
    """Name of the platform; nothing depends on it."""
    hypervisor: bool = True
    """False of a native host: one kernel has the machine to itself, its own drivers work the physical NICs, and there is nothing to set of a hypervisor."""
    features: FeatureSpec
    drivers: dict[str, Literal["vmklinux", "native"]]
    """Kind of each NIC driver: ``vmklinux`` converts each packet from a Linux driver's structures, ``native`` does not."""
    netqueue: NetQueueSpec
    lro: LroSpec
    numa_io: NumaIoSpec
    tuning: TuningSpec
    coalescing: CoalescingSpec
    idle: IdleSpec
    costs: CostModel
    advanced: dict[str, SettingSpec]
    """Advanced settings by their dotted names."""
    kernel: dict[str, SettingSpec]
    """VMkernel boot settings."""
    vmx: dict[str, SettingSpec]
    """Keys of a ``.vmx`` file; ``ethernetX.`` stands for every vNIC."""


class Coalescing(Spec):
    """Virtual interrupt coalescing of a vNIC: when it interrupts its guest."""

    scheme: str
    """``disabled``: for every packet. ``static``: when ``depth`` packets wait or after ``timeout``. ``rbc``: for so many packets that ``rate`` interrupts come
    in a second, or after ``wait``. ``throttled``: at most ``rate`` a second, at equal distances."""
    rate: Positive
    """Interrupts in a second, of ``rbc`` and ``throttled``."""
    depth: Positive
    """Packets, of ``static``."""
    timeout: int
    """Longest wait in picoseconds, of ``static``."""
    depth_cap: int = 40
    """Most packets that wait, of ``rbc`` (``Net.CoalesceRxQDepthCap``)."""
    low_packets: int = 4
    """Packets in a ``timeout`` below which ``rbc`` coalesces nothing (``Net.CoalesceLowRxRate``)."""
    rate_window: int = 4 * MS
    """Picoseconds over which ``rbc`` takes the rate of packets."""
    wait: int = 250 * US
    """Longest wait in picoseconds, of ``rbc``."""
    ended_by_halt: bool = False
    """A guest that halts ends the wait, of ``rbc``."""


TxInterrupts = Literal["all", "stopped"]
"""Transmit completions for which a guest's driver asks for an interrupt: all, or those after it has stopped its queue for want of descriptors."""


class Refill(Spec):
    """Refill of the receive ring: when a guest's driver gives descriptors back to its vNIC."""

    lot: Positive
    """Descriptors that it gives back together, once so many are used up."""
    rest: bool
    """At the end of a poll it gives back what is left; else that waits for the lot to be full."""


class HostSettings(Spec):
    """Effective host settings (advanced and kernel), in the model's units."""

    quantum: int
    """Longest stay of a world on a PCPU while others wait, in picoseconds (``Cpu.Quantum``)."""
    lag_quanta: int
    """Quanta of entitlement that a sleeping world may save up (``Cpu.BoundLagQuanta``)."""
    wake_reach: int = 4
    """PCPUs looked at for an idle one when a world wakes up and its own is busy (``Cpu.WakeupMigrateIdlePcpus``)."""
    idle_reach: int = 4
    """PCPUs looked at for waiting worlds by one that goes idle (``Cpu.PcpuMigrateIdlePcpus``)."""
    mwait: bool = True
    """Idle PCPUs monitor their run queues and need no interrupt to look at them (``Cpu.UseMwait``)."""
    deepest_exit: int = 0
    """Longest exit latency of a core state that an idle PCPU enters, in picoseconds; 0 for C1 alone (``Power.CpuPolicy``, ``Power.UseCStates``, ``Power.CStateMaxLatency``)."""
    idle_latencies: float = 0.0
    """Mean idle time of a PCPU, in exit latencies, from which on it enters a core state (``Power.CStateResidencyCoef`` over the part of the mean that ``Power.CStatePredictionCoef`` predicts)."""
    costop_threshold: int
    """Lead over the slowest sibling from which a vCPU is co-stopped, in picoseconds (``Cpu.CoschedCostopThreshold``)."""
    costart_threshold: int
    """Lead at which a co-stopped vCPU may start again, in picoseconds (``Cpu.CoschedCostartThreshold``)."""
    cosched_period: int
    """Picoseconds between two looks at the vCPUs of an SMP VM (``Cpu.CoschedPollUsec``)."""
    ht_rebalance_period: int = 5 * MS
    """Picoseconds between two looks for vCPUs that share a core while another is idle (``Cpu.HTRebalancePeriod``); 0 for none."""
    rebalance_period: int
    """Picoseconds between two checks of the balancer of a node's PCPUs, which share a cache (``Cpu.L3RebalancePeriod``); 0 for none."""
    package_rebalance_period: int = 20 * MS
    """Picoseconds between two looks at the NUMA nodes of NetPolls and of the VMs that they serve (``Cpu.PackageRebalancePeriod``); 0 for none."""
    related_rate: int = 500
    """Packets a second from a NetPoll to a vNIC, from which on it is related to the vCPU there (``Cpu.CommRateThreshold``)."""
    numa_rebalance_period: int
    """Picoseconds between two checks of the NUMA balancer (``Numa.RebalancePeriod``)."""
    numa_imbalance: int
    """Percentage points between two nodes from which the balancer moves a VM (``Numa.MigImbalanceThreshold``)."""
    port_rx_queue: int
    """Packets that wait for a vNIC's own receive context (``Net.MaxPortRxQueueLen``)."""
    vnic_parallel: bool = True
    """Receive contexts deliver to a vNIC at the same time; else one at a time (a feature of the platform)."""
    poll_budget: int
    """Packets a receive context takes in one invocation (``netMaxPktsToProcess``)."""
    tx_poll_bound: int
    """Packets a transmit context takes in one poll (``Net.vNicTxPollBound``)."""
    tx_timeout: int
    """Longest wait of a packet on a transmit ring before its context is woken, in picoseconds (``Net.CoalesceTxTimeout``)."""
    tx_depth_cap: int
    """Most packets that a guest posts without a call (``Net.CoalesceTxQDepthCap``)."""
    tx_call_rate: int
    """Calls a second that transmit coalescing lets a vNIC make (``Net.CoalesceRBCRate``, as for receive), less those that
    ``Net.vmxnetThroughputWeight`` takes away."""
    tx_low_packets: int = 4
    """Packets in ``tx_timeout`` below which transmit coalescing holds none back (``Net.CoalesceLowTxRate``)."""
    rate_window: int = 4 * MS
    """Picoseconds over which transmit coalescing takes the rate of packets."""
    e1000_tx_copy: int = 2048
    """Bytes of a packet up to which an e1000's is copied out of the guest's memory (``Net.E1000TxCopySize``)."""
    vmxnet_tx_copy: int = 256
    """Bytes of a packet up to which a vmxnet3's is copied out of the guest's memory (``Net.VmxnetTxCopySize``)."""
    defer_tx_completion: bool = True
    """Transmit contexts complete what NICs have sent; else the receive contexts that free its descriptors do (``Net.NetDeferTxCompletion``)."""
    tx_completion_delay: int = 50 * MS
    """Longest wait of a transmit completion that nobody is in a hurry for, in picoseconds (``Net.MaxTxCompDelay``)."""
    rx_copy_in_tx: bool = False
    """Between VMs of the host the sender's transmit context copies packets into the receiver's memory; else the receiver's own context does (``Net.NetRxCopyInTx``)."""
    rx_list: int = 3500
    """Packets between VMs of the host that wait for the receiver's context (``Net.MaxPktRxListQueue``)."""
    tso_split: bool = True
    """Between VMs of the host a packet for TSO is delivered as two halves; else whole (``Net.VmxnetDoTsoSplit``)."""
    sw_lro: bool
    """Software LRO (``Net.Vmxnet3SwLRO``)."""
    hw_lro: bool
    """Hardware LRO, where the NIC has it (``Net.Vmxnet3HwLRO``)."""
    lro_bytes: int
    """Bytes of a packet that LRO makes at most (``Net.VmxnetLROMaxLength``)."""
    lro_threshold: int
    """Frames after which software LRO looks whether it pays (``Net.VmxnetLROThreshold``)."""
    lro_backoff: int
    """Such stretches of frames for which it stays off where it does not (``Net.VmxnetLROBackoffPeriod``)."""
    hw_tso: bool
    """Segmentation in hardware, where the NIC has it (``Net.UseHwTSO``)."""
    netqueue: bool
    """Receive queues besides the default one are used (``netNetqueueEnabled``)."""
    netqueue_dynamic: bool
    """The balancer packs and unpacks receive queues (``Net.NetNetqRxDynamicLB``)."""
    tune_dense: bool
    """Dynamic tuning of the host is on (``Net.NetTuneHostMode``)."""
    tune_interval: int
    """Picoseconds between two checks of dynamic tuning (``Net.NetTuneInterval``)."""
    tune_vms: int
    """VMs for each PCPU from which on it acts (``Net.NetTuneThreshold``)."""
    tune_vcpus: int
    """vCPUs for each PCPU, likewise."""
    tune_utilisation: float
    """Mean utilisation of the PCPUs in percent, likewise."""
    numa_io_threshold: int
    """Load of the networking contexts, in percent of a core, below which NUMA I/O placement is active (``Net.NetNetqNumaIOCpuPinThreshold``)."""


class VnicSettings(Spec):
    """Effective settings of one vNIC of the VMs of a group."""

    device: Literal["vmxnet3", "e1000"] = "vmxnet3"
    """What the guest sees (``ethernetX.virtualDev``)."""
    split_rx: bool
    """The vNIC has a receive context of its own (``ethernetX.emuRxMode``)."""
    rx_ring: Descriptors
    """Receive descriptors of each queue."""
    tx_ring: Descriptors
    """Transmit descriptors of each queue."""
    refill: Refill | None = None
    """How receive descriptors come back; each as soon as its packet is taken where nothing is said."""
    tx_interrupts: TxInterrupts = "stopped"
    """Transmit completions for which the guest's driver asks for an interrupt."""
    coalescing: Coalescing
    queues: Positive = 1
    """Pairs of queues that the guest's driver asks for at most."""
    udp_rss: bool = False
    """Ports of datagrams are hashed too, by the vNIC and by its RSS queue (``ethernetX.udpRSS``); else their addresses alone."""
    rss: bool
    """The vNIC asks for a queue with RSS (``ethernetX.pnicFeatures``, bit 4) and gets it on this platform."""
    dense: Coalescing | None
    """Its coalescing while dynamic tuning is active; None where the VM sets its coalescing, its contexts or its latency sensitivity itself, so that tuning leaves it alone."""
    tx_context: Literal["vm", "vnic", "queue"]
    """Whose transmit contexts are: the VM's, each vNIC's, each queue's (``ethernetX.ctxPerDev``, ``Net.NetVMTxType``)."""

    def queue_pairs(self, vcpus: int) -> int:
        """Number of its queue pairs in a VM with so many vCPUs: a power of two, as drivers of Linux round them down."""
        most = min(self.queues, vcpus)
        return 1 << (most.bit_length() - 1)


class PassthroughSettings(Spec):
    """Effective settings of one physical NIC that a guest's own driver works: passed through to a VM, or of a native host."""

    device: Literal["directpath"] = "directpath"
    """How it is passed through: the whole port (DirectPath I/O)."""
    nic: str
    """Name of the physical NIC (``pciPassthruX.id``)."""
    mtu: int | None = None
    """Bytes of an IP packet at most, of a NIC of a native host; that of the NIC's options (``host.nics``) where None."""


class VmSettings(Spec):
    """Effective settings of the VMs of a group (``.vmx`` keys), in the model's units."""

    shares: Positive
    """CPU shares of each vCPU (``sched.cpu.shares``)."""
    exclusive: bool = False
    """Each vCPU has a PCPU to itself (``sched.cpu.latencySensitivity`` high)."""
    nodes: tuple[int, ...]
    """NUMA nodes that the VM may run on (``numa.nodeAffinity``); none given is any."""
    reserved: Annotated[float, Field(ge=0, le=1)] = 0.0
    """Share of the VM's memory that is reserved (``sched.mem.min`` of ``memSize``)."""
    passthrough: tuple[PassthroughSettings, ...] = ()
    """NICs that the guest's own drivers work, in the order of their numbers."""
    vnics: tuple[VnicSettings, ...]

    @property
    def devices(self) -> tuple[VnicSettings | PassthroughSettings, ...]:
        """The network devices of the VM, in the order of their numbers: vNICs, then NICs that are passed through."""
        return (*self.vnics, *self.passthrough)
