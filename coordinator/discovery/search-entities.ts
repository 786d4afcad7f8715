import { type Kysely, sql } from 'kysely'
import type { LookupContext } from '../../discovery/lookup-run.ts'
import type { LedgerTables } from '../store/tables.ts'
import { describe, nameOf } from './registry-entities.ts'

const MAX_WORDS = 8
const MAX_HITS = 100

/** Entities whose description has all words of a query; those with the words in their name first. */
export const searchEntities = async (
  read: Kysely<LedgerTables>,
  query: string,
  limit: number,
): ReturnType<LookupContext['searchRegistry']> => {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean).slice(0, MAX_WORDS)
  if (words.length === 0) return []
  let select = read.selectFrom('discovery_entities').selectAll()
  for (const word of words)
    select = select.where(
      sql<boolean>`lower(description_json) like ${`%${escapeLike(word)}%`} escape '!'`,
    )
  const rows = await select.orderBy('last_at', 'desc').limit(Math.min(limit, MAX_HITS)).execute()
  return rows
    .map(row => {
      const description = describe(row)
      const name = nameOf(description) ?? row.id
      const named = words.filter(word => name.toLowerCase().includes(word)).length
      const text = description.fields.description?.value ?? description.fields.model?.value
      return {
        origin: 'local' as const,
        id: row.id,
        name: name.slice(0, 256),
        description: typeof text === 'string' ? text : null,
        version: null,
        kind: row.type,
        url: null,
        updated_at: new Date(row.last_at).toISOString(),
        score: 0.5 + named / words.length / 2,
      }
    })
    .toSorted((a, b) => b.score - a.score)
}

const escapeLike = (word: string): string => word.replaceAll(/[!%_]/g, '!$&')
