import type { NetworkLab } from './network-lab.ts'

/** Networks of IPv4 and IPv6. */
interface Networks {
  ip: string
  ip6: string
}

/**
 * Rules of nftables. What the kernel itself says does not count: neighbour discovery, and the groups
 * that a socket has joined.
 */
const listRules = ({ ip, ip6 }: Networks): string => `table inet shoal {
  counter foreign {}
  chain output {
    type filter hook output priority 0; policy accept;
    oifname "lo" accept
    meta l4proto { ipv6-icmp, igmp } accept
    ip daddr ${ip} accept
    ip6 daddr ${ip6} accept
    counter name foreign
  }
}`

/** Starts to count the packets that leave a machine of a lab for any address outside of the networks. */
export const countForeignPackets = async (
  lab: NetworkLab,
  host: string,
  networks: Networks,
): Promise<() => Promise<number>> => {
  await lab.run(host, 'nft', [listRules(networks)])
  return async () => {
    const text = await lab.run(host, 'nft', ['-j', 'list', 'counter', 'inet', 'shoal', 'foreign'])
    const { nftables } = JSON.parse(text) as { nftables: { counter?: { packets: number } }[] }
    const packets = nftables.find(({ counter }) => counter !== undefined)?.counter?.packets
    if (packets === undefined) throw new Error('nftables lists no counter')
    return packets
  }
}
