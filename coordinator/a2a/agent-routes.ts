import type { AddressInfo } from 'node:net'
import type { FastifyPluginAsync } from 'fastify'
import * as z from 'zod'
import { VERSION } from '../../shared/version.ts'
import type { CoordinatorConfig } from '../config.ts'
import { publicUrls } from '../http/public-urls.ts'
import { publishedRoute } from '../http/published.ts'
import type { Vitals } from '../vitals.ts'
import { agentCard } from './agent-card.ts'
import type { Registered } from './card-features.ts'

export interface AgentParts {
  config: CoordinatorConfig
  registered: Registered
  vitals: Pick<Vitals, 'uptimeSeconds' | 'brokerConnected' | 'storeProblem'>
}

const Part = z.enum(['ok', 'unavailable'])

/** Body of the agent host's `GET /health`. */
export const AgentHealth = z.object({
  status: z.enum(['ok', 'degraded']),
  version: z.string(),
  uptime_s: z.int(),
  broker: Part,
  store: Part,
  skills: z.int().describe('Skills on the agent card.'),
})
export type AgentHealth = z.infer<typeof AgentHealth>

/** The agent card and the health of the agent host. Neither needs a key. */
export const agentRoutes: FastifyPluginAsync<AgentParts> = async (
  app,
  { config, registered, vitals },
) => {
  const card = (): string => {
    const port = (app.server.address() as AddressInfo | null)?.port ?? config.http.port
    const addresses = publicUrls(config, port)
    const { name: organization, url = addresses.portal ?? addresses.base } = config.provider
    return JSON.stringify(agentCard({ ...registered, addresses, provider: { organization, url } }))
  }
  publishedRoute(
    app,
    '/.well-known/agent.json',
    {
      id: 'agent-card',
      tag: 'agent',
      summary: 'The agent card: who this agent is and what it can do.',
      answer: z.looseObject({ name: z.string(), url: z.string(), version: z.string() }),
    },
    card,
  )
  const docs = {
    id: 'agent-health',
    tag: 'agent',
    summary: 'Is the agent host well.',
    answer: AgentHealth,
  }
  app.get('/health', { config: { access: 'none', docs } }, async (): Promise<AgentHealth> => {
    const broker = vitals.brokerConnected() ? 'ok' : 'unavailable'
    const store = vitals.storeProblem() === undefined ? 'ok' : 'unavailable'
    return {
      status: broker === 'ok' && store === 'ok' ? 'ok' : 'degraded',
      version: VERSION,
      uptime_s: vitals.uptimeSeconds(),
      broker,
      store,
      skills: registered.skills.length,
    }
  })
}
