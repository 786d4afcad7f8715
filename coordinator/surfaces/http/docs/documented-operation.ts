import type { JsonSchema } from '../../../kernel/declaration/json-schema.ts'
import type { OpenApiOperation } from '../openapi-operation.ts'

interface Parameter {
  name: string
  in: 'path' | 'query'
  required: boolean
  description?: string
  schema: JsonSchema
}

/** An operation of our own document, with the parts of it that the page looks into. */
export interface DocumentedOperation extends OpenApiOperation {
  parameters: Parameter[]
  'x-shoal-access': string
  'x-shoal-roles'?: string[]
  'x-shoal-effect'?: string
  'x-shoal-cli'?: {
    group: string
    verb: string
    arguments: string[]
    file?: string
    upload?: boolean
  }
}

interface MediaContent {
  schema: JsonSchema
  example?: unknown
}

/** Bodies and answers by media type. */
export const contentOf = (value: object | undefined): Record<string, MediaContent> =>
  (value as { content?: Record<string, MediaContent> } | undefined)?.content ?? {}

/** The body of an operation that takes JSON; undefined for one that takes a file. */
export const jsonBody = ({ requestBody }: OpenApiOperation): MediaContent | undefined => {
  const body = contentOf(requestBody)['application/json']
  return body?.schema.type === 'string' ? undefined : body
}
