import * as z from 'zod'
import { ShoalError } from '../../../../../shared/errors.ts'
import { HOUR_MS, iso, startOfHour } from '../../../../../shared/time.ts'
import type { Context } from '../../../../kernel/declaration/context.ts'
import { DataState, dataState } from '../../../../kernel/declaration/data-state.ts'
import { pageLimit } from '../../../../kernel/declaration/fields.ts'
import { defineOperation } from '../../../../kernel/declaration/operation.ts'
import { monthAt } from '../../month.ts'
import type { QuotaViews } from '../../open.ts'
import { GROUP_NAMES, REQUEST_SUMS, type UsageLine } from '../../usage-query.ts'
import { USAGE_SCOPES, usageScope } from '../../usage-scope.ts'
import { cursorOf, readCursor } from './usage-cursor.ts'

const Instant = z
  .string()
  .regex(/^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2}))?$/, {
    error: 'must be a date or a time, such as 2026-11-20 or 2026-11-20T08:00:00Z',
  })

const UsageView = z.object({
  hour: z.iso.datetime().exactOptional(),
  day: z.iso.datetime().exactOptional(),
  key_id: z.string().exactOptional(),
  tenant_id: z.string().exactOptional(),
  model: z.string().exactOptional(),
  requests: z.int(),
  requests_ok: z.int(),
  requests_cancelled: z.int(),
  requests_failed: z.int(),
  prompt_tokens: z.int(),
  cached_tokens: z.int().describe("Prompt tokens that were still in an engine's cache."),
  completion_tokens: z.int(),
  total_tokens: z.int(),
  duration_ms: z.int().describe('Total duration of all these requests.'),
})

export default defineOperation({
  id: 'usage-list',
  description: 'Show usage up to now, by hour, day, key, tenant or model.',
  method: 'GET',
  path: '/v1/usage',
  access: 'key',
  effect: 'read',
  input: z.strictObject({
    from: Instant.exactOptional().describe(
      'Start of the period (`2026-11-20`), rounded down to its full hour (UTC); the beginning of the month by default.',
    ),
    to: Instant.exactOptional().describe(
      'End of the period (`2026-11-21`): the first hour that is not included; now by default.',
    ),
    scope: z
      .enum(USAGE_SCOPES)
      .exactOptional()
      .describe(
        'Scope of the report: own key, own tenant (operators), or all (operator_admin, finance).',
      ),
    key_id: z.string().min(1).max(128).exactOptional().describe('Only usage of this key.'),
    tenant_id: z.string().min(1).max(128).exactOptional().describe('Only usage of this tenant.'),
    model: z.string().min(1).max(128).exactOptional().describe('Only usage of this model.'),
    group_by: z
      .array(z.enum(GROUP_NAMES), { error: `must be any of ${GROUP_NAMES.join(', ')}` })
      .max(GROUP_NAMES.length)
      .default(['day'])
      .describe('Fields to group by; rows are sorted in this order.'),
    after: z.string().max(2000).exactOptional().describe("Cursor from the previous page's `next`."),
    limit: pageLimit(1000, 200),
  }),
  output: z.object({
    data_state: DataState,
    from: z.iso.datetime(),
    to: z.iso.datetime(),
    usage: z.array(UsageView),
    next: z.string().nullable(),
  }),
  run: async (input, { key, tenantId, usage, now }: Context & QuotaViews) => {
    if (key === undefined) throw new ShoalError('auth_required', 'this call needs a key')
    const { model, group_by, after, limit } = input
    const groupBy = [...new Set(group_by)]
    const { from, to } = rangeOf(input, now())
    const wish = { ...input, keyId: input.key_id, tenantId: input.tenant_id }
    const found = await usage.read({
      ...usageScope(key, tenantId ?? key.tenantId, wish),
      from,
      to,
      ...(model !== undefined && { model }),
      groupBy,
      sums: REQUEST_SUMS,
      ...(after !== undefined && { after: readCursor(after, groupBy) }),
      limit,
    })
    const last = groupBy.length > 0 && found.length === limit ? found.at(-1) : undefined
    return {
      data_state: dataState(found.length),
      from: iso(from),
      to: iso(to),
      usage: found.map(viewOf),
      next: last === undefined ? null : cursorOf(last, groupBy),
    }
  },
})

const rangeOf = ({ from, to }: { from?: string; to?: string }, now: number) => {
  const start = from === undefined ? startOfMonth(now) : instant(from, 'from')
  const end = to === undefined ? now : instant(to, 'to')
  if (end <= start)
    throw new ShoalError('invalid_request', 'to must be after from', { param: 'to' })
  return { from: startOfHour(start), to: Math.ceil(end / HOUR_MS) * HOUR_MS }
}

const startOfMonth = (now: number): number => Date.parse(`${monthAt(now).name}-01`)

const instant = (text: string, param: string): number => {
  const at = Date.parse(text)
  if (Number.isNaN(at)) throw new ShoalError('invalid_request', `${text} is not a time`, { param })
  return at
}

const viewOf = (line: UsageLine): z.input<typeof UsageView> => {
  const { hour, day, key, tenant, model, ok, cancelled, failed } = line
  const { prompt_tokens, cached_tokens, completion_tokens, duration_ms } = line
  return {
    ...(hour !== undefined && { hour: iso(Number(hour)) }),
    ...(day !== undefined && { day: iso(Number(day)) }),
    ...(key !== undefined && { key_id: String(key) }),
    ...(tenant !== undefined && { tenant_id: String(tenant) }),
    ...(model !== undefined && { model: String(model) }),
    requests: ok + cancelled + failed,
    requests_ok: ok,
    requests_cancelled: cancelled,
    requests_failed: failed,
    prompt_tokens,
    cached_tokens,
    completion_tokens,
    total_tokens: prompt_tokens + completion_tokens,
    duration_ms,
  }
}
