import type { Logger } from 'pino'
import { DAY_MS } from '../../shared/time.ts'
import { wait as realWait, type Wait } from '../../shared/wait.ts'
import { CredentialAnswer, SelfAnswer } from '../../shared/wire/cell-self.ts'
import { CREDENTIAL_PATH, SELF_PATH } from '../../shared/wire/link.ts'
import { TrustBody } from '../../shared/wire/trust.ts'
import { askAsCell } from '../ask.ts'
import type { OwnIdentity } from '../own-identity.ts'
import { finishRenewal, type RenewalQuestions, renewCredential } from '../renewal.ts'
import type { Service } from '../service.ts'
import { believe, KeyDoubts } from '../trust.ts'
import { Nudge } from '../uplink/nudge.ts'
import type { Uplink } from '../uplink/uplink.ts'

interface CredentialOptions {
  identity: OwnIdentity
  url: string
  connectTimeoutSeconds: number
  /** Age at which the credential is replaced. */
  credentialDays: number
  uplink: Pick<Uplink, 'on' | 'onEnd'>
  /** Runs when the cell trusts a different signing key. */
  onTrustChange?: () => void
  /** Rung when another credential may help connections that are waiting to retry. */
  nudge: Pick<Nudge, 'ring'>
  logger: Logger
  wait?: Wait
  /** Unix time, milliseconds. */
  now?: () => number
  questions?: RenewalQuestions
}

/** Interval between checks of the credential's age. */
const LOOK_MS = 3_600_000
/** Delay after a failed renewal. */
const AGAIN_MS = 60_000
/** Delay after a renewal that may have invalidated the credential of the open connections. */
const SOON_MS = 5000

/** Renews the credential in time, and follows the coordinator's signing keys. */
export const credentialService = (options: CredentialOptions): Service => ({
  name: 'credential',
  start: async ({ signal, fail }) => {
    const { identity, uplink, logger } = options
    const questions = options.questions ?? questionsOf(options, signal)
    const asked = new Nudge()
    const doubts = new KeyDoubts(logger)
    let wanted = false
    const undo = [
      uplink.on('renew', () => {
        wanted = true
        asked.ring()
      }),
      uplink.on('trust', ({ body }, replica) => {
        const before = identity.coordinator_key
        believe(identity, TrustBody.parse(body), logger)
          .then(isBelieved => {
            doubts.note(replica, isBelieved)
            if (identity.coordinator_key !== before) options.onTrustChange?.()
          })
          .catch(fail)
      }),
      uplink.onEnd(replica => void doubts.forget(replica)),
      () => doubts.close(),
    ]
    signal.addEventListener('abort', () => {
      for (const off of undo) off()
    })
    const isDue = () => wanted || isOld(options)
    const onRenewed = () => {
      wanted = false
    }
    keepYoung({ ...options, questions, isDue, onRenewed, asked, signal }).catch(fail)
  },
})

/** Completes a renewal that a crash interrupted before connections are opened; later works too. */
export const settleAtStart = async (
  options: Pick<CredentialOptions, 'identity' | 'url' | 'connectTimeoutSeconds' | 'logger'>,
  signal: AbortSignal,
): Promise<void> => {
  const { identity, logger } = options
  await finishRenewal(identity, questionsOf(options, signal)).catch(error =>
    logger.warn({ reason: error.message }, 'an earlier renewal is still pending'),
  )
}

interface Keeping extends CredentialOptions {
  questions: RenewalQuestions
  isDue: () => boolean
  onRenewed: () => void
  asked: Nudge
  signal: AbortSignal
}

const keepYoung = async (keeping: Keeping): Promise<void> => {
  const { identity, questions, nudge, logger, isDue, onRenewed, asked, signal } = keeping
  const { wait = realWait, now } = keeping
  while (!signal.aborted) {
    let pauseMs = LOOK_MS
    try {
      if (identity.next_credential !== undefined) {
        await finishRenewal(identity, questions, now)
        nudge.ring()
      }
      if (isDue()) {
        await renewCredential(identity, questions, now)
        onRenewed()
        logger.info('the credential was renewed')
      }
    } catch (error) {
      if (signal.aborted) return
      pauseMs = identity.next_credential === undefined ? AGAIN_MS : SOON_MS
      logger.warn({ reason: (error as Error).message }, 'the credential was not renewed')
    }
    await asked.wait(wait, pauseMs, signal)
  }
}

/** A clock that was set back makes the age unknown: it is then taken to be old. */
const isOld = ({ identity, credentialDays, now = Date.now }: CredentialOptions): boolean => {
  const ageMs = now() - (identity.credential_at ?? 0)
  return ageMs < 0 || ageMs > credentialDays * DAY_MS
}

/** Questions to the coordinator, asked over REST. */
export const questionsOf = (
  options: Pick<CredentialOptions, 'identity' | 'url' | 'connectTimeoutSeconds' | 'logger'>,
  signal: AbortSignal,
): RenewalQuestions => {
  const { identity, url, connectTimeoutSeconds, logger } = options
  const asker = { url, timeoutSeconds: connectTimeoutSeconds, signal }
  return {
    renew: async credential => {
      const question = { method: 'POST', path: CREDENTIAL_PATH, answer: CredentialAnswer } as const
      return (await askAsCell({ ...identity, credential }, asker, question)).credential
    },
    confirm: async credential => {
      const question = { method: 'GET', path: SELF_PATH, answer: SelfAnswer } as const
      const trust = await askAsCell({ ...identity, credential }, asker, question)
      await believe(identity, trust, logger)
    },
  }
}
