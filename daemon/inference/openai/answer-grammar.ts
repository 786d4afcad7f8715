import { LRUCache } from 'lru-cache'
import type { ResponseFormat } from '../../../shared/wire/openai-format.ts'
import { ANY_OBJECT, safeShape } from '../grammar/json-grammar.ts'
import type { Shape } from '../grammar/node.ts'
import { Rules } from '../grammar/rules.ts'
import type { CallRules, ChatOrder } from '../protocol.ts'
import { callRules } from './call-rules.ts'
import type { ActiveTools } from './tools.ts'

/**
 * Returns the constraints that the request puts on the form of the answer, if any.
 *
 * @throws ShoalError unsupported_parameter with the place in a schema that cannot be enforced,
 *   invalid_request for an invalid schema
 */
export const answerGrammar = (
  format: ResponseFormat | null | undefined,
  active: ActiveTools | undefined,
): Pick<ChatOrder, 'grammar' | 'calls'> => {
  const rules = new Rules()
  if (active?.forced) return { calls: { ...callRules(active, rules), whole: true } }
  const shape = formatShape(format)
  if (shape === undefined) return active ? { calls: freeCallRules(active) } : {}
  const json = rules.value(shape)
  const param = 'response_format'
  if (active === undefined) return { grammar: { text: rules.text(json), param } }
  return { calls: { ...callRules(active, rules), whole: true, instead: json, param } }
}

const formatShape = (format: ResponseFormat | null | undefined): Shape | undefined => {
  if (format === null || format === undefined || format.type === 'text') return undefined
  if (format.type === 'json_object') return ANY_OBJECT
  const { schema } = format.json_schema
  return schema ? safeShape(schema, 'response_format.json_schema.schema') : ANY_OBJECT
}

const KEPT_RULES = 16
/** Longer lists of tools are rare, and not kept in memory. */
const MAX_KEY_LENGTH = 256 * 1024

const known = new LRUCache<string, CallRules>({ max: KEPT_RULES })

/**
 * The rules for a model that may call as it likes. Agents send the same tools with each turn, and
 * making the rules for twenty of them costs some milliseconds, so the last ones are kept.
 */
const freeCallRules = (active: ActiveTools): CallRules => {
  const key = JSON.stringify([active.tools, active.parallel])
  const rules = known.get(key) ?? callRules(active, new Rules())
  if (key.length <= MAX_KEY_LENGTH) known.set(key, rules)
  return rules
}
