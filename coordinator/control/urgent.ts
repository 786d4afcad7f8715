import type { CommandRecord } from './command.ts'
import type { CommandAdmissionParts } from './command-admission.ts'

/** True for a live command that bypasses every queue, according to the facts its cell announces. */
export const isUrgent = (
  { cellId, deviceId, verb, mode }: Pick<CommandRecord, 'cellId' | 'deviceId' | 'verb' | 'mode'>,
  verbs: CommandAdmissionParts['verbs'],
): boolean => {
  const facts = verbs(cellId, deviceId)?.find(facts => facts.verb === verb)
  return mode === 'live' && facts?.urgent === true
}
