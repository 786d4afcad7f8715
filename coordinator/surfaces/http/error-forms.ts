import { errorReasons } from '../../../shared/error-reasons.ts'
import { errorCodes } from '../../../shared/errors.ts'
import { isOllamaPath } from './ollama/ollama-error.ts'
import type { DocumentedRoute } from './route-docs.ts'

/**
 * Form of the errors of a route: OpenAI's (the default), Ollama's, those of JSON-RPC, of MCP (JSON-RPC
 * beside the errors of REST), or google.rpc.Status.
 */
export type ErrorForm = 'Error' | 'OllamaError' | 'RpcError' | 'McpError' | 'StatusError'

const text = { type: 'string' }

const rpcFault = {
  type: 'object',
  required: ['code', 'message'],
  properties: { code: { type: 'integer' }, message: text, data: {} },
}

/** Schemas of the error bodies, by form. */
export const ERROR_SCHEMAS: Readonly<Record<ErrorForm, object>> = {
  Error: {
    type: 'object',
    required: ['error'],
    properties: {
      error: {
        type: 'object',
        required: ['message', 'type', 'param', 'code'],
        properties: {
          message: text,
          type: text,
          param: { type: ['string', 'null'] },
          code: { ...text, enum: errorCodes },
          reason: {
            ...text,
            enum: errorReasons,
            description: 'Finer cause than the code; absent where there is none.',
          },
          next: {
            ...text,
            description: 'Next step as a command line or link; absent where there is none.',
          },
        },
      },
    },
  },
  OllamaError: { type: 'object', required: ['error'], properties: { error: text } },
  RpcError: {
    type: 'object',
    required: ['jsonrpc', 'id', 'error'],
    properties: {
      jsonrpc: { const: '2.0' },
      id: { type: ['string', 'integer', 'null'] },
      error: rpcFault,
    },
  },
  McpError: {
    anyOf: [{ $ref: '#/components/schemas/RpcError' }, { $ref: '#/components/schemas/Error' }],
  },
  StatusError: {
    anyOf: [
      {
        type: 'object',
        required: ['error'],
        properties: {
          error: {
            type: 'object',
            required: ['code', 'status', 'message', 'details'],
            properties: {
              code: { type: 'integer' },
              status: text,
              message: text,
              details: { type: 'array', items: { type: 'object' } },
            },
          },
        },
      },
      rpcFault,
    ],
  },
}

const DESCRIPTIONS: Readonly<Record<ErrorForm, string>> = {
  Error: 'An error; its code names the cause.',
  OllamaError: "An error of Ollama's API.",
  RpcError: 'An error of JSON-RPC 2.0.',
  McpError: 'An error of JSON-RPC 2.0, or one of the REST API before the protocol is reached.',
  StatusError: 'A google.rpc.Status; the error of JSON-RPC alone for A2A 0.3.',
}

/** Media types of the error bodies beside `application/json`. */
const TYPES: Partial<Record<ErrorForm, readonly string[]>> = {
  RpcError: ['application/json', 'text/event-stream'],
  McpError: ['application/json', 'text/event-stream'],
  StatusError: ['application/json', 'application/a2a+json'],
}

/** Responses with the error bodies, by form. */
export const ERROR_RESPONSES = Object.fromEntries(
  Object.entries(DESCRIPTIONS).map(([form, description]) => {
    const schema = { $ref: `#/components/schemas/${form}` }
    const types = TYPES[form as ErrorForm] ?? ['application/json']
    return [
      form,
      { description, content: Object.fromEntries(types.map(type => [type, { schema }])) },
    ]
  }),
)

/** Statuses of errors that every route of a form has, beside 401 and 403 of routes with a key. */
const STATUSES: Readonly<Record<ErrorForm, readonly number[]>> = {
  Error: [422, 429],
  OllamaError: [400, 429],
  RpcError: [400, 401, 429],
  McpError: [400, 422, 429],
  StatusError: [400, 401, 404, 429],
}

/** Error responses of a route, as references. */
export const describeErrors = ({ docs, access, path }: DocumentedRoute): Record<string, object> => {
  const form = docs?.errors ?? (isOllamaPath(path) ? 'OllamaError' : 'Error')
  const error = { $ref: `#/components/responses/${form}` }
  const statuses = [...(access === 'key' ? [401, 403] : []), ...STATUSES[form], 'default']
  return Object.fromEntries(statuses.map(status => [status, error]))
}
