import { callAfterBy } from '../../../shared/runtime.ts'
import type { Actor } from '../../kernel/audit/audit.ts'
import type { Base } from '../../kernel/base/base.ts'
import { followChanges } from '../../kernel/base/follow-changes.ts'
import { Listeners } from '../../kernel/base/listeners.ts'
import { shareRuns } from '../../kernel/base/share-runs.ts'
import type { Events } from '../../kernel/events/bus.ts'
import type { Replicas } from '../../kernel/replicas/replicas.ts'
import type { SigningKey } from '../../kernel/signing/signing.ts'
import type { SealedTrx, Store } from '../../kernel/store/store.ts'
import type { Fleet } from '../cells/fleet.ts'
import type { Owner, Router } from '../routing/router.ts'
import { CellAdmission } from './admission.ts'
import { type CellSettingsStore, createCellSettings } from './cell-settings.ts'
import { CellStarts, COMPARE_STARTS_SECONDS } from './cell-starts.ts'
import { Cells } from './cells.ts'
import { createClones } from './clones.ts'
import { ConnectLimit } from './connect-limit.ts'
import { createEpochs, type Epochs } from './epochs.ts'
import {
  addToken,
  createToken,
  type IssuedToken,
  type JoinToken,
  listTokens,
  type NewToken,
  revokeToken,
} from './join-tokens.ts'

/** Enrolled cells, their settings by operators, and join tokens. */
export interface EnrolmentViews {
  cells: Pick<Cells, 'list' | 'listNamed' | 'get' | 'revoke' | 'release'>
  settings: CellSettingsStore
  tokens: {
    create(token: NewToken, by: Actor): Promise<IssuedToken>
    /** Creates a token in the transaction that uses an approval. */
    createWithin(trx: SealedTrx, token: NewToken, by: Actor): Promise<IssuedToken>
    /** Lists the tokens of a tenant, oldest first. */
    list(tenantId: string): Promise<JoinToken[]>
    /** Revokes a token of a tenant; cells that joined with it stay. Throws `not_found`. */
    revoke(token: { id: string; tenantId: string }, by: Actor): Promise<JoinToken>
  }
}

interface EnrolmentParts
  extends Pick<Base, 'stack' | 'schedules' | 'logger' | 'now' | 'nowMs' | 'runtime'> {
  config: { presence: { suspect_after_seconds: number } }
  store: Store
  replicas: Pick<Replicas, 'live' | 'owns'>
  signing: Pick<SigningKey, 'publicKey'>
  events: Pick<Events, 'addWithin'>
  fleet: Fleet
  router: Pick<Router, 'assign'>
}

export interface OpenEnrolment {
  cells: Cells
  admission: CellAdmission
  /** Reports every cell whose connections must end. */
  onDropped(listener: (cellId: string) => void): () => void
  epochs: Epochs
  views: EnrolmentViews
}

export const openEnrolment = async (parts: EnrolmentParts): Promise<OpenEnrolment> => {
  const { config, store, replicas, signing, events, fleet, router } = parts
  const { stack, schedules, logger, now, nowMs, runtime } = parts
  const cells = new Cells({ store, logger, addEvents: events.addWithin, now, runtime })
  stack.defer(() => cells.close())
  const settings = createCellSettings(store, now, logger)
  const epochs = createEpochs({
    noteEpoch: (cellId, epoch) => cells.noteEpoch(cellId, epoch),
    logger,
    callAfter: callAfterBy(runtime),
  })
  stack.defer(() => epochs.flush())

  const enrolled = await cells.list()
  for (const cell of enrolled)
    if ((cell.revokedAt ?? cell.quarantinedAt) === undefined) fleet.admit(cell.id, cell.epoch)
  const apply = shareRuns(() => applySettings(settings, fleet, router))
  await apply()

  const starts = new CellStarts({
    ledger: store.ledger,
    replicas,
    fleet,
    silenceMs: config.presence.suspect_after_seconds * 1000,
    onClone: cellId => admission.noteClone(cellId),
    nowMs,
  })
  schedules.every('cells.starts', COMPARE_STARTS_SECONDS, () => starts.compare())
  const dropped = new Listeners<[cellId: string]>()
  const admission = new CellAdmission({
    cells,
    enrolled,
    fleet,
    clones: createClones(nowMs),
    starts,
    connects: new ConnectLimit(nowMs),
    drop: cellId => {
      fleet.forget(cellId)
      starts.forget(cellId)
      dropped.notify(cellId)
    },
    signing,
    logger,
  })
  const follow = async (): Promise<void> => {
    await admission.followOthers()
    await apply()
  }
  const changes = followChanges({
    subscribe: listener => cells.onChange(listener),
    read: follow,
    onFailure: error => logger.error({ err: error }, 'changes of cells could not be read'),
    runtime,
  })
  stack.defer(changes.close)
  return {
    cells,
    admission,
    onDropped: dropped.add,
    epochs,
    views: {
      cells: {
        list: () => cells.list(),
        listNamed: names => cells.listNamed(names),
        get: cellId => cells.get(cellId),
        revoke: (cellId, by) => admission.revoke(cellId, by),
        release: (cellId, by) => admission.release(cellId, by),
      },
      settings: { ...settings, ...createSetters(settings, apply) },
      tokens: createTokenViews(store, now),
    },
  }
}

/** Applies the operators' settings, at the start and after changes of another process. */
const applySettings = async (
  settings: CellSettingsStore,
  fleet: Fleet,
  router: Pick<Router, 'assign'>,
): Promise<void> => {
  const own = await settings.list()
  const owners = new Map<string, Owner>()
  for (const [cellId, { drainedAt, owner }] of own) {
    fleet.drain(cellId, drainedAt !== undefined)
    if (owner !== undefined) owners.set(cellId, owner)
  }
  router.assign(owners)
}

/** Settings that take effect in this process as soon as they are stored. */
const createSetters = (
  settings: CellSettingsStore,
  apply: () => Promise<void>,
): Pick<CellSettingsStore, 'setDrained' | 'setOwner'> => ({
  setDrained: async (cellId, drained, by) => {
    const changed = await settings.setDrained(cellId, drained, by)
    await apply()
    return changed
  },
  setOwner: async (cellId, owner, by) => {
    const changed = await settings.setOwner(cellId, owner, by)
    await apply()
    return changed
  },
})

export const createTokenViews = (
  { ledger }: Store,
  now: () => number,
): EnrolmentViews['tokens'] => ({
  create: (token, by) => createToken(ledger, token, by, now()),
  createWithin: (trx, token, by) => addToken(trx, token, by, now()),
  list: tenantId => listTokens(ledger, tenantId),
  revoke: (token, by) => revokeToken(ledger, token, by, now()),
})
