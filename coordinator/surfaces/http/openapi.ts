import { nextTurn, systemRuntime } from '../../../shared/runtime.ts'
import { VERSION } from '../../../shared/version.ts'
import { type ResponseExample, readResponseExamples } from './docs/response-examples.ts'
import { ERROR_RESPONSES, ERROR_SCHEMAS } from './error-forms.ts'
import { hoistDefinitions } from './hoist-definitions.ts'
import { describeRoute, type OpenApiOperation } from './openapi-operation.ts'
import type { DocumentedRoute } from './route-docs.ts'

export interface OpenApiDocument {
  openapi: '3.1.0'
  info: { title: string; version: string; summary: string; license: object }
  servers: { url: string }[]
  tags: { name: string }[]
  paths: Record<string, Record<string, OpenApiOperation>>
  components: object
}

/** Longest turn of the loop for the description of routes. */
const SLICE_MS = 10

/**
 * The API document (OpenAPI 3.1.0) of the routes that are registered. One without a description is
 * left out; a test does not let that pass. It is made in slices, between which others are served.
 */
export const openApi = async (
  routes: readonly DocumentedRoute[],
  baseUrl: string,
): Promise<OpenApiDocument> => {
  const paths: OpenApiDocument['paths'] = {}
  const schemas: Record<string, unknown> = {}
  const examples = readResponseExamples()
  let sliceEndMs = systemRuntime.nowMs() + SLICE_MS
  for (const route of routes) {
    if (systemRuntime.nowMs() > sliceEndMs) {
      await nextTurn(systemRuntime)
      sliceEndMs = systemRuntime.nowMs() + SLICE_MS
    }
    const described = describeRoute(route)
    if (described === undefined) continue
    const { value, schemas: own } = hoistDefinitions(described, described.operationId)
    Object.assign(schemas, own)
    const shown = withExample(value, examples.get(described.operationId))
    paths[route.path] = { ...paths[route.path], [route.method.toLowerCase()]: shown }
  }
  const names = Object.values(paths).flatMap(path =>
    Object.values(path).flatMap(({ tags }) => tags),
  )
  return {
    openapi: '3.1.0',
    info: {
      title: 'shoal',
      version: VERSION,
      summary: 'One service out of a fleet of GPU cells, robots and edge devices',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: baseUrl }],
    tags: [...new Set(names)].map(name => ({ name })),
    paths,
    components: { ...components, schemas: { ...components.schemas, ...schemas } },
  }
}

/** A description with a real answer beside the schema that it conforms to. */
const withExample = (
  described: OpenApiOperation,
  example: ResponseExample | undefined,
): OpenApiOperation => {
  const { status = 0, type = '', value } = example ?? {}
  const response = described.responses[status] as { content?: Record<string, object> } | undefined
  const media = response?.content?.[type]
  if (media === undefined) return described
  const content = { ...response?.content, [type]: { ...media, example: value } }
  return { ...described, responses: { ...described.responses, [status]: { ...response, content } } }
}

const components = {
  securitySchemes: {
    bearer: { type: 'http', scheme: 'bearer', description: 'An API key: svc-dev-…' },
    cell: { type: 'http', scheme: 'basic', description: 'Id and credential of a cell.' },
  },
  schemas: ERROR_SCHEMAS,
  responses: ERROR_RESPONSES,
}
