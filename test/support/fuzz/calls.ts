import fc from 'fast-check'
import type { OpenApiDocument } from '../../../coordinator/surfaces/http/openapi.ts'
import { arbitraryFor, type ValuePool } from './values.ts'

export interface FuzzCall {
  method: string
  /** Route as the document has it. */
  route: string
  url: string
  /** Index of the key; -1 is none. */
  key: number
  headers: Record<string, string>
  body: string | undefined
}

interface Described {
  parameters?: { name: string; in: string; required: boolean; schema: Record<string, unknown> }[]
  requestBody?: { content: Record<string, { schema: Record<string, unknown> }> }
}

/** Calls that end the run itself, or never end. */
const LEFT_OUT = /^(get \/v1\/cells\/\{cell_id\}\/(link|mqtt))$/

/** Requests to every route of the document in turn, mostly as it describes them. */
export const callsOf = (
  document: OpenApiDocument,
  { pool, keys, count, seed }: { pool: ValuePool; keys: number; count: number; seed: number },
): FuzzCall[] => {
  const routes = Object.entries(document.paths).flatMap(([route, methods]) =>
    Object.entries(methods).map(([method, described]) => ({
      route,
      method,
      described: described as Described,
    })),
  )
  const asked = routes.filter(({ route, method }) => !LEFT_OUT.test(`${method} ${route}`))
  const rounds = Math.ceil(count / asked.length)
  const drawn = asked.map(({ route, method, described }, index) =>
    fc.sample(callOf(route, method, described, pool, keys), {
      numRuns: rounds,
      seed: seed + index,
    }),
  )
  return Array.from({ length: rounds }, (_, round) => drawn.flatMap(calls => calls[round] ?? []))
    .flat()
    .slice(0, count)
}

const callOf = (
  route: string,
  method: string,
  { parameters = [], requestBody }: Described,
  pool: ValuePool,
  keys: number,
): fc.Arbitrary<FuzzCall> => {
  const parametersIn = (place: string) => parameters.filter(each => each.in === place)
  const path = fc.record(
    Object.fromEntries(
      parametersIn('path').map(({ name, schema }) => [name, arbitraryFor(schema, name, pool)]),
    ),
  )
  const query = fc.record(
    Object.fromEntries(
      parametersIn('query').map(({ name, schema }) => [name, arbitraryFor(schema, name, pool)]),
    ),
    {
      requiredKeys: parametersIn('query')
        .filter(each => each.required)
        .map(({ name }) => name),
    },
  )
  const schema = requestBody?.content['application/json']?.schema
  const body =
    schema === undefined
      ? fc.constant(undefined)
      : fc.oneof(
          {
            arbitrary: arbitraryFor(schema, '', pool).map(value => JSON.stringify(value)),
            weight: 12,
          },
          {
            arbitrary: fc.constantFrom(
              '',
              '{',
              '[]',
              'null',
              '"x"',
              '{"a":{}}',
              '{"__proto__":{"a":1}}',
            ),
            weight: 1,
          },
        )
  const headers = fc.record(
    {
      'idempotency-key': fc.string({ minLength: 1, maxLength: 20, unit: 'grapheme-ascii' }),
      'x-request-id': fc.constantFrom('abc', 'x y', 'req_1'),
      traceparent: fc.constantFrom('00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', 'x'),
      'a2a-version': fc.constantFrom('1.0', '0.3', '9', ''),
      'last-event-id': fc.string({ maxLength: 10, unit: 'grapheme-ascii' }),
      accept: fc.constantFrom('text/event-stream', 'application/json', '*/*'),
    },
    { requiredKeys: [] },
  )
  return fc
    .record({ path, query, body, headers, key: fc.integer({ min: -1, max: keys - 1 }) })
    .map(({ path, query, body, headers, key }) => ({
      method: method.toUpperCase(),
      route,
      key,
      headers,
      url: fillRoute(route, path) + formatQuery(query),
      body: method === 'get' || method === 'delete' ? undefined : body,
    }))
}

const word = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

const fillRoute = (route: string, values: Record<string, unknown>): string =>
  route.replace(
    /\{(\w+)\}/g,
    (_, name: string) => encodeURIComponent(wellFormed(word(values[name] ?? 'x'))) || 'x',
  )

const formatQuery = (query: Record<string, unknown>): string => {
  const pairs = Object.entries(query).map(([name, value]): [string, string] => [
    name,
    wellFormed(word(value)),
  ])
  return pairs.length === 0 ? '' : `?${new URLSearchParams(pairs)}`
}

const wellFormed = (text: string): string => text.toWellFormed()
