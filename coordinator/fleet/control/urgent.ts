import type { CommandRecord } from './command.ts'
import type { FindVerbs } from './find-verbs.ts'

/** True for a live command that bypasses every queue, according to the facts its cell announces. */
export const isUrgent = (
  { cellId, deviceId, verb, mode }: Pick<CommandRecord, 'cellId' | 'deviceId' | 'verb' | 'mode'>,
  verbs: FindVerbs,
): boolean => {
  const facts = verbs(cellId, deviceId)?.find(facts => facts.verb === verb)
  return mode === 'live' && facts?.urgent === true
}
