import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import type { OpenApiDocument } from '../../../coordinator/surfaces/http/openapi.ts'
import type { FuzzCall } from './calls.ts'

export interface FuzzAnswer {
  status: number
  type: string
  /** Undefined for a stream, of which only the head was read. */
  body: string | undefined
  requestId: string | null
}

interface Described {
  responses: Record<string, { $ref?: string; content?: Record<string, { schema: object }> }>
}

/** A fault of the coordinator itself is never an answer; these say that something else is missing. */
const EXPECTED_5XX = ['cell_unavailable', 'draining', 'upstream_unavailable']

/** Says what is wrong with an answer by the document; undefined when it is as described. */
export const judgeBy = (document: OpenApiDocument) => {
  const ajv = new Ajv2020({ strict: false, validateFormats: false })
  ajv.addSchema({ $id: 'document', ...document })
  const known = new Map<string, ValidateFunction>()

  const validatorOf = (pointer: string): ValidateFunction => {
    const found = known.get(pointer) ?? ajv.compile({ $ref: `document#${pointer}` })
    known.set(pointer, found)
    return found
  }

  return (call: FuzzCall, answer: FuzzAnswer): string | undefined => {
    const { status, type, body, requestId } = answer
    if (requestId === null) return 'it has no x-request-id'
    if (body === undefined || status === 304 || status === 204) return undefined
    const parsed = type.includes('json') ? parse(body) : undefined
    if (type.includes('json') && parsed === undefined && body !== '')
      return `no JSON: ${body.slice(0, 100)}`
    if (status >= 500 && !isExpectedFailure(call, status, parsed))
      return `an unexpected ${status}: ${body.slice(0, 300)}`
    const method = call.method.toLowerCase()
    const found = document.paths[call.route]?.[method] as unknown as Described | undefined
    if (found === undefined) return 'the route is not described'
    const { responses } = found
    const name = String(status) in responses ? String(status) : 'default'
    const described = responses[name]
    if (described === undefined) return `${status} is not described`
    const place =
      described.$ref?.slice(1) ?? `/paths/${escapePointer(call.route)}/${method}/responses/${name}`
    const content = contentOf(document, described)
    if (body === '' && type === '')
      return name === 'default' ? `${status} without a body is not described` : undefined
    const media = Object.keys(content).find(each => type.split(';', 1)[0] === each)
    if (media === undefined) return `${status}: ${type} is not described`
    if (!media.includes('json')) return undefined
    const pointer = `${place}/content/${escapePointer(media)}/schema`
    const validate = validatorOf(pointer)
    return validate(parsed)
      ? undefined
      : `${status} does not fit: ${ajv.errorsText(validate.errors)} in ${body.slice(0, 300)}`
  }
}

/** Errors of Ollama's API are one text, without a code. */
const OLLAMA = /^\/api\//

const isExpectedFailure = ({ route }: FuzzCall, status: number, parsed: unknown): boolean =>
  OLLAMA.test(route) ? status === 503 : EXPECTED_5XX.includes(codeOf(parsed))

const contentOf = (
  { components }: OpenApiDocument,
  { $ref, content = {} }: Described['responses'][string],
): Record<string, unknown> => {
  if ($ref === undefined) return content
  const { responses } = components as { responses: Described['responses'] }
  return responses[$ref.split('/').at(-1) ?? '']?.content ?? {}
}

const codeOf = (parsed: unknown): string =>
  String((parsed as { error?: { code?: string } } | undefined)?.error?.code)

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const escapePointer = (part: string): string =>
  encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'))
