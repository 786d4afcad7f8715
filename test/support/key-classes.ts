import type { Test } from 'tap'
import { Keys } from '../../coordinator/access/keys/keys.ts'
import { KEY_PREFIX, newSecret, withChecksum } from '../../coordinator/access/keys/secret.ts'
import { logger, populate, SPEC } from '../coordinator/access/keys/fixtures.ts'
import { BY, temporaryStore } from '../coordinator/kernel/store/temporary.ts'

type KeysOptions = ConstructorParameters<typeof Keys>[0]

/** What somebody may present who tries to learn something of a key from how long it takes. */
export const KEY_CLASSES = [
  'right',
  'wrong first byte',
  'wrong last byte',
  'wrong in many bytes',
  'unknown id',
  'revoked, right',
  'revoked, wrong',
  'expired, right',
  'expired, wrong',
  'malformed',
] as const
export type KeyClass = (typeof KEY_CLASSES)[number]

const ID_END = KEY_PREFIX.length + 8 + 1
export const SECRET_END = ID_END + 43

/** The same secret with other characters at these places, and a checksum that fits. */
export const alterSecret = (secret: string, places: readonly number[]): string => {
  const body = [...secret.slice(0, SECRET_END)]
  for (const at of places) body[at] = body[at] === 'x' ? 'y' : 'x'
  return withChecksum(body.join(''))
}

/** Keys in a real store, with so many secrets of each class, all of which are in memory. */
export const keyClasses = async (
  t: Pick<Test, 'teardown'>,
  { each = 32, ...options }: { each?: number } & Partial<KeysOptions> = {},
): Promise<{ keys: Keys; presented: Record<KeyClass, string[]> }> => {
  const store = await temporaryStore(t)
  await populate(store)
  const clock = { now: 1_800_000_000_000 }
  const keys = new Keys({ store, logger, now: () => clock.now, ...options })
  const createKey = async (more: object = {}) => keys.create({ ...SPEC, ...more }, BY)
  const presented = Object.fromEntries(KEY_CLASSES.map(name => [name, [] as string[]])) as Record<
    KeyClass,
    string[]
  >
  for (let n = 0; n < each; n++) {
    const { secret } = await createKey()
    const last = SECRET_END - 1
    presented.right.push(secret)
    presented['wrong first byte'].push(alterSecret(secret, [ID_END]))
    presented['wrong last byte'].push(alterSecret(secret, [last]))
    presented['wrong in many bytes'].push(
      alterSecret(secret, [ID_END, ID_END + 7, ID_END + 20, last]),
    )
    presented['unknown id'].push(newSecret(KEY_PREFIX).text)
    presented.malformed.push(`${secret.slice(0, -1)}-`)
    const revoked = await createKey()
    await keys.revoke(revoked.key.id, 'all', BY)
    presented['revoked, right'].push(revoked.secret)
    presented['revoked, wrong'].push(alterSecret(revoked.secret, [last]))
    const expired = await createKey({ expiresAt: clock.now + 1 })
    presented['expired, right'].push(expired.secret)
    presented['expired, wrong'].push(alterSecret(expired.secret, [last]))
  }
  clock.now += 1
  for (const secret of Object.values(presented).flat()) await keys.authenticate(secret)
  return { keys, presented }
}
