import { ShoalError } from '../../../shared/errors.ts'
import type { JsonSchema } from '../../../shared/wire/openai-tools.ts'
import { checkAmbiguity } from './ambiguity.ts'
import type { Shape } from './node.ts'
import { type Budget, readSchema } from './schema.ts'

/**
 * A schema that is sure to be written by a grammar without harm to the engine.
 *
 * @param param where it stands in the request
 * @throws ShoalError unsupported_parameter or invalid_request, with the place in `param`
 */
export const safeShape = (schema: JsonSchema, param: string, budget?: Budget): Shape => {
  const shape = readSchema(schema, param, budget)
  try {
    checkAmbiguity(shape)
  } catch (error) {
    const message = `${param}: ${(error as Error).message}`
    throw new ShoalError('unsupported_parameter', message, { param })
  }
  return shape
}

/** Any JSON object, as `json_object` asks for. */
export const ANY_OBJECT: Shape = {
  root: { kind: 'map', values: { kind: 'any' }, min: 0, max: undefined },
  defs: new Map(),
}
