import * as z from 'zod'
import { type ErrorReason, errorReasons } from '../../../shared/error-reasons.ts'
import { JSON_TYPE } from '../../../shared/json-type.ts'
import { isMutation } from '../../calls/invoke/repeat.ts'
import { CELL_FIELD, CellField, listCellFields } from '../../fleet/cells/cell-field.ts'
import { cliOf, pathFields } from '../../kernel/declaration/declaration.ts'
import { type JsonSchema, jsonSchema } from '../../kernel/declaration/json-schema.ts'
import type { Operation } from '../../kernel/declaration/operation.ts'
import { PendingView } from '../../kernel/declaration/pending-result.ts'
import { describeErrors } from './error-forms.ts'
import type { DocumentedRoute, RouteDocs } from './route-docs.ts'

export interface OpenApiOperation {
  operationId: string
  summary: string
  tags: string[]
  security: object[]
  parameters: object[]
  deprecated?: boolean
  requestBody?: object
  responses: Record<string, object>
  [extension: `x-${string}`]: unknown
}

/** OpenAPI description of a route; undefined for a route without documentation. */
export const describeRoute = (route: DocumentedRoute): OpenApiOperation | undefined => {
  if (route.operation !== undefined) return describeOperation(route.operation, route)
  return route.docs === undefined ? undefined : describeDocs(route.docs, route)
}

const describeOperation = (operation: Operation, route: DocumentedRoute): OpenApiOperation => {
  const { properties = {}, required = [], ...rest } = jsonSchema(operation.input) as ObjectSchema
  const named = pathFields(operation.path)
  const others = Object.keys(properties).filter(name => !named.includes(name))
  const { upload } = operation
  const isWrite = operation.method === 'POST' || operation.method === 'PUT'
  const inBody = isWrite && upload === undefined
  const body = {
    ...rest,
    properties: Object.fromEntries(others.map(name => [name, properties[name]])),
    required: required.filter(name => !named.includes(name)),
  }
  return {
    operationId: operation.id,
    summary: operation.description,
    tags: [cliOf(operation).group],
    security: securityOf(route),
    ...(operation.deprecated === undefined ? {} : { deprecated: true }),
    parameters: [
      ...named.map(name => parameter(name, 'path', true, properties[name])),
      ...(inBody
        ? []
        : others.map(name => parameter(name, 'query', required.includes(name), properties[name]))),
      ...(operation.onCell ? [CELL] : []),
      ...(isMutation(operation) ? [callKeyOf(operation)] : []),
    ],
    ...(inBody
      ? {
          requestBody: {
            required: body.required.length > 0,
            content: bodyContent(body, operation.examples?.[0]),
          },
        }
      : {}),
    ...(upload === undefined
      ? {}
      : { requestBody: { required: true, content: fileContent(upload) } }),
    responses: {
      ...(operation.mode === 'task'
        ? responses(202, jsonContent(jsonSchema(TASK_BEGUN)), route)
        : responses(operation.status ?? 200, contentOfOperation(operation), route)),
      ...(operation.effect === 'gated' && operation.mode !== 'task' ? { 202: PENDING } : {}),
    },
    'x-shoal-access': operation.access,
    ...(operation.roles === undefined ? {} : { 'x-shoal-roles': operation.roles }),
    'x-shoal-effect': operation.effect,
    ...(operation.mode === undefined ? {} : { 'x-shoal-mode': operation.mode }),
    ...(operation.success === undefined ? {} : { 'x-shoal-success': operation.success }),
    ...(operation.answers === undefined ? {} : { 'x-shoal-answer': operation.answers }),
    ...(operation.isEmergency === true && { 'x-shoal-emergency': true }),
    ...(operation.next === undefined ? {} : { 'x-shoal-next': operation.next }),
    ...reasonsOf(operation),
    'x-shoal-cli': {
      ...cliOf(operation),
      arguments: named,
      ...(operation.sendsText && { is_text: true }),
      ...(upload === undefined ? {} : { upload: true }),
      ...exitOf(operation),
    },
  }
}

/** Reasons that follow from the path, the access and the gate of an operation, and those it states. */
const reasonsOf = (operation: Operation) => {
  const { access, effect, usesApproval, reasons = [] } = operation
  const all: ErrorReason[] = [
    ...nameReasonsOf(operation),
    ...(access === 'operator' ? (['role_required'] as const) : []),
    ...(effect === 'gated' || usesApproval === true ? APPROVAL_REASONS : []),
    ...reasons,
  ]
  return all.length === 0 ? {} : { 'x-shoal-reasons': [...new Set(all)] }
}

/** Reasons for a name in the path, or for one of a cell, that names no object or several. */
const nameReasonsOf = ({ path, input, onCell }: Operation): ErrorReason[] => {
  const places = pathFields(path)
  const namesCell = onCell === true || listCellFields(input).length > 0
  return [
    ...(namesCell || places.some(place => place !== 'model') ? (['name_unknown'] as const) : []),
    ...(places.includes('model') ? (['model_unknown'] as const) : []),
    ...(namesCell ? (['name_ambiguous'] as const) : []),
    ...(places.includes('device_id') ? (['device_ambiguous'] as const) : []),
  ]
}

const APPROVAL_REASONS = errorReasons.filter(each => each.startsWith('approval_'))

const IDEMPOTENCY_KEY = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description:
    'Repeating a request with the same key within 24 hours returns the answer of the first.',
  schema: { type: 'string', minLength: 1, maxLength: 255 },
}

const callKeyOf = ({ needsCallKey }: Operation) => {
  if (needsCallKey === undefined) return IDEMPOTENCY_KEY
  const description = `${IDEMPOTENCY_KEY.description} Required for a live command to a device.`
  return { ...IDEMPOTENCY_KEY, description, 'x-shoal-needed': true }
}

