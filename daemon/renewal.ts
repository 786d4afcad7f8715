import { ShoalError } from '../shared/errors.ts'
import type { OwnIdentity } from './own-identity.ts'
import { isPoorAnswer } from './refusal.ts'

/** The two questions of a renewal, asked with the credential that is named. */
export interface RenewalQuestions {
  /** A new credential beside the one that asks. */
  renew(credential: string): Promise<string>
  /** Uses a credential, which makes it the only one. `auth_required` when it is not good. */
  confirm(credential: string): Promise<void>
}

/**
 * Replaces the credential. After every step, on either side, a crash leaves a credential that both
 * know: the coordinator keeps the old one until the new one was used, the cell until that was
 * answered.
 */
export const renewCredential = async (
  identity: OwnIdentity,
  questions: RenewalQuestions,
  now: () => number = Date.now,
): Promise<void> => {
  const next = await questions.renew(identity.credential)
  await identity.update({ next_credential: next })
  await finishRenewal(identity, questions, now)
}

/** Ends a renewal that was begun, also one from before a crash. */
export const finishRenewal = async (
  identity: OwnIdentity,
  questions: Pick<RenewalQuestions, 'confirm'>,
  now: () => number = Date.now,
): Promise<void> => {
  const next = identity.next_credential
  if (next === undefined) return
  const good = await questions.confirm(next).then(
    () => true,
    error => {
      // the coordinator has let it in, and so has ended the one before
      if (isPoorAnswer(error)) return true
      if (error instanceof ShoalError && error.code === 'auth_required') return false
      throw error
    },
  )
  if (good)
    await identity.update({ credential: next, credential_at: now(), next_credential: undefined })
  else await discardNext(identity, questions)
}

/**
 * Discards the next credential once the current one is confirmed. One of the two must be valid, so
 * the rejection of both is not trusted.
 */
const discardNext = async (
  identity: OwnIdentity,
  { confirm }: Pick<RenewalQuestions, 'confirm'>,
): Promise<void> => {
  await confirm(identity.credential).catch(error => {
    if (!isPoorAnswer(error)) throw error
  })
  await identity.update({ next_credential: undefined })
}
