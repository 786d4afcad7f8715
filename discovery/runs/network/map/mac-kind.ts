export type MacKind = 'global' | 'local' | 'virtual_router' | 'container'

/**
 * Addresses of first-hop redundancy: VRRP and CARP (RFC 9568, 7.3), HSRP 1 and 2 and GLBP
 * (documentation of Cisco IOS).
 */
const VIRTUAL_ROUTERS = [
  '00:00:5e:00:01:',
  '00:00:5e:00:02:',
  '00:00:0c:07:ac:',
  '00:00:0c:9f:f',
  '00:05:73:a0:0',
  '00:07:b4:00:',
]
/** Docker derives addresses of containers from their IPv4 address (documentation of the engine). */
const CONTAINERS = '02:42:'
/** Universal/local bit of the first octet (IEEE 802, 8.2.2). */
const LOCAL_BIT = 0x02

/** Kind of a MAC address by who assigned it; null for none, and for those of groups. */
export const classifyMac = (mac: string | null): MacKind | null => {
  if (mac === null) return null
  if (VIRTUAL_ROUTERS.some(prefix => mac.startsWith(prefix))) return 'virtual_router'
  if (mac.startsWith(CONTAINERS)) return 'container'
  return (Number.parseInt(mac.slice(0, 2), 16) & LOCAL_BIT) === 0 ? 'global' : 'local'
}
