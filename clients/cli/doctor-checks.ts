import { ShoalError } from '../../shared/errors.ts'
import { VERSION } from '../../shared/version.ts'
import type { CoordinatorReply, DoctorResult } from './doctor-result.ts'
import { isLoopback, nextStep } from './next-step.ts'
import { checkParts, checkRows, checkService, checkUsage } from './service-checks.ts'
import type { CliSettings } from './settings.ts'
import { createCoordinatorUnreachableError } from './unreachable.ts'

export interface DoctorSubject {
  settings: CliSettings
  /** Sends a request; rejects as `fetch` does when there is no answer. */
  look: (path: string, key?: string) => Promise<CoordinatorReply>
  /** Days until the certificate at the address ends. */
  daysLeft: (url: string) => Promise<number | undefined>
  /** Number of commands in the API document. Throws what rejects the document. */
  countCommands: () => Promise<number>
}

/**
 * Looks at everything between this program and the service, the nearest first. Ends at the first
 * answer that says that too many requests were sent: it tells nothing about the service.
 */
export async function* examineConnection(subject: DoctorSubject): AsyncGenerator<DoctorResult> {
  const look: DoctorSubject['look'] = async (path, key) => {
    const reply = await subject.look(path, key)
    if (reply.status === 429) throw createLimitedError(reply)
    return reply
  }
  try {
    yield* examine({ ...subject, look })
  } catch (error) {
    if (!isLimited(error)) throw error
    const { message: says, code } = error
    yield { name: 'limit', state: 'fail', says, next: nextStep(error) ?? '', code }
  }
}

const createLimitedError = ({ headers, body }: CoordinatorReply): ShoalError => {
  const { error } = (body ?? {}) as { error?: { message?: string } }
  const retryAfterSeconds = Number(headers.get('retry-after') ?? 60)
  const message = error?.message ?? 'this address or key has sent too many requests'
  return new ShoalError('rate_limited', message, { retryAfterSeconds })
}

const isLimited = (error: unknown): error is ShoalError =>
  error instanceof ShoalError && error.code === 'rate_limited'

async function* examine(subject: DoctorSubject): AsyncGenerator<DoctorResult> {
  const { settings, look } = subject
  yield describeSources(settings)
  let first: CoordinatorReply
  try {
    first = await look('/v1/health')
  } catch (cause) {
    if (isLimited(cause)) throw cause
    const error = createCoordinatorUnreachableError(settings.url, cause)
    const next = nextStep(error, settings) ?? ''
    yield { name: 'reach', state: 'fail', says: error.message, next, code: error.code }
    return
  }
  if (!first.headers.has('x-shoal-version')) {
    yield {
      name: 'reach',
      state: 'fail',
      says: `the server at ${settings.url} is not a coordinator`,
      next: `the address is from ${settings.urlFrom}; a proxy may be answering in its place`,
      code: 'coordinator_unavailable',
    }
    return
  }
  yield { name: 'reach', state: 'ok', says: `a coordinator answers at ${settings.url}` }
  yield await transport(subject)
  yield versions(first.headers.get('x-shoal-version') ?? '')
  yield clocks(first)
  yield* await identity(subject)
  yield checkService(first)
  const health = await look('/health')
  yield* checkParts(health)
  yield* checkUsage(health)
  yield* checkRows(health)
  yield await commands(subject)
}

const describeSources = ({ url, urlFrom, keyFrom, profile }: CliSettings): DoctorResult => {
  const said = `the profile ${profile}`
  const other =
    profile === undefined || [urlFrom, keyFrom].includes(said) ? '' : `, profile ${profile}`
  return {
    name: 'settings',
    state: 'ok',
    says: `${addressAndKey({ url, urlFrom, keyFrom })}${other}`,
  }
}

const addressAndKey = ({
  url,
  urlFrom,
  keyFrom,
}: Pick<CliSettings, 'url' | 'urlFrom' | 'keyFrom'>) => {
  if (keyFrom === undefined) return `${url} from ${urlFrom}, no key`
  if (keyFrom === urlFrom) return `${url} and the key from ${urlFrom}`
  return `${url} from ${urlFrom}, key from ${keyFrom}`
}

const SOON_DAYS = 14

const transport = async ({ settings, daysLeft }: DoctorSubject): Promise<DoctorResult> => {
  const { protocol, hostname } = new URL(settings.url)
  const name = 'tls'
  if (protocol === 'http:') {
    if (isLoopback(hostname))
      return { name, state: 'ok', says: 'not encrypted, but local to this machine' }
    const next = 'use https://; without it the key can be read in transit'
    return { name, state: 'warn', says: 'the connection is not encrypted', next }
  }
  const days = await daysLeft(settings.url)
  if (days === undefined) return { name, state: 'warn', says: 'no certificate could be read' }
  const says = `the certificate is trusted and expires in ${Math.floor(days)} days`
  if (days >= SOON_DAYS) return { name, state: 'ok', says }
  return {
    name,
    state: 'warn',
    says,
    next: 'renew it; a coordinator renews only the certificates that it issued itself',
  }
}

