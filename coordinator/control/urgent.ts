import type { VerbFacts } from '../../shared/wire/command.ts'
import type { CommandRecord } from './command.ts'

/** True for a live command that bypasses every queue, according to the facts its cell announces. */
export const isUrgent = (
  { cellId, verb, mode }: Pick<CommandRecord, 'cellId' | 'verb' | 'mode'>,
  verbs: (cellId: string) => readonly VerbFacts[] | undefined,
): boolean => {
  const facts = verbs(cellId)?.find(facts => facts.verb === verb)
  return mode === 'live' && facts?.urgent === true
}
