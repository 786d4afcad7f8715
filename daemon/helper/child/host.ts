import { setTimeout as pause } from 'node:timers/promises'
import systeminformation from 'systeminformation'
import { loadHostProbe } from '../../../shared/probes/load.ts'
import type { HostProbe } from '../../../shared/probes/probe.ts'
import { HOST_DATA_MAX_BYTES } from '../../../shared/wire/host-probe.ts'
import { explainAbsence } from './explain-absence.ts'
import { findLacking } from './find-lacking.ts'
import { fit } from './fit.ts'
import { httpStatus } from './http-status.ts'
import type { HelperFunction } from './served-call.ts'
import { withoutPrivate } from './without-private.ts'

/** What a probe found on this machine, or why it cannot. */
export interface HostLook {
  available: boolean
  reason: string | null
  data: unknown
}

/** The library computes no rates from two looks that are closer together than half a second. */
const MOMENT_MS = 600

type Functions = Record<string, (...args: unknown[]) => Promise<unknown>>

const look = async (probe: HostProbe, input: never): Promise<HostLook> => {
  const lacking = await findLacking(probe.needs, input)
  if (lacking !== undefined) return unavailable(lacking)
  const args = probe.argumentsFor?.(input) ?? []
  const ask = async (): Promise<unknown> =>
    (systeminformation as unknown as Functions)[probe.call]?.(...args)
  const first = await ask()
  if (probe.isRate) await pause(MOMENT_MS)
  // what JSON cannot hold is not known
  const answer: unknown = JSON.parse(JSON.stringify((probe.isRate ? await ask() : first) ?? null))
  const absence = explainAbsence(probe, answer, input)
  if (absence !== undefined) return unavailable(absence)
  const shown = withoutPrivate(answer, probe.removed) as never
  const arranged = await (probe.arrange?.(shown, input, { httpStatus }) ?? shown)
  return fit(arranged, HOST_DATA_MAX_BYTES)
}

const unavailable = (reason: string): HostLook => ({ available: false, reason, data: null })

/** A host probe by its id. Its input was checked by the daemon. */
export const findHostProbe = async (id: string): Promise<HelperFunction | undefined> => {
  const probe = await loadHostProbe(id)
  return probe && (input => look(probe, input))
}
