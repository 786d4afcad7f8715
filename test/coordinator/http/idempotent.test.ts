import t from 'tap'
import { onceWithKey, type Repeatable } from '../../../coordinator/http/idempotent.ts'
import type { Idempotency } from '../../../coordinator/idempotency/idempotency.ts'
import { testSkills } from '../../support/a2a-skills.ts'
import { keyOfTier } from '../../support/app.ts'

/* What makes two calls with one key of their own the same. */

const operation = testSkills().skills.find(
  ({ id }) => id === 'test-slow',
) as Repeatable['operation']

const fingerprints = async (...more: Partial<Repeatable>[]): Promise<string[]> => {
  const seen: string[] = []
  const idempotency: Idempotency = {
    once: async ({ fingerprint }, run) => {
      seen.push(fingerprint)
      return { answer: await run(), replayed: false }
    },
  }
  const request = { key: keyOfTier('free'), tenantId: 'one' }
  const asked = { operation, input: {}, cellId: undefined, idempotency, callKey: 'k', param: 'p' }
  for (const each of more) await onceWithKey(request, { ...asked, ...each }, async () => ({}))
  return seen
}

t.test('the same call for another cell is another call', async t => {
  const [one, again, other, none] = await fingerprints(
    { cellId: 'c1' },
    { cellId: 'c1' },
    { cellId: 'c2' },
    {},
  )
  t.equal(one, again)
  t.equal(new Set([one, other, none]).size, 3)
})

t.test('half of a character in the input is the caller’s fault', t =>
  t.rejects(fingerprints({ input: { stone: '\ud800' } }), { code: 'invalid_request' }),
)
