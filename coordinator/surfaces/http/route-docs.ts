import type { FastifyInstance } from 'fastify'
import type * as z from 'zod'
import type { Operation } from '../../kernel/declaration/operation.ts'
import type { ErrorForm } from './error-forms.ts'

/** API documentation of a route that is not an operation. */
export interface RouteDocs {
  /** Unique over the document: `create-chat-completion`. */
  id: string
  /** Heading under which the document lists it. */
  tag: string
  summary: string
  /** The documented path, where the route's own spelling is not a template. */
  path?: string
  body?: z.ZodType
  query?: z.ZodObject
  /** A body that works. */
  example?: object
  /** `page` is HTML for browsers and text for programs. */
  answer: z.ZodType | 'html' | 'text' | 'page' | 'events'
  /** Media types of a JSON answer; `application/json` when absent. */
  types?: readonly string[]
  /** Form of its errors; by its path when absent. */
  errors?: ErrorForm
  /** Status of a success, or several; 200 when absent. */
  status?: number | readonly number[]
  /** The answer may also come as server-sent events with this data. */
  events?: z.ZodType
  /** The answer may also come as lines of JSON, each of this type. */
  lines?: z.ZodType
  /** Authentication scheme when it is not a key: that of a cell. */
  scheme?: 'cell'
}

declare module 'fastify' {
  interface FastifyContextConfig {
    docs?: RouteDocs
    operation?: Operation
  }
}

/** A registered route and its documentation. */
export interface DocumentedRoute {
  method: string
  /** Path template: `/v1/cells/{cell_id}`. */
  path: string
  access: 'none' | 'key'
  docs?: RouteDocs
  operation?: Operation
}

/** Every route that is registered from now on, in that order. HEAD follows from GET. */
export const collectRoutes = (app: FastifyInstance): readonly DocumentedRoute[] => {
  const routes: DocumentedRoute[] = []
  app.addHook('onRoute', ({ method, url, config = {} }) => {
    const { docs, operation, access = 'key' } = config
    const path = docs?.path ?? url.replaceAll(/:(\w+)/g, '{$1}')
    for (const name of [method].flat())
      if (name !== 'HEAD')
        routes.push({
          method: name,
          path,
          access,
          ...(docs === undefined ? {} : { docs }),
          ...(operation === undefined ? {} : { operation }),
        })
  })
  return routes
}
