import type { SightingFacts } from '../../../discovery/sighting.ts'
import { ShoalError } from '../../../shared/errors.ts'
import { randomId } from '../../../shared/ids.ts'
import { createUnknownError } from '../../../shared/reference-errors.ts'
import { iso } from '../../../shared/time.ts'
import type { Actor } from '../../kernel/audit/audit.ts'
import { countMatchingRows } from '../../kernel/store/count.ts'
import type { RowOf } from '../../kernel/store/define-table.ts'
import { readEach } from '../../kernel/store/read-each.ts'
import type { SealedTrx } from '../../kernel/store/store.ts'
import {
  discoveryPinTable,
  findNamedTraces,
  pinnedTraces,
  pinnedValues,
  type StoredPin,
} from './discovery-pin.table.ts'
import { refreshEntities } from './entity-rows.ts'
import { type ErasureParts, eraseEntity } from './erase-entity.ts'
import { readTraces, readTracesOf, type StoredTrace } from './evidence-rows.ts'
import { StoredEvidence } from './stored-evidence.ts'

/** A decision of an operator, as it is listed. */
interface PinView {
  pin_id: string
  /** `unreadable` is damaged or of a newer version; nothing else is known of it. */
  kind: StoredPin['kind'] | 'unreadable'
  entity_id: string
  values: SightingFacts | null
  actor: string | null
  at: string | null
}

/** Most decisions that are kept; they are read with each change of the evidence. */
const MAX_PINS = 2000

/** Decisions of operators about entities. They beat all evidence and can be taken back. */
export class EntityAdmin {
  readonly #parts: ErasureParts

  constructor(parts: ErasureParts) {
    this.#parts = parts
  }

