import type { DaemonConfig } from '../config.ts'
import type { Identity } from '../identity.ts'

export interface CheckReport {
  /** `skip` marks a check that an earlier fault prevents. */
  state: 'ok' | 'warn' | 'fail' | 'skip'
  /** Observation, in plain words. */
  says: string
  /** Suggested remedy. */
  remedy?: string
}

export interface NamedCheckReport extends CheckReport {
  name: string
}

/** Parts of the machine that the checks examine. */
export interface CheckSubject {
  config: DaemonConfig
  identity: Identity | undefined
  /** Address of the coordinator. */
  url: string
  path: string | undefined
  /** LD_LIBRARY_PATH. */
  libraryPath: string | undefined
  /** Folder in which the kernel shows its devices: /sys. */
  sysFolder: string
  signal: AbortSignal
  /** Unix time, milliseconds. */
  now: () => number
}

export type DoctorCheck = (subject: CheckSubject) => Promise<CheckReport>

export const ok = (says: string): CheckReport => ({ state: 'ok', says })
export const warn = (says: string, remedy: string): CheckReport => ({ state: 'warn', says, remedy })
export const fail = (says: string, remedy: string): CheckReport => ({ state: 'fail', says, remedy })
export const skip = (says: string): CheckReport => ({ state: 'skip', says })