/**
 * Exit codes for command lines that know no `x-shoal-success`. A script must be able to tell `waits
 * for people` from `done`.
 */
const exitOf = ({ success, effect }: Operation) => {
  if (effect === 'gated') return { exit: { field: 'status', codes: { pending: 75 } } }
  if (success === undefined || success.field.includes('.')) return {}
  return { exit: { field: success.field, codes: success.codes } }
}

const contentOfOperation = ({ text, sendsText, output, events }: Operation): object => ({
  ...(sendsText === undefined ? contentOfAnswer(output, text) : textContent(sendsText)),
  ...(events === undefined ? {} : { 'text/event-stream': { schema: sse(events) } }),
})

const contentOfAnswer = (output: z.ZodType, text: Operation['text']): object =>
  text === undefined
    ? jsonContent(jsonSchema(output))
    : {
        ...jsonContent(withoutFields(jsonSchema(output), [text.body, text.type])),
        ...textContent(text.types),
      }

/** Fields that are sent as text are not part of the JSON schema. */
const withoutFields = (schema: JsonSchema, names: readonly string[]): JsonSchema => {
  const { properties = {}, required = [] } = schema as ObjectSchema
  const kept = Object.entries(properties).filter(([name]) => !names.includes(name))
  return {
    ...schema,
    properties: Object.fromEntries(kept),
    required: required.filter(name => !names.includes(name)),
  }
}

interface ObjectSchema {
  properties?: Record<string, JsonSchema>
  required?: string[]
}

const describeDocs = (docs: RouteDocs, route: DocumentedRoute): OpenApiOperation => ({
  operationId: docs.id,
  summary: docs.summary,
  tags: [docs.tag],
  security: docs.scheme === undefined ? securityOf(route) : [{ [docs.scheme]: [] }],
  parameters: [
    ...pathFields(route.path).map(name => parameter(name, 'path', true, { type: 'string' })),
    ...queryOf(docs),
  ],
  ...(docs.body === undefined
    ? {}
    : {
        requestBody: { required: true, content: bodyContent(jsonSchema(docs.body), docs.example) },
      }),
  responses: responses(docs.status ?? 200, contentOf(docs), route),
  'x-shoal-access': route.access,
})

const queryOf = ({ query }: RouteDocs): object[] => {
  const { properties = {}, required = [] } = (query ? jsonSchema(query) : {}) as ObjectSchema
  return Object.entries(properties).map(([name, schema]) =>
    parameter(name, 'query', required.includes(name), schema),
  )
}

const contentOf = ({ answer, types, events, lines }: RouteDocs): object => ({
  ...wholeContent(answer, types),
  ...(lines === undefined ? {} : { 'application/x-ndjson': { schema: jsonSchema(lines) } }),
  ...(events === undefined ? {} : { 'text/event-stream': { schema: sse(events) } }),
})

const wholeContent = (
  answer: RouteDocs['answer'],
  types: readonly string[] = ['application/json'],
): object => {
  if (answer === 'events') return {}
  if (typeof answer !== 'string')
    return Object.fromEntries(types.map(type => [type, { schema: jsonSchema(answer) }]))
  return textContent(WHOLE_TYPES[answer])
}

const WHOLE_TYPES = {
  html: ['text/html'],
  text: ['text/plain'],
  page: ['text/html', 'text/plain'],
} as const

/**
 * Description of an event stream, for which OpenAPI 3.1 has no form: the text, and the data of one
 * event.
 */
const sse = (events: z.ZodType): object => ({
  type: 'string',
  contentMediaType: 'text/event-stream',
  'x-shoal-event-data': jsonSchema(events),
})

const parameter = (
  name: string,
  place: 'path' | 'query',
  required: boolean,
  schema: JsonSchema = {},
) => {
  const { description, ...rest } = schema
  return {
    name,
    in: place,
    required,
    ...(description === undefined ? {} : { description }),
    schema: rest,
  }
}

/** Cell to run on, beside the input, so that also a body leaves it to the query. */
const CELL = parameter(CELL_FIELD, 'query', false, jsonSchema(CellField))

const securityOf = ({ access }: DocumentedRoute): object[] =>
  access === 'key' ? [{ bearer: [] }] : []

const responses = (
  status: number | readonly number[],
  content: object,
  route: DocumentedRoute,
): Record<string, object> => {
  const described = [status]
    .flat()
    .map(each => [
      each,
      { description: 'The answer.', ...(each === NO_CONTENT ? {} : { content }) },
    ])
  return { ...describeErrors(route), ...Object.fromEntries(described) }
}

/** Status of a response without a body. */
const NO_CONTENT = 204

/** The answer comes from the task: `GET /v1/tasks/{task_id}`. */
const TASK_BEGUN = z.object({ task_id: z.string() })

const PENDING = {
  description: 'The call needs human approval; repeat the same call once it is approved.',
  content: { 'application/json': { schema: jsonSchema(PendingView) } },
}

const bodyContent = (schema: JsonSchema, example: object | undefined): object => ({
  'application/json': { schema, ...(example === undefined ? {} : { example }) },
})

const fileContent = (types: readonly string[]): object =>
  Object.fromEntries(types.map(type => [type, { schema: { type: 'string' } }]))

/** An answer of these types: text, or any value of JSON. */
const textContent = (types: readonly string[]): object => ({
  ...fileContent(types),
  ...Object.fromEntries(
    types.filter(type => JSON_TYPE.test(type)).map(type => [type, { schema: {} }]),
  ),
})

const jsonContent = (schema: JsonSchema) => ({ 'application/json': { schema } })
