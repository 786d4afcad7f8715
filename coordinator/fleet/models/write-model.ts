import {
  type CatalogueEntry,
  describeReservedId,
  SHIPPED_CATALOGUE,
} from '../../../shared/catalogue.ts'
import { ShoalError } from '../../../shared/errors.ts'
import { createUnknownError } from '../../../shared/reference-errors.ts'
import { nameWeights } from '../../../shared/weights-source.ts'
import {
  MAX_REGISTERED,
  MAX_REGISTERED_BYTES,
  type RegisteredModel,
} from '../../../shared/wire/registered-models.ts'
import { type Actor, appendAudit } from '../../kernel/audit/audit.ts'
import { bumpRevision } from '../../kernel/store/revisions.ts'
import { nextSequence } from '../../kernel/store/sequences.ts'
import type { SealedTrx, Store } from '../../kernel/store/store.ts'
import { type ModelRow, modelTable } from './model.table.ts'

type Ledger = Store['ledger']

/** A change of the registered models. */
export type ModelChange =
  | { act: 'add'; id: string; entry: RegisteredModel; cells: readonly string[] }
  | { act: 'alias'; id: string; aliasOf: string }
  | { act: 'remove'; id: string }

interface WriteParts {
  ledger: Ledger
  /** Models of the configuration by id. */
  configured: ReadonlyMap<string, CatalogueEntry>
  /** Unix milliseconds. */
  now: number
}

/**
 * Changes the registered models in one transaction, audited. The row of a removed model keeps the
 * highest version until the next change, so that versions only grow.
 *
 * @throws ShoalError conflict, model_not_found or invalid_request
 */
export const writeModel = (
  { ledger, configured, now }: WriteParts,
  change: ModelChange,
  by: Actor,
): Promise<void> =>
  ledger.sealed.write(async trx => {
    const rows = await trx.selectFrom('models').selectAll().execute()
    const live = rows.filter(({ removed }) => removed === 0)
    requirePossible(change, live, configured)
    await trx.deleteFrom('models').where('removed', '=', 1).execute()
    const row = await rowOf(trx, change, live, by, now)
    if (change.act !== 'remove') requireSendable([...live, row])
    const { id: _, ...values } = row
    await trx
      .insertInto('models')
      .values(row)
      .onConflict(conflict => conflict.column('id').doUpdateSet(values))
      .execute()
    await bumpRevision(trx, 'models')
    await appendAudit(trx, {
      ...by,
      at: now,
      action: `model.${change.act}`,
      subject: change.id,
      outcome: 'done',
      details: detailsOf(change),
    })
  })

const rowOf = async (
  trx: SealedTrx,
  change: ModelChange,
  live: readonly ModelRow[],
  { actor }: Actor,
  now: number,
): Promise<ModelRow> => {
  const before = live.find(({ id }) => id === change.id)
  const row = modelTable.write({
    id: change.id,
    entry: change.act === 'add' ? change.entry : undefined,
    aliasOf: change.act === 'alias' ? change.aliasOf : undefined,
    cells: change.act === 'add' ? [...change.cells] : [],
    // the same sequence as the configuration of cells, as both reach them in one document
    version: await nextSequence(trx, 'configs'),
    removed: change.act === 'remove',
    changedAt: now,
    changedBy: actor,
  })
  // what is removed stays as it is: only a newer coordinator may be able to read it
  return before === undefined
    ? row
    : { ...row, entry_json: before.entry_json, alias_of: before.alias_of }
}

const requirePossible = (
  change: ModelChange,
  live: readonly ModelRow[],
  configured: ReadonlyMap<string, CatalogueEntry>,
): void => {
  if (change.act === 'remove') {
    requireRemovable(change.id, live, configured)
    return
  }
  requireUnreserved(change)
  requireFree(change, live, configured)
  if (live.length >= MAX_REGISTERED)
    throw new ShoalError(
      'conflict',
      `${MAX_REGISTERED} models and aliases are registered, which is the most; remove one first`,
    )
  if (change.act === 'alias') requireTarget(change.aliasOf, live, configured)
}