/** Check of the two versions; the same major version is compatible. */
const versions = (server: string): DoctorResult => {
  const name = 'version'
  const [ours, theirs] = [VERSION.split('.'), server.split('.')]
  if (server === VERSION)
    return { name, state: 'ok', says: `this program and the coordinator are ${VERSION}` }
  const says = `this program is ${VERSION}, the coordinator ${server}`
  if (ours[0] !== theirs[0])
    return {
      name,
      state: 'fail',
      says,
      next: 'use programs of one version',
      code: 'upgrade_required',
    }
  return { name, state: 'warn', says, next: 'update the older one: it may lack features' }
}

const CLOCK_WARN_SECONDS = 5
const CLOCK_FAIL_SECONDS = 120

/** `Date` has whole seconds (RFC 9110, 6.6.1), cut off. */
const clocks = ({ headers, at }: CoordinatorReply): DoctorResult => {
  const name = 'clock'
  const theirs = Date.parse(headers.get('date') ?? '')
  if (!Number.isFinite(theirs))
    return { name, state: 'warn', says: 'the response had no Date header' }
  const seconds = Math.round((theirs + 500 - at) / 1000)
  const away = Math.abs(seconds)
  const says = `the coordinator's clock is ${away} s ${seconds < 0 ? 'behind' : 'ahead'}`
  const next = 'synchronise both (timedatectl set-ntp true): approvals and keys depend on the time'
  if (away >= CLOCK_FAIL_SECONDS) return { name, state: 'fail', says, next, code: 'config_invalid' }
  if (away >= CLOCK_WARN_SECONDS) return { name, state: 'warn', says, next }
  return { name, state: 'ok', says: 'both clocks agree' }
}

const identity = async ({ settings, look }: DoctorSubject): Promise<DoctorResult[]> => {
  const { key, keyFrom } = settings
  const name = 'key'
  if (key === undefined) {
    const next = 'set SHOAL_KEY, or shoal login --url URL --key -'
    return [{ name, state: 'fail', says: 'there is none', next, code: 'auth_required' }]
  }
  const { status, headers, body } = await look('/v1/keys?limit=1000', key)
  if (status === 401)
    return [
      {
        name,
        state: 'fail',
        says: `the one from ${keyFrom} is refused`,
        next: 'it may be revoked, expired or of another coordinator: shoal login with another one',
        code: 'auth_required',
      },
    ]
  if (status !== 200)
    return [{ name, state: 'warn', says: `the coordinator answered ${status} to it` }]
  return [{ name, state: 'ok', says: describeKey(body, key) }, allowance(headers)]
}

interface KeyView {
  id: string
  tenant_id: string
  tier: string
  roles: string[]
  expires_at: string | null
}

/** A key has its id in it, before the last `_`. */
const describeKey = (body: unknown, key: string): string => {
  const { keys = [] } = body as { keys?: KeyView[] }
  const own = keys.find(({ id }) => key.startsWith(`svc-dev-${id}_`) || key.includes(`${id}_`))
  if (own === undefined) return 'it is valid'
  const until = own.expires_at === null ? '' : `, until ${own.expires_at}`
  return `${own.id} is valid: tier ${own.tier}, roles ${own.roles.join(' ')}, tenant ${own.tenant_id}${until}`
}

const allowance = (headers: Headers): DoctorResult => {
  const name = 'quota'
  const left = headers.get('x-ratelimit-remaining')
  const limit = headers.get('x-ratelimit-limit')
  if (limit === 'unlimited') return { name, state: 'ok', says: 'requests are not limited' }
  if (left === null || limit === null)
    return {
      name,
      state: 'warn',
      says: 'the answer does not state how many requests are left',
      next: 'let the proxy pass on the headers x-ratelimit-*',
    }
  const says = `${left} of ${limit} requests are left this month`
  if (Number(left) > 0) return { name, state: 'ok', says }
  return {
    name,
    state: 'warn',
    says,
    next: 'wait for the next month, or use a key of a larger tier',
  }
}

const commands = async ({ countCommands }: DoctorSubject): Promise<DoctorResult> => {
  const name = 'commands'
  try {
    return { name, state: 'ok', says: `the coordinator offers ${await countCommands()} commands` }
  } catch (error) {
    return { name, state: 'warn', says: (error as Error).message }
  }
}
