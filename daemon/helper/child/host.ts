import { setTimeout as pause } from 'node:timers/promises'
import systeminformation from 'systeminformation'
import { HOST_PROBES } from '../../../shared/probes/host-probes.ts'
import type { HostProbe } from '../../../shared/probes/probe.ts'
import { HOST_DATA_MAX_BYTES } from '../../../shared/wire/host-probe.ts'
import { fit } from './fit.ts'
import { argumentsOf, type ProbeInput } from './probe-arguments.ts'
import { missing } from './probe-needs.ts'
import { nothingIn } from './probe-nothing.ts'
import { arranged } from './probe-views.ts'
import type { HelperModule } from './serve.ts'
import { withoutPrivate } from './without-private.ts'

/** What a probe found on this machine, or why it cannot. */
export interface HostLook {
  available: boolean
  reason: string | null
  data: unknown
}

/** The library makes no rates from two looks that are closer together than half a second. */
const MOMENT_MS = 600

type Functions = Record<string, (...args: unknown[]) => Promise<unknown>>

const look = async (probe: HostProbe, input: ProbeInput): Promise<HostLook> => {
  const needed = await missing(probe.id, input)
  if (needed !== undefined) return unavailable(needed)
  const ask = (): Promise<unknown> =>
    Promise.resolve(
      (systeminformation as unknown as Functions)[probe.call]?.(...argumentsOf(probe.id, input)),
    )
  const first = await ask()
  if (probe.isRate) await pause(MOMENT_MS)
  // what JSON cannot hold is not known
  const told: unknown = JSON.parse(JSON.stringify((probe.isRate ? await ask() : first) ?? null))
  const nothing = nothingIn(probe, told, input)
  if (nothing !== undefined) return unavailable(nothing)
  const shown = await arranged(probe.id, withoutPrivate(told, probe.removed), input)
  return fit(shown, HOST_DATA_MAX_BYTES)
}

const unavailable = (reason: string): HostLook => ({ available: false, reason, data: null })

/** The host probes by their ids. Their input was checked by the daemon. */
export const host: HelperModule = Object.fromEntries(
  HOST_PROBES.map(probe => [probe.id, (input: ProbeInput) => look(probe, input)]),
)