/** A longer list could not be sent to a cell, together with all of its other settings. */
const requireSendable = (rows: readonly ModelRow[]): void => {
  const texts = rows.map(
    ({ id, alias_of, entry_json }) => entry_json ?? JSON.stringify({ id, model: alias_of }),
  )
  const bytes = Buffer.byteLength(texts.join())
  if (bytes <= MAX_REGISTERED_BYTES) return
  throw new ShoalError(
    'conflict',
    `the registered models would take ${bytes} bytes of at most ${MAX_REGISTERED_BYTES}; remove one first, or use shorter notes and addresses`,
  )
}

const requireUnreserved = (change: ModelChange): void => {
  const reserved = describeReservedId(change.id)
  if (reserved !== undefined)
    throw new ShoalError('invalid_request', reserved, { param: paramOf(change) })
}

const requireFree = (
  change: ModelChange,
  live: readonly ModelRow[],
  configured: ReadonlyMap<string, CatalogueEntry>,
): void => {
  const { id } = change
  const param = paramOf(change)
  if (configured.has(id))
    throw new ShoalError('conflict', `${id} is a model of the configuration; choose another id`, {
      param,
    })
  const row = live.find(row => row.id === id)
  if (row === undefined) return
  const what = row.alias_of === null ? 'a model' : `an alias of ${row.alias_of}`
  throw new ShoalError(
    'conflict',
    `${id} exists already, as ${what}; shoal models show ${id} shows it, shoal models remove ${id} removes it`,
    { param, reason: 'model_exists', next: `shoal models show ${id}` },
  )
}

/** Field of the operation that has the id. */
const paramOf = ({ act }: ModelChange): string => (act === 'alias' ? 'alias' : 'model')

const requireTarget = (
  target: string,
  live: readonly ModelRow[],
  configured: ReadonlyMap<string, CatalogueEntry>,
): void => {
  const row = live.find(({ id }) => id === target)
  if (row?.alias_of !== undefined && row.alias_of !== null)
    throw new ShoalError('invalid_request', `${target} is an alias itself, of ${row.alias_of}`, {
      param: 'model',
    })
  if (row === undefined && !configured.has(target)) throw createUnknownError('model', target)
}

const requireRemovable = (
  id: string,
  live: readonly ModelRow[],
  configured: ReadonlyMap<string, CatalogueEntry>,
): void => {
  if (!live.some(row => row.id === id)) {
    const entry = configured.get(id)
    if (entry === undefined) throw createUnknownError('model', id)
    throw new ShoalError(
      'conflict',
      isShipped(entry)
        ? `${id} is one of the shipped models; \`catalogue\` in the configuration of the coordinator and its cells replaces them all`
        : `${id} is a model of the configuration file; take it out of \`catalogue\` there`,
      { param: 'model' },
    )
  }
  const aliases = live.filter(row => row.alias_of === id).map(row => row.id)
  if (aliases.length === 0) return
  const [verb, them] = aliases.length === 1 ? ['stands', 'it'] : ['stand', 'them']
  throw new ShoalError(
    'conflict',
    `${aliases.join(', ')} ${verb} for ${id}; remove ${them} first`,
    { param: 'model' },
  )
}

/** True for an entry that is in force because the configuration names no catalogue. */
const isShipped = ({ id, weights }: CatalogueEntry): boolean =>
  SHIPPED_CATALOGUE.some(entry => entry.id === id && entry.weights === weights)

const detailsOf = (change: ModelChange): Record<string, unknown> => {
  if (change.act === 'add') {
    const { entry, cells } = change
    return { entry: { ...entry, weights: nameWeights(entry.weights) }, cells }
  }
  return change.act === 'alias' ? { alias_of: change.aliasOf } : {}
}
