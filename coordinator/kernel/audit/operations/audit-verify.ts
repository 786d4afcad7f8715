import * as z from 'zod'
import { ShoalError } from '../../../../shared/errors.ts'
import { iso } from '../../../../shared/time.ts'
import { defineOperation } from '../../declaration/operation.ts'
import type { Head } from '../audit.ts'
import type { Checkpoint } from '../checkpoint.ts'
import type { AuditViews } from '../open.ts'

export default defineOperation({
  id: 'audit-verify',
  description: 'Verify every link of the audit chain, and that its end has not been truncated.',
  method: 'GET',
  path: '/v1/audit/verify',
  access: 'operator',
  effect: 'read',
  timeoutSeconds: 300,
  input: z.strictObject({
    seq: z
      .int()
      .positive()
      .exactOptional()
      .describe('Row number of a head that you saved earlier.'),
    hash: z
      .string()
      .regex(/^[0-9a-f]{64}$/)
      .exactOptional()
      .describe('Hash of that head.'),
  }),
  output: z.object({
    ok: z.boolean(),
    rows: z.int(),
    /** The newest row: keep it, and ask with it the next time. */
    head: z.object({ seq: z.int(), hash: z.string() }).nullable(),
    /** Rows 1 to `seq`, which the retention has ended; signed by the coordinator. */
    purged: z
      .object({
        seq: z.int(),
        hash: z.string(),
        rows: z.int(),
        first_at: z.iso.datetime(),
        last_at: z.iso.datetime(),
        retention_days: z.int(),
        made_at: z.iso.datetime(),
      })
      .nullable(),
    broken_at: z.int().nullable(),
    reason: z.string().nullable(),
  }),
  success: { field: 'ok', codes: { true: 0, false: 65 } },
  run: async ({ seq, hash }, { audit }: AuditViews) => {
    const verdict = await audit.verify(witnessOf(seq, hash))
    if (!verdict.ok)
      return {
        ok: false,
        rows: verdict.brokenAt - 1,
        head: null,
        purged: null,
        broken_at: verdict.brokenAt,
        reason: verdict.reason,
      }
    const { rows, head, purged } = verdict
    return { ok: true, rows, head, purged: toCheckpointView(purged), broken_at: null, reason: null }
  },
})

/** Half of a head would be compared with nothing. */
const witnessOf = (seq: number | undefined, hash: string | undefined): Head | undefined => {
  if (seq === undefined && hash === undefined) return undefined
  if (seq !== undefined && hash !== undefined) return { seq, hash }
  const param = seq === undefined ? 'seq' : 'hash'
  throw new ShoalError('invalid_request', `${param} is missing: a head has a number and a hash`, {
    param,
  })
}

const toCheckpointView = (purged: Checkpoint | undefined) => {
  if (purged === undefined) return null
  const { seq, hash, rows, first_at, last_at, retention_days, made_at } = purged
  const times = { first_at: iso(first_at), last_at: iso(last_at), made_at: iso(made_at) }
  return { seq, hash, rows, retention_days, ...times }
}
