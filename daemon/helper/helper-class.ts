import type { ProbeReach } from '../../shared/probes/probe.ts'

/**
 * Kinds of foreign code, each in a process of its own, so that a call that hangs disturbs no other
 * class: `host` looks at this machine, `lan` contacts other machines, `radio` uses BLE and wifi.
 */
export const HELPER_CLASSES = ['host', 'lan', 'radio'] as const
export type HelperClass = (typeof HELPER_CLASSES)[number]

/** The class of code that looks so far. */
export const CLASS_OF_REACH: Readonly<Record<ProbeReach, HelperClass>> = {
  host: 'host',
  lan: 'lan',
  internet: 'lan',
  radio: 'radio',
}
