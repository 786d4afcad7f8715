import { get as getHttp, type RequestOptions } from 'node:http'
import { get as getHttps } from 'node:https'
import { setTimeout as pause } from 'node:timers/promises'
import systeminformation from 'systeminformation'
import { isEmpty } from '../../../shared/probes/empty-answer.ts'
import { loadHostProbe } from '../../../shared/probes/load.ts'
import type { HostProbe, ProbeShape } from '../../../shared/probes/probe.ts'
import { HOST_DATA_MAX_BYTES } from '../../../shared/wire/host-probe.ts'
import { findLacking } from './find-lacking.ts'
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

const STATUS_MS = 3000

/**
 * Fetches the status of a site; null when it does not answer in time. Not by undici: nothing but the
 * status is read, and the helper loads nothing more for it.
 */
const fetchStatus = (url: string): Promise<number | null> => {
  const get = url.startsWith('https:') ? getHttps : getHttp
  const options: RequestOptions = { agent: false, signal: AbortSignal.timeout(STATUS_MS) }
  return new Promise(done => {
    const request = get(url, options, response => {
      done(response.statusCode ?? null)
      request.destroy()
    })
    request.on('error', () => done(null))
  })
}

const MAX_DEPTH = 16
const MAX_TEXT_LENGTH = 8192
/** User and password in a URL: `https://user:word@host`. */
const CREDENTIALS = /(\b[a-z][a-z0-9+.-]{0,30}:\/\/)[^\s/@]{1,500}@/gi

/** Removes the named fields, and the credentials in URLs. */
const removePrivate = (value: unknown, removed: readonly string[], depth = 0): unknown => {
  if (typeof value === 'string') return value.slice(0, MAX_TEXT_LENGTH).replace(CREDENTIALS, '$1')
  if (typeof value !== 'object' || value === null) return value
  if (depth === MAX_DEPTH) return null
  if (Array.isArray(value)) return value.map(each => removePrivate(each, removed, depth + 1))
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => !removed.includes(name))
      .map(([name, field]) => [name, removePrivate(field, removed, depth + 1)]),
  )
}

const NOTHING = 'the library returned nothing'

/** Explains in plain words why an answer of the library is empty; undefined for one with content. */
const explainAbsence = (probe: HostProbe, answer: unknown, input: never): string | undefined => {
  const { shape, emptyReason } = probe
  if (answer !== null && !hasShape(answer, shape))
    return `the library did not return a value of type ${shape}`
  if (answer === null || (emptyReason !== undefined && isEmpty(answer)))
    return typeof emptyReason === 'function' ? emptyReason(input) : (emptyReason ?? NOTHING)
  return probe.explainInvented?.(answer as never)
}

const hasShape = (answer: unknown, shape: ProbeShape): boolean => {
  if (shape === 'list') return Array.isArray(answer)
  if (shape === 'text') return typeof answer === 'string'
  if (shape === 'number') return typeof answer === 'number'
  return typeof answer === 'object' && !Array.isArray(answer)
}
