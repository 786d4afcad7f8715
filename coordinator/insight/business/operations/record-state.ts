import * as z from 'zod'
import { DataState } from '../../../kernel/declaration/data-state.ts'
import type { RecordSet } from '../../registers/registers.ts'

/** Fields of every answer that is made of records. */
export const RECORD_STATE = {
  data_state: DataState,
  as_of: z.iso.date().describe('Day of the figures, UTC.'),
  to_load: z
    .array(z.string())
    .describe('Registers without records; shoal registers import loads a file into one.'),
}

export const NO_SUBSCRIPTION = 'the register subscriptions has no record of the tenant'

type Sets = Readonly<Record<string, RecordSet<unknown>>>

/**
 * State of an answer over registers, by their names. Live data counts as well; records of the
 * example organisation make the whole answer an example.
 */
export const stateOf = (sets: Sets, live = false) => {
  const all = Object.values(sets)
  const isFilled = live || all.some(({ records }) => records.length > 0)
  const hasExamples = all.some(({ isExample, records }) => isExample && records.length > 0)
  const filled = hasExamples ? 'example' : 'live'
  return {
    data_state: isFilled ? (filled as DataState) : ('empty' as const),
    to_load: Object.keys(sets).filter(name => sets[name]?.records.length === 0),
  }
}
