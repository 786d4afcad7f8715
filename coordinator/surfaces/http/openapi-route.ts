import type { AddressInfo } from 'node:net'
import type { FastifyPluginAsync } from 'fastify'
import * as z from 'zod'
import { docsPage } from './docs-page.ts'
import { type OpenApiDocument, openApi } from './openapi.ts'
import type { ListenerSettings } from './public-config.ts'
import { publicUrls } from './public-urls.ts'
import { createPublishedRoute } from './published.ts'
import type { DocumentedRoute, RouteDocs } from './route-docs.ts'

interface OpenApiParts {
  config: ListenerSettings
  routes: readonly DocumentedRoute[]
}

const DOCUMENT: RouteDocs = {
  id: 'openapi',
  tag: 'documents',
  summary: 'This document.',
  answer: z.looseObject({ openapi: z.literal('3.1.0') }),
}
const PAGE: RouteDocs = {
  id: 'docs',
  tag: 'documents',
  summary: 'This document as an HTML page.',
  answer: 'html',
}

const SLASH: RouteDocs = {
  id: 'docs-slash',
  tag: 'documents',
  summary: 'Redirect to the HTML page.',
  answer: 'html',
  status: 308,
}

/** `GET /v1/openapi.json` and `/docs`: every route of this server. No key is needed. */
export const openApiRoute: FastifyPluginAsync<OpenApiParts> = async (app, { config, routes }) => {
  let made: Promise<OpenApiDocument> | undefined
  const document = (): Promise<OpenApiDocument> => {
    const port = (app.server.address() as AddressInfo | null)?.port ?? config.http.port
    made ??= openApi(routes, publicUrls(config, port).base)
    return made
  }
  createPublishedRoute(app, '/v1/openapi.json', DOCUMENT, async () =>
    JSON.stringify(await document()),
  )
  createPublishedRoute(app, '/docs', PAGE, async () => docsPage(await document()))
  app.get('/docs/', { config: { access: 'none', docs: SLASH } }, (_request, reply) =>
    reply.redirect('../docs', 308),
  )
}
