import * as z from 'zod'
import type { UpstreamRequest } from '../../../../discovery/upstreams/client.ts'
import type { Source } from '../../../../discovery/upstreams/source.ts'
import { SOURCES } from '../../../../discovery/upstreams/sources.ts'
import { verifySource } from '../../../../discovery/upstreams/verify-source.ts'
import { createUnknownError } from '../../../../shared/reference-errors.ts'
import type { Context } from '../../declaration/context.ts'
import { defineOperation } from '../../declaration/operation.ts'
import type { UpstreamViews } from '../open.ts'

const OUTCOMES = ['complete', 'incomplete', 'failed', 'skipped'] as const

type Outcome = (typeof OUTCOMES)[number]

const judgeAll = (outcomes: readonly Outcome[]): Outcome =>
  (['incomplete', 'failed', 'complete'] as const).find(each => outcomes.includes(each)) ?? 'skipped'

export default defineOperation({
  id: 'upstreams-verify',
  description: 'Ask each outside source once, and name the fields that its answer lacks.',
  method: 'POST',
  path: '/v1/upstreams/verify',
  access: 'operator',
  effect: 'read',
  tool: false,
  openWorld: true,
  timeoutSeconds: 300,
  input: z.strictObject({
    source: z
      .string()
      .regex(/^[a-z0-9-]{1,64}$/)
      .exactOptional()
      .describe('Id of one source; all by default.'),
  }),
  output: z.object({
    outcome: z
      .enum(OUTCOMES)
      .describe(
        '`incomplete` when a field is missing, else `failed` when a source does not answer; `skipped` when none was queried.',
      ),
    sources: z.array(
      z.object({
        source: z.string(),
        outcome: z.enum(OUTCOMES),
        missing: z.array(z.string()),
        message: z.string().nullable(),
      }),
    ),
  }),
  examples: [{ source: 'metno' }],
  success: { field: 'outcome', codes: { complete: 0, incomplete: 65, failed: 69, skipped: 69 } },
  run: async ({ source: wanted }, { upstreams, signal }: Context & UpstreamViews) => {
    const asked = SOURCES.filter(({ id }) => wanted === undefined || id === wanted)
    if (asked.length === 0)
      throw createUnknownError('source', `${wanted}`, {
        candidates: SOURCES.map(({ id }) => id).join(', '),
      })
    const { settings } = upstreams
    const ask = (request: UpstreamRequest) => upstreams.ask(request, signal)
    const verify = async (source: Source) => {
      const verdict = await verifySource(source, { ask, settings })
      return { source: source.id, ...verdict, missing: [...verdict.missing] }
    }
    // one after another, because several sources share a network that may be slow
    const sources = []
    for (const source of asked) sources.push(await verify(source))
    return { outcome: judgeAll(sources.map(({ outcome }) => outcome)), sources }
  },
})
