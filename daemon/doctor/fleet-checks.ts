import { stat } from 'node:fs/promises'
import * as z from 'zod'
import { type ErrorCode, ShoalError } from '../../shared/errors.ts'
import { SelfAnswer } from '../../shared/wire/cell-self.ts'
import {
  LINK_PATH,
  LINK_PROTOCOL,
  MQTT_PATH,
  MQTT_PROTOCOL,
  SELF_PATH,
} from '../../shared/wire/link.ts'
import { followEndorsements } from '../../shared/wire/trust.ts'
import { askAsCell, askCoordinator } from '../ask.ts'
import { describeCoverage, isComplete } from '../coordinators/coverage.ts'
import { readCoverage } from '../coordinators/coverage-file.ts'
import { credentialOf, identityFile } from '../identity.ts'
import { dial } from '../uplink/dial.ts'
import {
  type CheckReport,
  type CheckSubject,
  type DoctorCheck,
  fail,
  ok,
  skip,
  warn,
} from './check.ts'

/* What can be seen of the coordinator, and what it says of this cell. */

/** Later checks need it; commands to devices are refused beyond it. */
const CLOCK_LIMIT_MS = 2000
const TIMEOUT_SECONDS = 5

export const identity: DoctorCheck = async ({ config, identity }) => {
  if (identity === undefined)
    return fail(
      `${config.state_dir} holds no identity: this machine is not a cell`,
      'get a join token from the coordinator and use shoald join URL --token TOKEN',
    )
  const { mode } = await stat(identityFile(config.state_dir))
  if ((mode & 0o077) !== 0)
    return warn(
      `${identityFile(config.state_dir)} can be read by others`,
      `chmod 600 ${identityFile(config.state_dir)}`,
    )
  return ok(`${identity.cell_id}, epoch ${identity.epoch}`)
}

export const coordinator: DoctorCheck = async subject => {
  const { url, identity } = subject
  const startedMs = performance.now()
  try {
    const asker = { ...askerOf(subject), ca: identity?.coordinator_ca }
    await askCoordinator(asker, { method: 'GET', path: '/v1/health', answer: z.object({}) })
  } catch (error) {
    return fail(
      (error as Error).message,
      'check the address, the coordinator, and firewalls that may block the port or TLS',
    )
  }
  return ok(`${url} answers in ${Math.ceil(performance.now() - startedMs)} ms`)
}

export const certificate: DoctorCheck = async ({ url, identity }) => {
  if (url.startsWith('http:')) return ok('not needed: the coordinator is on this machine')
  return identity?.coordinator_ca === undefined
    ? ok('vouched for by an authority that this machine trusts')
    : ok('vouched for by the authority that was pinned at enrolment')
}

/** Checks that share the coordinator's answer about this cell. */
export const selfChecks = (
  subject: CheckSubject,
): Record<'credential' | 'signing key' | 'clock', DoctorCheck> => {
  let asked: Promise<Seen> | undefined
  const self = (): Promise<Seen> => {
    asked ??= askSelf(subject)
    return asked
  }
  return {
    credential: async () => (await self()).credential,
    'signing key': async () => {
      const { answer } = await self()
      return answer === undefined ? skip('the coordinator did not answer') : keyOf(subject, answer)
    },
    clock: async () => {
      const { answer, aheadMs } = await self()
      return answer === undefined ? skip('the coordinator did not answer') : clockOf(aheadMs)
    },
  }
}

interface Seen {
  credential: CheckReport
  answer?: SelfAnswer
  /** Offset of this cell's clock from the coordinator's, accurate to half a round trip. */
  aheadMs: number
}

