import { setTimeout as pause } from 'node:timers/promises'
import systeminformation from 'systeminformation'
import { loadHostProbe } from '../../../shared/probes/load.ts'
import type { HostProbe } from '../../../shared/probes/probe.ts'
import { HOST_DATA_MAX_BYTES } from '../../../shared/wire/host-probe.ts'
import { explainAbsence } from './explain-absence.ts'
import { fetchStatus } from './fetch-status.ts'
import { findLacking } from './find-lacking.ts'
import { removePrivate } from './remove-private.ts'
import type { HelperFunction } from './served-call.ts'
import { truncateAnswer } from './truncate-answer.ts'

/** Result of a probe, or the reason why this machine has none. */
export interface ProbeResult {
  available: boolean
  reason: string | null
  data: unknown
}

/** The library computes no rates from two calls less than half a second apart. */
const MOMENT_MS = 600

type Functions = Record<string, (...args: unknown[]) => Promise<unknown>>

const runProbe = async (probe: HostProbe, input: never): Promise<ProbeResult> => {
  const lacking = await findLacking(probe.needs, input)
  if (lacking !== undefined) return toUnavailable(lacking)
  const args = probe.argumentsFor?.(input) ?? []
  const ask = async (): Promise<unknown> =>
    (systeminformation as unknown as Functions)[probe.call]?.(...args)
  const first = await ask()
  if (probe.isRate) await pause(MOMENT_MS)
  // values that JSON cannot hold become null
  const answer: unknown = JSON.parse(JSON.stringify((probe.isRate ? await ask() : first) ?? null))
  const absence = explainAbsence(probe, answer, input)
  if (absence !== undefined) return toUnavailable(absence)
  const shown = removePrivate(answer, probe.removed) as never
  const arranged = await (probe.arrange?.(shown, input, { httpStatus: fetchStatus }) ?? shown)
  return truncateAnswer(arranged, HOST_DATA_MAX_BYTES)
}

const toUnavailable = (reason: string): ProbeResult => ({ available: false, reason, data: null })

/** Finds a host probe by its id. The daemon has already validated its input. */
export const findHostProbe = async (id: string): Promise<HelperFunction | undefined> => {
  const probe = await loadHostProbe(id)
  return probe && (input => runProbe(probe, input))
}
