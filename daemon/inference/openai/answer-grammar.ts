import type { ResponseFormat } from '../../../shared/wire/openai-format.ts'
import type { JsonSchema } from '../../../shared/wire/openai-tools.ts'
import { literal, oneOf } from '../grammar/gbnf.ts'
import { ANY_OBJECT, safeShape } from '../grammar/json-grammar.ts'
import type { Shape } from '../grammar/node.ts'
import { Rules } from '../grammar/rules.ts'
import { newBudget } from '../grammar/schema.ts'
import type { Grammar } from '../protocol.ts'
import { CALL_BEGIN, CALL_END } from '../tool-syntax.ts'
import type { ActiveTools } from './tools.ts'

/** Calls of one answer that a grammar allows; a small model might else never end. */
const MAX_CALLS = 16

/**
 * What the answer must look like, where the request says so.
 *
 * @throws ShoalError unsupported_parameter with the place in a schema that cannot be held
 */
export const answerGrammar = (
  format: ResponseFormat | null | undefined,
  active: ActiveTools | undefined,
): Grammar | undefined => {
  const rules = new Rules()
  if (active?.forced)
    return { text: rules.text(calls(active, active.forced, rules)), param: 'tools' }
  const shape = formatShape(format)
  if (shape === undefined) return undefined
  const json = rules.value(shape)
  const every = active?.tools.map((_, index) => index)
  const root = active && every ? `${json} | ${calls(active, every, rules)}` : json
  return { text: rules.text(root), param: 'response_format' }
}

const formatShape = (format: ResponseFormat | null | undefined): Shape | undefined => {
  if (format === null || format === undefined || format.type === 'text') return undefined
  if (format.type === 'json_object') return ANY_OBJECT
  const { schema } = format.json_schema
  return schema ? safeShape(schema, 'response_format.json_schema.schema') : ANY_OBJECT
}

/** One or more calls of the tools with these places. */
const calls = (
  { tools, parallel }: ActiveTools,
  places: readonly number[],
  rules: Rules,
): string => {
  const budget = newBudget()
  const branches = places.map(index => {
    const { name, parameters } = tools[index] as ActiveTools['tools'][0]
    const param = `tools.${index}.function.parameters`
    const shape = safeShape(objectSchema(parameters), param, budget)
    return { text: `${name}", "arguments": `, after: rules.value(shape) }
  })
  const begin = literal(`${CALL_BEGIN}\n{"name": "`)
  const call = rules.rule(`${begin} ${oneOf(branches)} ${literal(`}\n${CALL_END}`)}`)
  if (!parallel) return call
  return `${call} ${rules.rule(`"\\n" ${call}`)}{0,${MAX_CALLS - 1}}`
}

/** Arguments are an object, also where the schema leaves that out; nothing in it is no arguments. */
const objectSchema = (parameters: JsonSchema): JsonSchema => {
  const isEmpty =
    parameters.properties === undefined && parameters.additionalProperties === undefined
  const isRef = ['$ref', 'anyOf', 'oneOf', 'allOf', 'const', 'enum'].some(
    name => name in parameters,
  )
  if (isRef) return parameters
  return { type: 'object', ...(isEmpty && { properties: {} }), ...parameters }
}
