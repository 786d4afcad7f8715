import type { DaemonConfig } from '../config.ts'
import type { Identity } from '../identity.ts'

export interface Finding {
  /** `skip` is what could not be looked at because something before it is wrong. */
  state: 'ok' | 'warn' | 'fail' | 'skip'
  /** Finding, in plain words. */
  says: string
  /** Suggested remedy. */
  remedy?: string
}

export interface Checked extends Finding {
  name: string
}

/** Parts of the machine that the checks examine. */
export interface Patient {
  config: DaemonConfig
  identity: Identity | undefined
  /** Address of the coordinator. */
  url: string
  path: string | undefined
  /** Folder in which the kernel shows its devices: /sys. */
  sysFolder: string
  signal: AbortSignal
  /** Unix time, milliseconds. */
  now: () => number
}

export type Check = (patient: Patient) => Promise<Finding>

export const ok = (says: string): Finding => ({ state: 'ok', says })
export const warn = (says: string, remedy: string): Finding => ({ state: 'warn', says, remedy })
export const fail = (says: string, remedy: string): Finding => ({ state: 'fail', says, remedy })
export const skip = (says: string): Finding => ({ state: 'skip', says })
