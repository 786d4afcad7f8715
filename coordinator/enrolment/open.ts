import type { Actor } from '../audit/audit.ts'
import type { Base } from '../base/base.ts'
import { followChanges } from '../base/follow-changes.ts'
import { Listeners } from '../base/listeners.ts'
import type { Events } from '../events/bus.ts'
import type { Fleet } from '../fleet/fleet.ts'
import type { Owner, Router } from '../fleet/router.ts'
import type { SigningKey } from '../signing/signing.ts'
import type { SealedTrx, Store } from '../store/store.ts'
import { CellAdmission } from './admission.ts'
import { type CellSettingsStore, createCellSettings } from './cell-settings.ts'
import { Cells } from './cells.ts'
import { createClones } from './clones.ts'
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
interface EnrolmentViews {
  cells: Pick<Cells, 'list' | 'get' | 'revoke' | 'release'>
  settings: CellSettingsStore
  tokens: {
    create(token: NewToken, by: Actor): Promise<IssuedToken>
    /** Creates a token in the transaction that uses an approval. */
    createWithin(trx: SealedTrx, token: NewToken, by: Actor): Promise<IssuedToken>
    /** Lists the tokens, oldest first. */
    list(): Promise<JoinToken[]>
    /** Revokes a token; cells that joined with it stay. Throws `not_found`. */
    revoke(id: string, by: Actor): Promise<JoinToken>
  }
}

interface EnrolmentParts extends Pick<Base, 'stack' | 'logger' | 'now' | 'nowMs'> {
  store: Store
  signing: Pick<SigningKey, 'publicKey'>
  events: Pick<Events, 'publish'>
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
  const { store, signing, events, fleet, router, stack, logger, now, nowMs } = parts
  const cells = new Cells({ store, logger, now })
  stack.defer(() => cells.close())
  const settings = createCellSettings(store, now)
  const epochs = createEpochs({
    noteEpoch: (cellId, epoch) => cells.noteEpoch(cellId, epoch),
    logger,
  })
  stack.defer(() => epochs.flush())

  const enrolled = await cells.list()
  for (const cell of enrolled)
    if ((cell.revokedAt ?? cell.quarantinedAt) === undefined) fleet.admit(cell.id, cell.epoch)
  const apply = () => applySettings(settings, fleet, router)
  await apply()

  const dropped = new Listeners<[cellId: string]>()
  const admission = new CellAdmission({
    cells,
    enrolled,
    fleet,
    clones: createClones(nowMs),
    drop: cellId => {
      fleet.forget(cellId)
      dropped.notify(cellId)
    },
    signing,
    events,
    logger,
  })
  const follow = async (): Promise<void> => {
    await admission.dropEnded()
    await apply()
  }
  const report = (error: Error): void =>
    logger.error({ err: error }, 'changes of cells could not be read')
  stack.defer(cells.onChange(followChanges(follow, report)))
  const release: Cells['release'] = async (cellId, by) => {
    const cell = await admission.release(cellId, by)
    await apply()
    return cell
  }
  return {
    cells,
    admission,
    onDropped: dropped.add,
    epochs,
    views: {
      cells: {
        list: () => cells.list(),
        get: cellId => cells.get(cellId),
        revoke: (cellId, by) => admission.revoke(cellId, by),
        release,
      },
      settings: { ...settings, ...createSetters(settings, fleet, apply) },
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
  for (const cell of fleet.cells()) fleet.drain(cell.id, own.get(cell.id)?.drainedAt !== undefined)
  const owners = new Map<string, Owner>()
  for (const [cellId, { owner }] of own) if (owner !== undefined) owners.set(cellId, owner)
  router.assign(owners)
}

/** Settings that take effect in this process as soon as they are stored. */
const createSetters = (
  settings: CellSettingsStore,
  fleet: Fleet,
  apply: () => Promise<void>,
): Pick<CellSettingsStore, 'setDrained' | 'setOwner'> => ({
  setDrained: async (cellId, drained, by) => {
    const changed = await settings.setDrained(cellId, drained, by)
    fleet.drain(cellId, drained)
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
  now: () => number = Date.now,
): EnrolmentViews['tokens'] => ({
  create: (token, by) => createToken(ledger, token, by, now()),
  createWithin: (trx, token, by) => addToken(trx, token, by, now()),
  list: () => listTokens(ledger),
  revoke: (id, by) => revokeToken(ledger, id, by, now()),
})
