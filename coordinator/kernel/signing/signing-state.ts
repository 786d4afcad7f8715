import * as z from 'zod'
import { ShoalError } from '../../../shared/errors.ts'
import {
  createSigner,
  generatePrivateKey,
  PublicKey,
  type Signer,
} from '../../../shared/signing.ts'
import { DAY_MS } from '../../../shared/time.ts'
import {
  ENDORSE_PURPOSE,
  Endorsement,
  followEndorsements,
  MAX_ENDORSEMENTS,
  type TrustBody,
} from '../../../shared/wire/trust.ts'

/** The signing key with its history, as the shared secret `signing`. */
const Stored = z.object({
  private_key: z.string(),
  endorsements: z.array(Endorsement),
  /** The oldest key whose heads of the audit count; the current one by default. */
  heads_since: PublicKey.exactOptional(),
  /** Time at which earlier heads became void, unix milliseconds. */
  heads_void_at: z.int().exactOptional(),
  /** Keys that were lost: nothing leads from them to the current one. */
  adopted: z.array(PublicKey).exactOptional(),
  /** Times of the counted rotations of the last day: unix milliseconds, oldest first. */
  rotated_at: z.array(z.int()).exactOptional(),
})
type Stored = z.infer<typeof Stored>

interface SigningState {
  stored: Stored
  signer: Signer
}

export interface NextKeyOptions {
  /** Heads of the audit that were signed with earlier keys count for nothing from now on. */
  voidsHeads?: boolean
  /** A key that is lost, and whose signatures under purges count from now on. */
  adopts?: string
  /** Most counted rotations of a day. Throws `rate_limited` beyond; without it none is counted. */
  mostPerDay?: number
}

/** Steps sent when the pinned key is unknown: the response stays far below 16 KiB. */
const NEWEST_STEPS = 32

export const createSigningText = (): string =>
  textOf({ private_key: generatePrivateKey(), endorsements: [] })

const textOf = (stored: Stored): string => `${JSON.stringify(stored, null, 2)}\n`

/** Throws `store_unavailable` for a damaged text. */
export const parseSigning = (text: string): SigningState => {
  try {
    const stored = Stored.parse(JSON.parse(text))
    return { stored, signer: createSigner(stored.private_key) }
  } catch (cause) {
    throw new ShoalError('store_unavailable', 'the signing key in the store is damaged', { cause })
  }
}

/** Every endorsement since the pinned key, or the newest ones when that key is unknown. */
export const trustOf = ({ stored, signer }: SigningState, pinned?: string): TrustBody => {
  const steps = stored.endorsements
  const first = steps.findIndex(({ previous }) => previous === pinned)
  return {
    signing_key: signer.publicKey,
    endorsements: first < 0 ? steps.slice(-NEWEST_STEPS) : steps.slice(first),
  }
}

/** True for the current key, and for a key from which signed steps lead to it. */
const leadsHere = (state: SigningState, key: string): boolean =>
  followEndorsements(key, trustOf(state, key)) === state.signer.publicKey

/** True also for a key that is lost and was adopted. */
export const isEndorsed = (state: SigningState, key: string): boolean =>
  leadsHere(state, key) || state.stored.adopted?.includes(key) === true

/** True for a key whose heads of the audit count. */
export const isWitness = (state: SigningState, key: string): boolean => {
  const { stored, signer } = state
  if (key === signer.publicKey) return true
  const since = stored.heads_since ?? signer.publicKey
  const stepFrom = (from: string) =>
    stored.endorsements.findIndex(({ previous }) => previous === from)
  const isVoid = since === signer.publicKey || stepFrom(key) < stepFrom(since)
  return !isVoid && leadsHere(state, key)
}

/** Returns the text with a new key, and the step in which the present key endorses it. */
export const nextKey = (
  { stored, signer }: SigningState,
  options: NextKeyOptions,
  now: number,
): { step: Endorsement; text: string } => {
  const rotated_at = countRotation(stored.rotated_at ?? [], now, options.mostPerDay)
  const private_key = generatePrivateKey()
  const { publicKey: key } = createSigner(private_key)
  const unsigned = { key, previous: signer.publicKey }
  const step = { ...unsigned, signature: signer.sign(ENDORSE_PURPOSE, unsigned) }
  const { adopts, voidsHeads = false } = options
  const heads_void_at = voidsHeads ? now : (stored.heads_void_at ?? 0)
  const text = textOf({
    private_key,
    endorsements: [...stored.endorsements, step].slice(-MAX_ENDORSEMENTS),
    heads_since: voidsHeads ? key : (stored.heads_since ?? signer.publicKey),
    heads_void_at,
    adopted: [...(stored.adopted ?? []), ...(adopts === undefined ? [] : [adopts])],
    rotated_at,
  })
  return { step, text }
}

const countRotation = (
  before: readonly number[],
  now: number,
  mostPerDay: number | undefined,
): number[] => {
  const lastDay = before.filter(at => at > now - DAY_MS)
  if (mostPerDay === undefined) return lastDay
  const [first = now] = lastDay
  if (lastDay.length >= mostPerDay)
    throw new ShoalError('rate_limited', `${mostPerDay} new signing keys a day are enough`, {
      retryAfterSeconds: Math.ceil((first + DAY_MS - now) / 1000),
    })
  return [...lastDay, now]
}
