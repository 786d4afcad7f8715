import type { AddressInfo } from 'node:net'
import type { FastifyInstance, FastifyPluginAsync } from 'fastify'
import * as z from 'zod'
import { VERSION } from '../../../shared/version.ts'
import type { Vitals } from '../../kernel/base/vitals.ts'
import type { HttpConfig } from '../http/http-config.ts'
import type { SurfaceSettings } from '../http/public-config.ts'
import { publicUrls } from '../http/public-urls.ts'
import type { A2aConfig } from './a2a-config.ts'
import { agentCard, type CardParts, pureCard } from './agent-card.ts'
import type { CardFacts } from './card-features.ts'
import { cardRoutes } from './card-routes.ts'

interface AgentRouteParts {
  config: SurfaceSettings & { a2a: A2aConfig }
  registered: CardFacts
  /** Unix time, milliseconds. */
  now: () => number
  vitals: Pick<
    Vitals,
    'uptimeSeconds' | 'brokerConnected' | 'storeProblem' | 'usageProblem' | 'damagedRows'
  >
}

const Part = z.enum(['ok', 'unavailable'])

/** Body of the agent host's `GET /health`. */
const AgentHealth = z.object({
  status: z.enum(['ok', 'degraded']),
  version: z.string(),
  uptime_s: z.int(),
  broker: Part,
  store: Part,
  usage: z.enum(['ok', 'incomplete']).describe('Whether recorded usage is missing.'),
  damaged_rows: z
    .int()
    .describe(
      'Number of stored rows that this coordinator could not read when it last tried: damaged, or of a newer version. The others are served, so `status` does not depend on it.',
    ),
  skills: z.int().describe('Skills on the agent card.'),
})
type AgentHealth = z.infer<typeof AgentHealth>

/** The agent card and the health of the agent host. Neither needs a key. */
export const agentRoutes: FastifyPluginAsync<AgentRouteParts> = async (
  app,
  { config, registered, vitals, now },
) => {
  cardRoutes(app, {
    cards: () => {
      const parts = cardParts(config, registered, portOf(app, config))
      return { hybrid: agentCard(parts), pure: pureCard(parts) }
    },
    standard: registered.built.has('a2a-bindings') ? config.a2a.card_default : undefined,
    now,
  })
  const docs = {
    id: 'agent-health',
    tag: 'agent',
    summary: 'Health of the agent host.',
    answer: AgentHealth,
  }
  app.get('/health', { config: { access: 'none', docs } }, async (): Promise<AgentHealth> => {
    const broker = vitals.brokerConnected() ? 'ok' : 'unavailable'
    const store = vitals.storeProblem() === undefined ? 'ok' : 'unavailable'
    const usage = vitals.usageProblem() === undefined ? 'ok' : 'incomplete'
    return {
      status: broker === 'ok' && store === 'ok' && usage === 'ok' ? 'ok' : 'degraded',
      version: VERSION,
      uptime_s: vitals.uptimeSeconds(),
      broker,
      store,
      usage,
      damaged_rows: vitals.damagedRows(),
      skills: registered.skills.length,
    }
  })
}

/** The port that was taken; known when the server listens. */
export const portOf = (app: FastifyInstance, { http }: { http: HttpConfig }): number =>
  (app.server.address() as AddressInfo | null)?.port ?? http.port

/** Parts of the card, with all skills or with those of one caller. */
export const cardParts = (
  config: SurfaceSettings,
  registered: CardFacts,
  port: number,
): CardParts => {
  const addresses = publicUrls(config, port)
  const { name: organization, url = addresses.portal ?? addresses.base } = config.provider
  return { ...registered, addresses, provider: { organization, url } }
}
