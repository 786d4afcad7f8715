import type { AddressInfo } from 'node:net'
import type { FastifyPluginAsync } from 'fastify'
import { VERSION } from '../../../shared/version.ts'
import { modelsOfTier } from '../../access/quota/tier-models.ts'
import { createHealthReader, type HealthParts } from './health.ts'
import { homePage } from './home-page.ts'
import type { SurfaceSettings } from './public-config.ts'
import { publicUrls } from './public-urls.ts'
import { accepts, PAGE_POLICY } from './published.ts'
import type { RouteDocs } from './route-docs.ts'

interface HomeParts extends Omit<HealthParts, 'findReadinessFault'> {
  config: SurfaceSettings
}

const HOME: RouteDocs = {
  id: 'home',
  tag: 'documents',
  summary:
    'A page with status, addresses and a first request for browsers; one line of text for programs.',
  answer: 'page',
}

/** Line for programs that test whether an address answers, as clients of Ollama do. */
const RUNNING = 'shoal is running; the API is under /v1, and /docs describes it\n'

/** `GET /`: a page for a reader that accepts HTML; programs only learn that shoal runs. */
export const homeRoute: FastifyPluginAsync<HomeParts> = async (app, { config, ...parts }) => {
  const readHealth = createHealthReader(parts)
  app.get('/', { config: { access: 'none', docs: HOME } }, async (request, reply) => {
    reply.headers({ 'cache-control': 'no-cache', vary: 'Accept' })
    if (!accepts(request.headers.accept, 'text/html'))
      return reply.type('text/plain; charset=utf-8').send(RUNNING)
    const port = (app.server.address() as AddressInfo | null)?.port ?? config.http.port
    return reply
      .header('content-security-policy', PAGE_POLICY)
      .type('text/html; charset=utf-8')
      .send(
        homePage({
          name: config.name,
          version: VERSION,
          health: readHealth(),
          urls: publicUrls(config, port),
          model: modelsOfTier(parts.catalogue, 'free').find(({ kind }) => kind === 'chat')?.id,
        }),
      )
  })
}
