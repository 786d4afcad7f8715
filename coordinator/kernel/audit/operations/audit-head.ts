import * as z from 'zod'
import { iso } from '../../../../shared/time.ts'
import { defineOperation } from '../../declaration/operation.ts'
import type { AuditViews } from '../open.ts'

export default defineOperation({
  id: 'audit-head',
  description: 'Show the newest signed row of the audit chain. Keep it to verify the chain later.',
  method: 'GET',
  path: '/v1/audit/head',
  access: 'operator',
  effect: 'read',
  input: z.strictObject({}),
  output: z.object({
    /** Null as long as nothing was written, or the chain is in doubt. */
    head: z
      .object({
        seq: z.int(),
        hash: z.string(),
        signed_at: z.iso.datetime(),
        /** Id of the public key that verifies the signature. */
        key_id: z.string(),
        signature: z.string(),
      })
      .nullable(),
    /** Retention of audit rows, in days. */
    retention_days: z.int(),
  }),
  run: (_input, { audit }: AuditViews) => {
    const head = audit.head()
    return {
      head: head === undefined ? null : { ...withoutTime(head), signed_at: iso(head.at) },
      retention_days: audit.retentionDays,
    }
  },
})

const withoutTime = <T extends { at: number }>({ at: _, ...rest }: T): Omit<T, 'at'> => rest