  /** Makes two entities one; returns the id of the decision. */
  merge(entityId: string, otherId: string, actor: string): Promise<string> {
    return this.#decide(entityId, actor, async trx => {
      const [one, other] = [await readOwn(trx, entityId), await readOwn(trx, otherId)]
      const traces = [founderOf(one), founderOf(other)]
      return { kind: 'together', body: { traces }, traces }
    })
  }

  /** Separates the traces of an entity that have one of the keys, such as `mac=b8:27:eb:00:00:01`. */
  split(entityId: string, keys: readonly string[], actor: string): Promise<string> {
    return this.#decide(entityId, actor, async trx => {
      const own = await readOwn(trx, entityId)
      const hasKey = (trace: StoredTrace): boolean =>
        trace.keys.some(({ kind, value }) => keys.includes(`${kind}=${value}`))
      const traces = own.filter(hasKey).map(({ id }) => id)
      const others = own.filter(trace => !hasKey(trace)).map(({ id }) => id)
      if (traces.length === 0 || others.length === 0)
        throw new ShoalError(
          'invalid_request',
          `${entityId} cannot be split by these keys: they must be on some of its sightings and not on all`,
        )
      return { kind: 'apart', body: { traces, others }, traces: [...traces, ...others] }
    })
  }

  /**
   * Takes a decision back, also one that cannot be read: the evidence decides again, around another
   * one that cannot be read as soon as that one is gone too. Throws `not_found`.
   */
  async unpin(pinId: string): Promise<void> {
    const { ledger, publish, now } = this.#parts
    await ledger.sealed.write(async trx => {
      const row = await trx
        .deleteFrom('discovery_pins')
        .where('id', '=', pinId)
        .returningAll()
        .executeTakeFirst()
      if (row === undefined) throw createUnknownError('pin', pinId)
      if (row.kind === 'values')
        return publish(trx, await refreshEntities(trx, createUntouched(row.entity_id), now()))
      const [pin] = readEach([row], discoveryPinTable.read, undefined)
      const { traces, others } = pin
        ? pinnedTraces(pin)
        : { traces: findNamedTraces(row), others: [] }
      const concerned = await readTraces(trx, [...traces, ...others])
      const entityIds = concerned.flatMap(({ entityId }) => entityId ?? [])
      const all = await readTracesOf(trx, [row.entity_id, ...entityIds])
      return this.#regroup(
        trx,
        all.map(({ id }) => id),
        { mayHold: true },
      )
    })
  }

  /** Sets values of an entity that win over every source; null lets a value go. */
  async setValues(
    entityId: string,
    values: Readonly<Record<string, string | null>>,
    actor: string,
  ): Promise<string> {
    const { ledger, publish, now } = this.#parts
    return ledger.sealed.write(async trx => {
      await readOwn(trx, entityId)
      const known = trx.selectFrom('discovery_pins').selectAll().where('kind', '=', 'values')
      const old = await known.where('entity_id', '=', entityId).executeTakeFirst()
      const all = { ...(old && pinnedValues(discoveryPinTable.read(old))), ...values }
      const kept = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== null))
      const id = old?.id ?? `pin_${randomId()}`
      await trx.deleteFrom('discovery_pins').where('id', '=', id).execute()
      await this.#addPin(trx, { id, kind: 'values', entityId, body: kept, actor })
      await publish(trx, await refreshEntities(trx, createUntouched(entityId), now()))
      return id
    })
  }

  /** Deletes everything that is known of an entity; see `eraseEntity`. */
  erase(entityId: string, by: Actor): Promise<void> {
    return eraseEntity(this.#parts, entityId, by)
  }

  /** Decisions, the newest first, also those that cannot be read. */
  async listPins(limit: number): Promise<PinView[]> {
    const query = this.#parts.ledger.read.selectFrom('discovery_pins').selectAll()
    const rows = await query.orderBy('at', 'desc').orderBy('id').limit(limit).execute()
    return rows.map(row => {
      const [pin] = readEach([row], discoveryPinTable.read, this.#parts.logger)
      return pin === undefined ? viewUnreadable(row) : viewPin(pin)
    })
  }

  #decide(
    entityId: string,
    actor: string,
    plan: (trx: SealedTrx) => Promise<{
      kind: 'together' | 'apart'
      body: StoredPin['body']
      traces: readonly string[]
    }>,
  ): Promise<string> {
    return this.#parts.ledger.sealed.write(async trx => {
      const { kind, body, traces } = await plan(trx)
      const id = `pin_${randomId()}`
      await this.#addPin(trx, { id, kind, entityId, body, actor })
      await this.#regroup(trx, traces)
      return id
    })
  }

  async #addPin(trx: SealedTrx, pin: Omit<StoredPin, 'at'>): Promise<void> {
    if ((await countMatchingRows(trx.selectFrom('discovery_pins'))) >= MAX_PINS)
      throw new ShoalError('conflict', `${MAX_PINS} pins are kept; remove some of them first`)
    await trx
      .insertInto('discovery_pins')
      .values(discoveryPinTable.write({ ...pin, at: this.#parts.now() }))
      .execute()
  }

  async #regroup(
    trx: SealedTrx,
    traceIds: readonly string[],
    { mayHold = false } = {},
  ): Promise<void> {
    const { publish, pseudonyms, now } = this.#parts
    const evidence = new StoredEvidence(trx, pseudonyms)
    const moves = await evidence.regroup(traceIds)
    if (evidence.isCut)
      throw new ShoalError('conflict', 'too many sightings are connected with these entities')
    if (evidence.hold !== undefined && !mayHold) throw new ShoalError('conflict', evidence.hold)
    const at = now()
    const alarms = await evidence.save(at)
    const ids = new Set(moves.flatMap(({ from, to }) => (from === undefined ? [to] : [from, to])))
    await publish(trx, await refreshEntities(trx, { ids, seen: new Set(), moves }, at), alarms)
  }
}

const viewPin = (pin: StoredPin): PinView => ({
  pin_id: pin.id,
  kind: pin.kind,
  entity_id: pin.entityId,
  values: pin.kind === 'values' ? pinnedValues(pin) : null,
  actor: pin.actor,
  at: iso(pin.at),
})

const viewUnreadable = ({ id, entity_id }: RowOf<typeof discoveryPinTable>): PinView => ({
  ...{ pin_id: id, kind: 'unreadable', entity_id },
  ...{ values: null, actor: null, at: null },
})

const createUntouched = (entityId: string) => ({
  ids: new Set([entityId]),
  seen: new Set<string>(),
  moves: [],
})

const readOwn = async (trx: SealedTrx, entityId: string): Promise<StoredTrace[]> => {
  const traces = await readTracesOf(trx, [entityId])
  if (traces.length === 0) throw createUnknownError('entity', entityId)
  return traces
}

const founderOf = (traces: readonly StoredTrace[]): string =>
  (traces.find(({ entityId, foundedId }) => entityId === foundedId) ?? traces[0])?.id ?? ''
