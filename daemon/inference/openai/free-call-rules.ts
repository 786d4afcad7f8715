import { Rules } from '../grammar/rules.ts'
import type { CallRules } from '../protocol.ts'
import { callRules } from './call-rules.ts'
import type { ActiveTools } from './tools.ts'

const MOST = 16
/** Longer lists of tools are rare, and not kept in memory. */
const MAX_KEY_LENGTH = 256 * 1024

const known = new Map<string, CallRules>()

/**
 * The rules for a model that may call as it likes. Agents send the same tools with each turn, and
 * making the rules for twenty of them costs some milliseconds, so the last ones are kept.
 */
export const freeCallRules = (active: ActiveTools): CallRules => {
  const key = JSON.stringify([active.tools, active.parallel])
  const rules = known.get(key) ?? callRules(active, new Rules())
  if (key.length > MAX_KEY_LENGTH) return rules
  // the one that was used longest ago stands first
  known.delete(key)
  known.set(key, rules)
  if (known.size > MOST) known.delete(known.keys().next().value as string)
  return rules
}
