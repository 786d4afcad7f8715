import type { VerbFacts } from '../../shared/wire/command.ts'
import type { CommandRecord } from './command.ts'

/** True for what passes every queue, as its cell announces it. */
export const isUrgent = (
  { cellId, verb, mode }: Pick<CommandRecord, 'cellId' | 'verb' | 'mode'>,
  verbs: (cellId: string) => readonly VerbFacts[] | undefined,
): boolean => {
  const facts = verbs(cellId)?.find(facts => facts.verb === verb)
  return mode === 'live' && facts?.urgent === true
}
