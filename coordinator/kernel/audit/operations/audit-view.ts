import * as z from 'zod'
import { ShoalError } from '../../../../shared/errors.ts'
import { type AuditRow, auditTable } from '../audit.table.ts'
import type { AuditFilter } from '../query.ts'

export const AuditView = z.object({
  seq: z.int(),
  at: z.iso.datetime(),
  actor: z.string(),
  tenant: z.string().nullable(),
  action: z.string(),
  subject: z.string(),
  outcome: z.enum(['done', 'refused']),
  details: z.record(z.string(), z.json()),
  request_id: z.string().nullable(),
  prev: z.string(),
  hash: z.string(),
})

export const auditViewOf = ({ details_json, at, ...row }: AuditRow): z.input<typeof AuditView> => ({
  ...row,
  ...auditTable.readSome({ outcome: row.outcome, details_json }),
  at: new Date(at).toISOString(),
})

const When = z
  .string()
  .max(40)
  .describe('Start of the period: a time (`2026-11-20T08:00:00Z`) or an age (`30m`, `24h`, `7d`).')

/** Filters of audit-query and audit-export. */
export const AUDIT_FILTER = {
  since: When.exactOptional(),
  last: When.exactOptional().describe('Alias of since: `--last 24h`.'),
  until: When.exactOptional(),
  action: z
    .string()
    .max(100)
    .exactOptional()
    .describe('Exact action (`key.create`), or a prefix with a star (`gate.*`).'),
  actor: z.string().max(200).exactOptional(),
  subject: z.string().max(200).exactOptional(),
  outcome: z.enum(['done', 'refused']).exactOptional(),
}

const Filter = z.object(AUDIT_FILTER)

/** Throws `invalid_request` for an invalid time, and for two start positions. */
export const filterOf = (
  { since, last, until, ...rest }: z.output<typeof Filter>,
  now: number,
): Omit<AuditFilter, 'order' | 'limit'> => {
  if (last !== undefined && since !== undefined)
    throw new ShoalError('invalid_request', 'since and last are aliases: give only one', {
      param: 'last',
    })
  return {
    ...(last === undefined ? {} : { from: timeOf(last, 'last', now) }),
    ...(since === undefined ? {} : { from: timeOf(since, 'since', now) }),
    ...(until === undefined ? {} : { to: timeOf(until, 'until', now) }),
    ...(rest.action === undefined ? {} : { action: rest.action }),
    ...(rest.actor === undefined ? {} : { actor: rest.actor }),
    ...(rest.subject === undefined ? {} : { subject: rest.subject }),
    ...(rest.outcome === undefined ? {} : { outcome: rest.outcome }),
  }
}

const UNIT_MS: Record<string, number> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

const timeOf = (text: string, param: string, now: number): number => {
  const [, count, unit = ''] = /^(\d{1,6})([smhd])$/.exec(text) ?? []
  if (count !== undefined) return now - Number(count) * (UNIT_MS[unit] ?? 0)
  const at = /^\d{4}-\d{2}-\d{2}/.test(text) ? Date.parse(text) : Number.NaN
  if (Number.isNaN(at))
    throw new ShoalError('invalid_request', `${param} must be a time or an age: 30m, 24h, 7d`, {
      param,
    })
  return at
}
