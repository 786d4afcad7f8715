import type { AgentSession, AgentType, Variant } from './session.ts'

/** Recommended variant for an agent of this kind; `live` are all live sessions of the tenant. */
export const recommendVariant = (
  agentType: AgentType,
  agentId: string,
  personId: string,
  live: readonly Pick<AgentSession, 'agentId' | 'personId' | 'kind' | 'variant'>[],
): { variant: Variant; reason: string } => {
  const own = live.filter(session => session.agentId === agentId)
  if (own.some(({ variant }) => variant === 'v2_parallel'))
    return {
      variant: 'v2_parallel',
      reason: `${agentId} has ${own.length} live sessions side by side already`,
    }
  if (agentType === 'ci_pipeline')
    return { variant: 'v2_parallel', reason: 'jobs of a pipeline run side by side' }
  if (agentType !== 'autonomous')
    return { variant: 'solo', reason: `one session is enough for an agent of type ${agentType}` }
  const supervisor = live.some(each => each.kind === 'person' && each.personId !== personId)
  return supervisor
    ? {
        variant: 'v3_supervised',
        reason:
          'an autonomous agent has no other supervisor, and a session that can supervise it is live',
      }
    : {
        variant: 'solo',
        reason:
          'an autonomous agent should be v3_supervised, but no session of another person is live',
      }
}