const askSelf = async (subject: CheckSubject): Promise<Seen> => {
  const { identity, now } = subject
  if (identity === undefined) return { credential: skip('there is no identity'), aheadMs: 0 }
  const before = now()
  try {
    const question = { method: 'GET', path: SELF_PATH, answer: SelfAnswer } as const
    const asker = { ...askerOf(subject), probe: true }
    const credential = credentialOf(identity)
    const answer = await askAsCell({ ...identity, credential }, asker, question)
    const aheadMs = (before + now()) / 2 - answer.now
    return { credential: ok(`accepted; made ${dayOf(answer.credential_at)}`), answer, aheadMs }
  } catch (error) {
    return { credential: describeRefusal(error as Error), aheadMs: 0 }
  }
}

const describeRefusal = (error: Error): CheckReport => {
  const code = error instanceof ShoalError ? error.code : undefined
  if (code === 'auth_required')
    return fail(
      'the coordinator refuses it: the cell was revoked, or this is an old copy of the identity',
      'shoald leave --yes, then join with a new token',
    )
  if (code === 'forbidden')
    return fail(error.message, 'stop the other machine, then have an operator release the cell')
  return skip(error.message)
}

const keyOf = ({ identity }: CheckSubject, answer: SelfAnswer): CheckReport => {
  const pinned = identity?.coordinator_key
  if (pinned === undefined) return warn('none is pinned yet', 'the daemon pins it when it connects')
  if (followEndorsements(pinned, answer) === undefined)
    return fail(
      'the coordinator signs with a key that the pinned one does not vouch for',
      'if it was reinstalled: shoald leave --yes --force, then join again; if not, it is another server',
    )
  return ok('the coordinator signs with the key that is pinned, or one that it vouches for')
}

const clockOf = (aheadMs: number): CheckReport => {
  const says = `${Math.round(Math.abs(aheadMs))} ms ${aheadMs < 0 ? 'behind' : 'ahead of'} the coordinator`
  return Math.abs(aheadMs) > CLOCK_LIMIT_MS
    ? warn(
        says,
        'synchronize both machines with a time server: until then, commands to devices are refused',
      )
    : ok(says)
}

/** Errors that are caused by the credential and not by the network path. */
const OF_CREDENTIAL: readonly ErrorCode[] = ['auth_required', 'forbidden']

const plane =
  (path: string, protocol: string): DoctorCheck =>
  async subject => {
    const { identity } = subject
    if (identity === undefined) return skip('there is no identity')
    try {
      const options = { ...askerOf(subject), identity, path, protocol, probe: true }
      const { socket } = await dial(options)
      socket.on('error', () => {})
      socket.destroy()
      return ok(`the coordinator switches to ${protocol}`)
    } catch (error) {
      if (error instanceof ShoalError && OF_CREDENTIAL.includes(error.code))
        return describeRefusal(error)
      return fail(
        (error as Error).message,
        'a proxy in between must pass the Upgrade header and leave the connection open',
      )
    }
  }

/** Checks what the running daemon has recorded; it alone learns from the coordinators how many there are. */
export const coordinators: DoctorCheck = async ({ config }) => {
  const recorded = await readCoverage(config.state_dir)
  if (recorded === undefined) return ok('one, or the daemon does not run')
  const planes = Object.entries(recorded.planes)
  const missing = planes.filter(([, coverage]) => !isComplete(coverage))
  if (missing.length === 0) return ok(`${planes[0]?.[1].live ?? 0} connected`)
  const says = missing.map(([plane, coverage]) => `${plane}: ${describeCoverage(coverage)}`)
  return warn(
    `${says.join('; ')}, since ${new Date(recorded.at).toISOString()}`,
    'if it lasts, the balancer hides a coordinator: turn off sticky sessions, or give each coordinator its own replica.address',
  )
}

export const broker = plane(MQTT_PATH, MQTT_PROTOCOL)
export const link = plane(LINK_PATH, LINK_PROTOCOL)

const askerOf = ({ url, signal }: CheckSubject) => ({
  url,
  signal,
  timeoutSeconds: TIMEOUT_SECONDS,
})

const dayOf = (at: number): string => new Date(at).toISOString().slice(0, 10)
