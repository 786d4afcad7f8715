import type { JsonSchema } from '../../../kernel/declaration/json-schema.ts'
import { contentOf, type DocumentedOperation, jsonBody } from './documented-operation.ts'

/** A line that works when SHOAL_KEY is set and the names in capitals are filled in. */
export const curlOf = (
  baseUrl: string,
  method: string,
  path: string,
  operation: DocumentedOperation,
): string => {
  const body = jsonBody(operation)
  const query = operation.parameters.filter(each => each.in === 'query' && each.required)
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => name.toUpperCase())
  const asked = query.map(({ name, schema }) => `${name}=${toText(exampleOf(schema))}`).join('&')
  return [
    `curl -s${method === 'get' ? '' : ` -X ${method.toUpperCase()}`} "${baseUrl}${filled}${asked && `?${asked}`}"`,
    ...operation.security.flatMap(credentialOf),
    ...(body === undefined
      ? listFileOptions(operation)
      : [
          '-H "Content-Type: application/json"',
          `-d '${JSON.stringify(body.example ?? exampleOf(body.schema)).replaceAll("'", "'\\''")}'`,
        ]),
  ].join(' \\\n  ')
}

/** Options that send a file of the first media type that the operation takes. */
const listFileOptions = ({ requestBody }: DocumentedOperation): string[] => {
  const [type] = Object.keys(contentOf(requestBody))
  return type === undefined ? [] : [`-H "Content-Type: ${type}"`, '--data-binary @FILE']
}

const credentialOf = (scheme: object): string[] => {
  if ('bearer' in scheme) return ['-H "Authorization: Bearer $SHOAL_KEY"']
  return 'cell' in scheme ? ['-u "CELL_ID:CREDENTIAL"'] : []
}

const toText = (value: unknown): string =>
  typeof value === 'string' ? value : JSON.stringify(value)

/** Returns the smallest value that a schema accepts, with required fields only. */
const exampleOf = (schema: JsonSchema): unknown => {
  const { type, anyOf, oneOf, properties = {}, required = [], default: preset } = schema
  if (schema.const !== undefined) return schema.const
  if (preset !== undefined) return preset
  if (Array.isArray(schema.enum)) return schema.enum[0]
  const [choice] = (anyOf ?? oneOf ?? []) as JsonSchema[]
  if (choice !== undefined) return exampleOf(choice)
  switch (Array.isArray(type) ? type[0] : type) {
    case 'object':
      return Object.fromEntries(
        (required as string[]).map(name => [
          name,
          exampleOf((properties as Record<string, JsonSchema>)[name] ?? {}),
        ]),
      )
    case 'array':
      return Number(schema.minItems ?? 0) > 0 ? [exampleOf((schema.items ?? {}) as JsonSchema)] : []
    case 'integer':
    case 'number':
      return schema.minimum ?? 1
    case 'boolean':
      return true
    case 'null':
      return null
    default:
      return '…'
  }
}
