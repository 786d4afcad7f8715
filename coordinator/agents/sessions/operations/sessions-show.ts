import * as z from 'zod'
import { callerOf } from '../../../access/gates/operations/gate-view.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import { defineOperation } from '../../../kernel/declaration/operation.ts'
import type { AgentViews } from '../open.ts'
import { EvidenceItemInput } from './evidence-item.ts'
import { SESSION_ID, SessionView, sessionViewOf } from './session-view.ts'

export default defineOperation({
  id: 'sessions-show',
  description: 'Show one of your sessions, or one that you supervise, with its evidence.',
  method: 'GET',
  path: '/v1/sessions/{session_id}',
  access: 'key',
  effect: 'read',
  input: z.strictObject(SESSION_ID),
  output: SessionView.extend({
    evidence: z.array(
      z.object({
        evidence_id: z.string(),
        at: z.iso.datetime(),
        summary: z.string(),
        items: z.array(EvidenceItemInput),
        scopes: z.array(z.string()),
      }),
    ),
  }),
  run: async ({ session_id }, context: Context & AgentViews) => {
    const { sessions } = context.agents
    const session = await sessions.get(session_id, callerOf(context))
    const evidence = await sessions.evidenceOf(session_id)
    return {
      ...sessionViewOf(session, context.now()),
      evidence: evidence.map(({ id, at, summary, items, scopes }) => ({
        evidence_id: id,
        at: new Date(at).toISOString(),
        summary,
        items: [...items],
        scopes: [...scopes],
      })),
    }
  },
})
