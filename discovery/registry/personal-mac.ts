import { isPrivateMac, rejectMac } from './rejected-keys.ts'

/**
 * Locally administered prefixes that hypervisors and clouds give to machines: QEMU and libvirt
 * (52:54:00, fe:54:00 on the host's side), VirtualBox (0a:00:27), Google Compute Engine (42:01), and
 * the pod networks of Kubernetes (0a:58, OVN).
 */
const MACHINE = /^(52:54:00|fe:54:00|0a:00:27|42:01|0a:58)/

/**
 * True for a MAC address in canonical form that belongs to a person's device by the rule of
 * `docs/discovery.md`: locally administered, as phones, tablets and computers choose them for each
 * network, and not one of a hypervisor, container or virtual router. The address alone decides, so
 * that all modules agree.
 */
export const isPersonalMac = (mac: string): boolean =>
  isPrivateMac(mac) && rejectMac(mac) === undefined && !MACHINE.test(mac)
