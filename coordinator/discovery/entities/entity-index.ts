import { splitList } from '../../kernel/base/split-list.ts'
import type { SealedTrx } from '../../kernel/store/store.ts'
import type { StoredEntity } from './discovery-entity.table.ts'
import { listEntityWords } from './entity-words.ts'
import { readInParts } from './evidence-rows.ts'

/** Rows per statement: the number of its parameters is limited. */
const AT_ONCE = 500

/** Stores the sources and words that entities are found by. */
export const indexEntities = async (
  trx: SealedTrx,
  entities: readonly StoredEntity[],
): Promise<void> => {
  await putSources(trx, entities)
  await putWords(trx, entities)
}

/** Deletes the sources and words that an entity is found by. */
export const unindexEntity = async (trx: SealedTrx, id: string): Promise<void> => {
  await trx.deleteFrom('discovery_entity_sources').where('entity_id', '=', id).execute()
  await trx.deleteFrom('discovery_entity_words').where('entity_id', '=', id).execute()
}

const putSources = async (trx: SealedTrx, entities: readonly StoredEntity[]): Promise<void> => {
  const sources = entities.flatMap(({ id: entity_id, lastAt, sources }) =>
    listSources(sources).map(source => ({ entity_id, source, last_at: lastAt })),
  )
  for (const part of splitList(sources, AT_ONCE))
    await trx
      .insertInto('discovery_entity_sources')
      .values(part)
      .onConflict(conflict =>
        conflict
          .columns(['entity_id', 'source'])
          .doUpdateSet(row => ({ last_at: row.ref('excluded.last_at') })),
      )
      .execute()
  const known = new Set(sources.map(({ entity_id, source }) => `${entity_id} ${source}`))
  const stored = await readInParts(
    entities.map(({ id }) => id),
    part =>
      trx
        .selectFrom('discovery_entity_sources')
        .select(['entity_id', 'source'])
        .where('entity_id', 'in', part)
        .execute(),
  )
  for (const { entity_id, source } of stored)
    if (!known.has(`${entity_id} ${source}`))
      await trx
        .deleteFrom('discovery_entity_sources')
        .where('entity_id', '=', entity_id)
        .where('source', '=', source)
        .execute()
}

/** Writes only what differs: the words of an entity hardly ever change. */
const putWords = async (trx: SealedTrx, entities: readonly StoredEntity[]): Promise<void> => {
  const stored = await readInParts(
    entities.map(({ id }) => id),
    part =>
      trx.selectFrom('discovery_entity_words').selectAll().where('entity_id', 'in', part).execute(),
  )
  const storedOf = Map.groupBy(stored, ({ entity_id }) => entity_id)
  const added: { entity_id: string; word: string }[] = []
  for (const { id, type, description } of entities) {
    const words = listEntityWords(type, description)
    const old = new Set(storedOf.get(id)?.map(({ word }) => word))
    for (const word of words) if (!old.has(word)) added.push({ entity_id: id, word })
    const gone = [...old].filter(word => !words.has(word))
    if (gone.length > 0)
      await trx
        .deleteFrom('discovery_entity_words')
        .where('entity_id', '=', id)
        .where('word', 'in', gone)
        .execute()
  }
  for (const part of splitList(added, AT_ONCE))
    await trx.insertInto('discovery_entity_words').values(part).execute()
}

/** Names in the column `sources`, each of which has a blank on either side. */
export const listSources = (sources: string): string[] => sources.split(' ').filter(Boolean)
