import { ShoalError } from '../../../shared/errors.ts'
import { nextTurn, type Runtime } from '../../../shared/runtime.ts'
import type { Budgets } from '../../kernel/budgets/budgets.ts'
import type { EntityFilter } from './entity-page.ts'
import type { EntityQuery } from './entity-query.ts'
import { EXPORTS, type ExportFormatName } from './export-formats.ts'

export interface ExportRequest {
  format: ExportFormatName
  filter: EntityFilter
  /** Key whose share of held answers the text in memory counts for. */
  keyId: string | undefined
}

interface ExportParts {
  entityQuery: Pick<EntityQuery, 'readParts'>
  budgets: Pick<Budgets, 'heldAnswers'>
  now: () => number
  runtime: Pick<Runtime, 'ids' | 'setImmediate'>
}

/** Memory that an export has in any case: its rows that were read, and their text. */
const HELD_BYTES = 256 * 1024
const RETRY_SECONDS = 30

/**
 * Writes an inventory in parts; the next part is read once this one was taken. Entities come in the
 * order of their ids, each as it is when it is read: those that exist all the time are there exactly
 * once. Throws `rate_limited` when the key holds too many unread answers.
 */
export async function* exportEntities(
  { entityQuery, budgets, now, runtime }: ExportParts,
  { format, filter, keyId }: ExportRequest,
): AsyncGenerator<string> {
  const { begin, format: formatEntity, between, end } = EXPORTS[format]
  const share = budgets.heldAnswers.open(keyId === undefined ? {} : { key: keyId })
  if (!share.take(HELD_BYTES))
    throw new ShoalError('rate_limited', 'too much of the answers of this key is unread', {
      retryAfterSeconds: RETRY_SECONDS,
    })
  try {
    let text = begin(now(), runtime.ids)
    let count = 0
    for await (const { entities, bytes } of entityQuery.readParts(filter)) {
      const more = Math.max(0, 2 * bytes - HELD_BYTES)
      share.force(more)
      for (const entity of entities)
        text += `${count++ === 0 ? '' : between}${formatEntity(entity)}`
      if (text !== '') yield text
      text = ''
      share.give(more)
      // a file is read without a turn of the event loop, which other requests need
      await nextTurn(runtime)
    }
    yield text + end
  } finally {
    share.close()
  }
}
