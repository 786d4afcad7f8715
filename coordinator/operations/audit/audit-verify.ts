import * as z from 'zod'
import { type Head, type Verdict, verifyOnce } from '../../audit/audit.ts'
import { witnessProblem } from '../../audit/witness.ts'
import type { Ledger } from '../../store/store.ts'
import { defineOperation } from '../operation.ts'

export default defineOperation({
  id: 'audit-verify',
  description: 'Check every link of the audit chain, and that its end was not cut off.',
  method: 'GET',
  path: '/v1/audit/verify',
  access: 'operator',
  effect: 'read',
  timeoutSeconds: 300,
  input: z.strictObject({
    seq: z.int().positive().exactOptional().describe('Number of a head that you have seen before.'),
    hash: z
      .string()
      .regex(/^[0-9a-f]{64}$/)
      .exactOptional()
      .describe('Its hash.'),
  }),
  output: z.object({
    ok: z.boolean(),
    rows: z.int(),
    /** The newest row: keep it, and ask with it the next time. */
    head: z.object({ seq: z.int(), hash: z.string() }).nullable(),
    broken_at: z.int().nullable(),
    reason: z.string().nullable(),
  }),
  exit: { field: 'ok', codes: { true: 0, false: 65 } },
  run: async ({ seq, hash }, { store }) => {
    const witness = seq === undefined || hash === undefined ? undefined : { seq, hash }
    const verdict = await verdictOn(store.ledger, witness)
    return verdict.ok
      ? { ok: true, rows: verdict.rows, head: verdict.head, broken_at: null, reason: null }
      : {
          ok: false,
          rows: verdict.brokenAt - 1,
          head: null,
          broken_at: verdict.brokenAt,
          reason: verdict.reason,
        }
  },
})

const verdictOn = async (ledger: Ledger, witness: Head | undefined): Promise<Verdict> => {
  const whole = await verifyOnce(ledger)
  const reason = whole.ok && witness ? await witnessProblem(ledger, witness) : undefined
  return reason === undefined || witness === undefined
    ? whole
    : { ok: false, brokenAt: witness.seq, reason }
}
