import type { ProbeReach } from '../../shared/probes/probe.ts'

/** Kinds of foreign code, each in a process of its own: what hangs in one disturbs no other. */
export const HELPER_CLASSES = ['host', 'lan', 'radio'] as const
export type HelperClass = (typeof HELPER_CLASSES)[number]

/** Where code runs that looks so far. */
export const CLASS_OF_REACH: Readonly<Record<ProbeReach, HelperClass>> = {
  host: 'host',
  lan: 'lan',
  internet: 'lan',
  radio: 'radio',
}
