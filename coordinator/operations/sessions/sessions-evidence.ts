import * as z from 'zod'
import { callerOf } from '../gates/gate-view.ts'
import { defineOperation } from '../operation.ts'
import { EvidenceItem } from './evidence-item.ts'
import { SESSION_ID, SessionView, sessionViewOf } from './session-view.ts'

const Item = EvidenceItem.refine(
  ({ text, uri }) => text !== undefined || uri !== undefined,
  'needs a text or a uri',
)

export default defineOperation({
  id: 'sessions-evidence',
  description: 'Show what was done: the sixth step, which frees the scopes of the session.',
  method: 'POST',
  path: '/v1/sessions/{session_id}/evidence',
  access: 'key',
  effect: 'write',
  input: z.strictObject({
    ...SESSION_ID,
    summary: z.string().min(1).max(4000).describe('What was done, in plain words.'),
    items: z.array(Item).max(20).default([]).describe('What speaks for it.'),
  }),
  output: SessionView,
  examples: [{ summary: 'all tests pass', items: [{ kind: 'commit', text: '4f2a9c1' }] }],
  run: async ({ session_id, summary, items }, context) => {
    const shown = { summary, items }
    const after = await context.agents.sessions.evidence(session_id, callerOf(context), shown)
    return sessionViewOf(after, context.now())
  },
})
