import type { LookupContext } from '../../../discovery/lookup-run.ts'
import { readFacts } from './entity-facts.ts'
import type { EntityQuery } from './entity-query.ts'
import { listQueryWords } from './entity-words.ts'

const MAX_HITS = 100

/** Entities that have all words of a query; those with the words in their name first. */
export const searchEntities = async (
  entityQuery: Pick<EntityQuery, 'page'>,
  query: string,
  limit: number,
): ReturnType<LookupContext['searchEntities']> => {
  const words = listQueryWords(query)
  const { entities } = await entityQuery.page({ text: query, limit: Math.min(limit, MAX_HITS) })
  return entities
    .map(entity => {
      const name = entity.name ?? entity.entity_id
      const named = words.filter(word => name.toLowerCase().includes(word)).length
      const { description, model } = readFacts(entity)
      return {
        origin: 'local' as const,
        id: entity.entity_id,
        name: name.slice(0, 256),
        description: description ?? model ?? null,
        version: null,
        kind: entity.device_type,
        url: null,
        updated_at: entity.last_seen,
        score: 0.5 + named / words.length / 2,
      }
    })
    .toSorted((a, b) => b.score - a.score)
}
