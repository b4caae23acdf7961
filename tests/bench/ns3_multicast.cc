// A network-only yardstick: ns-3 delivering one multicast stream to n receivers over a 10 Gbit/s segment.
// No processor is modelled. Prints one number: deliveries per second of processor time.
#include <ctime>
#include <cstdint>
#include <iostream>

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/csma-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"

namespace {
uint64_t delivered = 0;
void Count(ns3::Ptr<const ns3::Packet>, const ns3::Address&) { ++delivered; }
}  // namespace

int main(int argc, char** argv) {
  uint32_t receivers = 20;
  double rate = 40000, seconds = 1;
  ns3::CommandLine options;
  options.AddValue("receivers", "hosts that have joined the group", receivers);
  options.AddValue("rate", "datagrams of 800 bytes in a second", rate);
  options.AddValue("seconds", "simulated time", seconds);
  options.Parse(argc, argv);

  ns3::NodeContainer hosts(receivers + 1);
  ns3::CsmaHelper segment;
  segment.SetChannelAttribute("DataRate", ns3::StringValue("10Gbps"));
  segment.SetChannelAttribute("Delay", ns3::TimeValue(ns3::MicroSeconds(1)));
  ns3::NetDeviceContainer ports = segment.Install(hosts);
  ns3::InternetStackHelper stack;
  stack.Install(hosts);
  ns3::Ipv4AddressHelper addresses("10.0.0.0", "255.255.0.0");
  addresses.Assign(ports);

  const uint16_t port = 4000;
  const ns3::Ipv4Address group("239.1.1.1");
  ns3::Ipv4StaticRoutingHelper().SetDefaultMulticastRoute(hosts.Get(0), ports.Get(0));
  ns3::OnOffHelper sender("ns3::UdpSocketFactory", ns3::InetSocketAddress(group, port));
  sender.SetConstantRate(ns3::DataRate(static_cast<uint64_t>(rate * 800 * 8)), 800);
  ns3::ApplicationContainer sending = sender.Install(hosts.Get(0));
  sending.Start(ns3::Seconds(0));
  sending.Stop(ns3::Seconds(seconds));
  ns3::PacketSinkHelper sink("ns3::UdpSocketFactory", ns3::InetSocketAddress(ns3::Ipv4Address::GetAny(), port));
  for (uint32_t i = 1; i <= receivers; ++i) {
    ns3::ApplicationContainer receiving = sink.Install(hosts.Get(i));
    receiving.Start(ns3::Seconds(0));
    receiving.Get(0)->TraceConnectWithoutContext("Rx", ns3::MakeCallback(&Count));
  }

  ns3::Simulator::Stop(ns3::Seconds(seconds + 0.01));
  const std::clock_t start = std::clock();
  ns3::Simulator::Run();
  const double took = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  std::cout << static_cast<double>(delivered) / took << "\n";
  ns3::Simulator::Destroy();
}
