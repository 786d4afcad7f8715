import * as z from 'zod'
import { ShoalError } from '../../shared/errors.ts'
import { loadHostProbe } from '../../shared/probes/load.ts'
import type { HostProbe } from '../../shared/probes/probe.ts'
import type { HostProbeAnswer } from '../../shared/wire/host-probe.ts'
import type { Helper } from '../helper/helper.ts'
import { CLASS_OF_REACH, type HelperClass } from '../helper/helper-class.ts'
import { HelperFailure } from '../helper/helper-failure.ts'
import { type Clock, systemClock } from '../inference/clock.ts'
import type { ProbesConfig } from './config.ts'
import { isAllowed, type ProbeTarget, parseTarget } from './target.ts'

interface HostProbeParts {
  helpers: { get(helperClass: HelperClass): Pick<Helper, 'call'> }
  config: ProbesConfig
  /** Unix time, milliseconds. */
  now: () => number
  /** Schedules a function; used to drop cached answers. */
  after?: Clock['callAfter']
}

/** Probes of this machine, for callers that the coordinator has authorised. */
export interface HostProbes {
  /**
   * Runs a probe. Equal requests within a second share one answer.
   * @throws ShoalError not_found, invalid_request, or rate_limited when too many calls wait
   */
  ask(probeId: string, input: unknown): Promise<HostProbeAnswer>
}

const KEPT_MS = 1000

const ProbeResult = z.object({
  available: z.boolean(),
  reason: z.string().nullable(),
  data: z.json(),
})

interface Kept {
  answer: Promise<HostProbeAnswer>
  /** Unix milliseconds; undefined while the probe runs. */
  until: number | undefined
}

export const createHostProbes = (parts: HostProbeParts): HostProbes => {
  const { now, after = systemClock.callAfter } = parts
  const kept = new Map<string, Kept>()

  const forgetOld = (): void => {
    for (const [key, { until }] of kept)
      if (until !== undefined && (until <= now() || until > now() + KEPT_MS)) kept.delete(key)
  }

  const askOnce = (probe: HostProbe, input: object): Promise<HostProbeAnswer> => {
    const key = JSON.stringify([probe.id, input])
    const known = kept.get(key)
    if (known !== undefined) return known.answer
    const entry: Kept = { answer: runProbe(parts, probe, input), until: undefined }
    kept.set(key, entry)
    entry.answer.then(
      () => {
        entry.until = now() + KEPT_MS
        after(KEPT_MS, () => kept.get(key) === entry && kept.delete(key))
      },
      () => kept.delete(key),
    )
    return entry.answer
  }

  const ask: HostProbes['ask'] = async (probeId, given) => {
    const probe = await loadHostProbe(probeId)
    if (probe === undefined) throw new ShoalError('not_found', `unknown host probe ${probeId}`)
    const input = probe.input.safeParse(given)
    if (!input.success) {
      const [issue] = input.error.issues
      throw new ShoalError('invalid_request', `${issue?.path.join('.')}: ${issue?.message}`)
    }
    forgetOld()
    return askOnce(probe, input.data)
  }
  return { ask }
}

const runProbe = async (
  { helpers, config, now }: HostProbeParts,
  probe: HostProbe,
  input: object,
): Promise<HostProbeAnswer> => {
  const refused = findRefusal(config, input)
  if (refused !== undefined) return toUnavailable(refused, now())
  const { id, deadlineSeconds, reach } = probe
  try {
    const helper = helpers.get(CLASS_OF_REACH[reach])
    const found = await helper.call({ module: 'host', function: id, input, deadlineSeconds })
    return { ...ProbeResult.parse(found), taken_at: now() }
  } catch (error) {
    if (!(error instanceof HelperFailure)) throw error
    if (error.kind === 'busy' || error.kind === 'stopped')
      throw new ShoalError('rate_limited', error.message, { retryAfterSeconds: 5, cause: error })
    return toUnavailable(`the probe failed: ${error.message}`, now())
  }
}

const toUnavailable = (reason: string, at: number): HostProbeAnswer => ({
  available: false,
  reason: reason.slice(0, 500),
  taken_at: at,
  data: null,
})

/** Reason why the configuration of this cell forbids the probe; undefined when it allows it. */
const findRefusal = (
  { enabled, allowed_targets }: ProbesConfig,
  { url, host }: { url?: string; host?: string },
): string | undefined => {
  if (!enabled) return 'host probes are off on this cell (probes.enabled)'
  const target = toTarget(url, host)
  if (target === undefined || isAllowed(target, allowed_targets)) return undefined
  const port = target.port === undefined ? '' : ` port ${target.port}`
  return `probes.allowed_targets of this cell does not allow ${target.host}${port}`
}

const toTarget = (url?: string, host?: string): ProbeTarget | undefined => {
  if (url !== undefined) return parseTarget(url)
  return host === undefined ? undefined : { host }
}
