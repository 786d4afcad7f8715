import type { ProbeReach } from '../../shared/probes/probe.ts'

/**
 * Classes of foreign code, each in its own process, so that a hanging call affects no other class:
 * `host` inspects this machine, `lan` contacts other machines, `radio` uses BLE and wifi.
 */
export const HELPER_CLASSES = ['host', 'lan', 'radio'] as const
export type HelperClass = (typeof HELPER_CLASSES)[number]

/** Class of a probe by its reach. */
export const CLASS_OF_REACH: Readonly<Record<ProbeReach, HelperClass>> = {
  host: 'host',
  lan: 'lan',
  internet: 'lan',
  radio: 'radio',
}
