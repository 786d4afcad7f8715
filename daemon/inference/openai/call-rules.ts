import { ShoalError } from '../../../shared/errors.ts'
import type { JsonSchema } from '../../../shared/wire/openai-tools.ts'
import { ANY_OBJECT, safeShape } from '../grammar/json-grammar.ts'
import type { Shape } from '../grammar/node.ts'
import type { Rules } from '../grammar/rules.ts'
import { newBudget } from '../grammar/schema.ts'
import type { CallRules, PlainTool } from '../protocol.ts'
import type { ActiveTools } from './tools.ts'

/**
 * Returns the functions that an answer may call, with rules for their arguments. A forced call
 * requires that each schema can be enforced. When calls are optional, no schema fails the request:
 * arguments whose schema no grammar can enforce are only required to be an object.
 *
 * @throws ShoalError for a forced call: unsupported_parameter with the place in a schema that
 *   cannot be enforced, invalid_request for an invalid schema
 */
export const callRules = (
  { tools, places, forced, parallel }: ActiveTools,
  rules: Rules,
): CallRules => {
  const budget = newBudget()
  const callable = forced ?? tools.map((_, index) => index)
  const functions = callable.map(index => {
    const { name, parameters } = tools[index] as PlainTool
    const param = `tools.${places[index]}.function.parameters`
    const read = () => safeShape(objectSchema(parameters), param, budget)
    return { name, rule: rules.value(forced ? read() : readOrAnyObject(read)) }
  })
  return { rules: rules.body(), functions, parallel, param: 'tools' }
}

const readOrAnyObject = (read: () => Shape): Shape => {
  try {
    return read()
  } catch (error) {
    if (error instanceof ShoalError) return ANY_OBJECT
    throw error
  }
}

/** Arguments are an object, also where the schema leaves that out; nothing in it is no arguments. */
const objectSchema = (parameters: Readonly<JsonSchema>): JsonSchema => {
  const isEmpty =
    parameters.properties === undefined && parameters.additionalProperties === undefined
  const isRef = ['$ref', 'anyOf', 'oneOf', 'allOf', 'const', 'enum'].some(
    name => name in parameters,
  )
  if (isRef) return parameters
  return { type: 'object', ...(isEmpty && { properties: {} }), ...parameters }
}
