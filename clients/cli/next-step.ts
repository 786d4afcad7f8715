import { ERROR_REASONS, type ErrorReason } from '../../shared/error-reasons.ts'
import type { ErrorCode, ShoalError } from '../../shared/errors.ts'
import { valueAt } from '../../shared/success-rule.ts'
import { escapeHidden } from '../../shared/visible.ts'
import type { CliSettings } from './settings.ts'
import { isUnbelieved, NotCoordinator, reasonCode } from './unreachable.ts'

/** Settings in use and where each came from, as far as known. */
export type SettingsInUse = Partial<
  Pick<CliSettings, 'url' | 'urlFrom' | 'key' | 'keyFrom' | 'keyHeldBack' | 'profile'>
>

type Step = string | ((error: ShoalError, about: SettingsInUse) => string | undefined)

const NO_KEY = 'set SHOAL_KEY to your key, or store it in a profile: shoal login --url URL --key -'

const steps: Partial<Record<ErrorCode, Step>> = {
  auth_required: (_error, { key, keyFrom, keyHeldBack }) => {
    if (keyHeldBack !== undefined) return `${keyHeldBack}; ${NO_KEY}`
    if (key === undefined) return NO_KEY
    return (
      `the key is from ${keyFrom}: it may be revoked, expired or of another coordinator; ` +
      'set SHOAL_KEY to another one, or shoal login'
    )
  },
  tenant_forbidden: 'leave --tenant and SHOAL_TENANT out, or use a key of that tenant',
  tier_exceeded: 'wait for the next month, or use a key of a larger tier',
  not_found: 'the list command of the same group lists the existing ids',
  invalid_model: 'shoal models list shows what your key may use',
  model_not_found: 'shoal models list shows what your key may use',
  idempotency_key_reuse: 'use another Idempotency-Key for another call',
  // without a field, the message says what is wrong with the request as a whole
  invalid_request: ({ param }) =>
    param === undefined ? undefined : 'add --help to the command to see what it takes',
  unsupported_parameter: 'leave it out, or ask another model: shoal models list',
  context_length_exceeded: 'shorten the text, or ask a model with more context',
  payload_too_large: 'send less at a time',
  host_not_allowed: 'add the name in the address to http.allowed_hosts of the coordinator',
  request_timeout: 'try again; shoal health shows the state of the service',
  cell_unavailable: 'shoal health shows how many cells and models are available',
  store_unavailable: 'see the log of the coordinator for the fault of its store',
  upstream_unavailable: ({ retryAfterSeconds = 60 }) =>
    `an outside source does not answer; try again in ${retryAfterSeconds} s`,
  scope_denied: 'devices.scope in the configuration of the cell names what it may contact',
  broker_unavailable: 'start the broker that the coordinator is configured for, or check its log',
  audit_broken: 'shoal audit verify shows where; nothing is written until this is resolved',
  internal: 'see the log of the coordinator, or run shoal doctor',
  // with an address in hand it is about that; without, the profile has none
  config_invalid: (_error, { urlFrom }) =>
    urlFrom === undefined
      ? 'shoal profile list shows the profiles; shoal doctor checks the connection'
      : `the address is from ${urlFrom}: write it as http://127.0.0.1:7070`,
  coordinator_unavailable: (error, about) => reach(error, about),
}

/** Suggestion for the user; undefined where the message is sufficient. */
export const nextStep = (error: ShoalError, about: SettingsInUse = {}): string | undefined => {
  const { code, reason, next, retryAfterSeconds } = error
  if (reason !== undefined) return reasonStep(reason, next)
  if (next !== undefined) return `next: ${escapeHidden(next)}`
  if (code === 'rate_limited' || code === 'draining')
    return `try again in ${retryAfterSeconds ?? 1} s`
  const step = steps[code]
  return typeof step === 'function' ? step(error, about) : step
}

/** Advice for a reason, followed by the stated next step; undefined where the message says it all. */
const reasonStep = (reason: ErrorReason, next: string | undefined): string | undefined => {
  const { advice } = ERROR_REASONS[reason]
  return next === undefined ? advice : advice && `${advice}: ${escapeHidden(next)}`
}

/**
 * The line that an operation declares for its answer, with the answer's fields in their places;
 * undefined where a field is missing.
 */
export const fillDeclaredStep = (
  answer: unknown,
  url: string,
  line: string | undefined,
): string | undefined => {
  if (line === undefined) return undefined
  const values = { ...(answer as Record<string, unknown>), url }
  const isWhole = namesIn(line).every(name => typeof valueAt(values, name) === 'string')
  if (!isWhole) return undefined
  const filled = escapeHidden(
    line.replaceAll(PLACE, (_, name: string) => String(valueAt(values, name))),
  )
  return namesIn(line).includes('url') && isLoopback(new URL(url).hostname)
    ? `${filled}\nthis address is for cells on this machine; others need that of the network`
    : filled
}

/** A place for a field in a declared line. */
const PLACE = /\{(\w+)\}/g

const namesIn = (line: string): string[] => [...line.matchAll(PLACE)].map(([, name = '']) => name)

export const isLoopback = (host: string): boolean => /^(localhost|127\.[\d.]+|\[::1\])$/.test(host)

const reach = (error: ShoalError, { url, urlFrom }: SettingsInUse): string => {
  const own = isMeantForField(url, urlFrom) ? 'for a field called url write --input-url; ' : ''
  const from = urlFrom === undefined ? '' : `the address is from ${urlFrom}; ${own}`
  if (error instanceof NotCoordinator) return `${from}a proxy may be answering in its place`
  if (isUnbelieved(error)) return `${from}${adviseOnCertificate(error)}`
  if (/^(ERR_SSL|EPROTO)/.test(reasonCode(error) ?? ''))
    return `${from}use http:// if it is meant to be without TLS`
  if (isCut(error) && url?.startsWith('https:') !== true)
    return `${from}use https:// if it speaks TLS`
  if (reasonCode(error) === 'UND_ERR_HEADERS_TIMEOUT')
    return `${from}it accepts connections but does not answer: read its log, and restart it`
  return `${from}start it with npm start, or set SHOAL_URL or --url to its address`
}

/** A server of TLS ends a connection without it. */
const isCut = (error: ShoalError): boolean =>
  ['UND_ERR_SOCKET', 'ECONNRESET', 'HPE_INVALID_CONSTANT'].includes(reasonCode(error) ?? '')

/** A coordinator has no path; a webhook, whose address is a field of that name, mostly does. */
const isMeantForField = (url = '', urlFrom = ''): boolean =>
  urlFrom === '--url' && URL.canParse(url) && new URL(url).pathname !== '/'

const adviseOnCertificate = (error: ShoalError): string => {
  const code = reasonCode(error) ?? ''
  if (/ALTNAME/.test(code)) return 'use a host name from the certificate'
  if (/EXPIRED|NOT_YET/.test(code)) return 'compare the clocks, and renew the certificate'
  return 'pass its certificate authority with --ca-file, or store it: shoal login --ca-file FILE'
}
