import { Keys } from '../../../coordinator/access/keys/keys.ts'
import { KEY_PREFIX, newSecret } from '../../../coordinator/access/keys/secret.ts'
import { logger, populate, SPEC } from '../../coordinator/access/keys/fixtures.ts'
import { BY, temporaryStore } from '../../coordinator/kernel/store/temporary.ts'
import { alterSecret, SECRET_END } from '../../support/key-classes.ts'

export interface FirstRefusals {
  /** Nanoseconds of each check, until the refusal. */
  known: number[]
  unknown: number[]
}

/**
 * Times the first refusal of so many ids of each kind, one after the other in random order: of keys
 * that are in use, and of keys that do not exist.
 */
export const measureFirstRefusals = async (each: number): Promise<FirstRefusals> => {
  const ends: (() => unknown)[] = []
  const store = await temporaryStore({ teardown: run => void ends.push(run as never) })
  await populate(store)
  const keys = new Keys({ store, logger })
  const samples: FirstRefusals = { known: [], unknown: [] }
  const tries: { kind: keyof FirstRefusals; text: string }[] = []
  for (let n = 0; n < each; n++) {
    const { secret } = await keys.create(SPEC, BY)
    tries.push({ kind: 'known', text: secret })
    tries.push({ kind: 'unknown', text: newSecret(KEY_PREFIX).text })
  }
  for (const { kind, text } of tries) if (kind === 'known') await keys.authenticate(text)
  tries.sort(() => Math.random() - 0.5)
  for (const { kind, text } of tries) {
    const presented = kind === 'known' ? alterSecret(text, [SECRET_END - 1]) : text
    const before = process.hrtime.bigint()
    await keys.authenticate(presented)
    samples[kind].push(Number(process.hrtime.bigint() - before))
  }
  keys.close()
  for (const end of ends.toReversed()) await end()
  return samples
}
