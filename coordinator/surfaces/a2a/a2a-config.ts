import * as z from 'zod'

/** Settings of the agent host. */
export const A2aConfig = z.strictObject({
  card_default: z
    .enum(['hybrid', 'v1'])
    .default('hybrid')
    .describe('Format of /.well-known/agent-card.json for clients that send no A2A-Version.'),
  task_days: z.number().min(1).max(3660).default(30).describe('Retention of finished tasks.'),
})
export type A2aConfig = z.output<typeof A2aConfig>
