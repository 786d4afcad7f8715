import * as z from 'zod'
import { callerOf } from '../../../access/gates/operations/gate-view.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import { defineOperation } from '../../../kernel/declaration/operation.ts'
import type { AgentViews } from '../open.ts'
import { EvidenceItemInput } from './evidence-item.ts'
import { SESSION_ID, SessionView, sessionViewOf } from './session-view.ts'

const Item = EvidenceItemInput.refine(
  ({ text, uri }) => text !== undefined || uri !== undefined,
  'needs a text or a uri',
)

export default defineOperation({
  id: 'sessions-evidence',
  description: 'Step 6 of 7: submit evidence of the work and release the scopes of the session.',
  method: 'POST',
  path: '/v1/sessions/{session_id}/evidence',
  access: 'key',
  effect: 'write',
  input: z.strictObject({
    ...SESSION_ID,
    summary: z.string().min(1).max(4000).describe('Summary of the completed work.'),
    items: z
      .array(Item)
      .max(20)
      .default([])
      .describe('Evidence of the work, such as commits or test reports.'),
  }),
  output: SessionView,
  examples: [{ summary: 'all tests pass', items: [{ kind: 'commit', text: '4f2a9c1' }] }],
  run: async ({ session_id, summary, items }, context: Context & AgentViews) => {
    const shown = { summary, items }
    const after = await context.agents.sessions.evidence(session_id, callerOf(context), shown)
    return sessionViewOf(after, context.now())
  },
})
