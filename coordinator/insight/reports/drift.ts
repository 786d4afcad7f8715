import { DAY_MS, iso } from '../../../shared/time.ts'
import { type SequenceFacts, sequenceItem } from './flow-drift.ts'

export const DRIFT_CLASSES = ['LEGIT', 'CRUFT', 'PEARL', 'LIVE_SHIM'] as const
type DriftClass = (typeof DRIFT_CLASSES)[number]
export const DRIFT_KINDS = ['cell', 'model', 'configuration', 'key', 'flow', 'synergy'] as const
type DriftKind = (typeof DRIFT_KINDS)[number]

/** One thing, how it relates to what is declared, and what that follows from. */
export interface DriftItem {
  kind: DriftKind
  id: string
  class: DriftClass
  evidence: string
}

export interface DriftFacts {
  /** Enrolled cells that are not revoked. */
  cells: readonly {
    id: string
    isPresent: boolean
    isDrained: boolean
    isQuarantined: boolean
  }[]
  catalogue: readonly { id: string; isServed: boolean; requests: number }[]
  /** Models that cells offer and the catalogue lacks. */
  undeclaredModels: readonly { id: string; cellId: string; isLoaded: boolean }[]
  /** Desired settings of each cell that is present; undefined reports have not come yet. */
  configurations: readonly { cellId: string; isApplied: boolean | undefined; reason: string }[]
  /** Documents with settings: of the fleet, of tags, and of single cells. */
  documents: readonly { scope: 'fleet' | 'tag' | 'cell'; name: string; isUsed: boolean }[]
  /** Keys that open something now. */
  keys: readonly {
    id: string
    createdAt: number
    lastUsedAt: number | undefined
    expiresAt: number | undefined
  }[]
  sequences: readonly SequenceFacts[]
  now: number
}

/** Time without use after which a key counts as left behind. */
const UNUSED_DAYS = 90

/**
 * Classifies the parts of the service by their declaration and their use. LEGIT: a part is declared
 * and in use. CRUFT: a part is declared or left behind, and is missing or unused. PEARL: a part works
 * without a declaration. LIVE_SHIM: a part works by an override or a temporary measure.
 */
export const scanDrift = (facts: DriftFacts): DriftItem[] => [
  ...facts.cells.map(cellItem),
  ...facts.catalogue.map(modelItem),
  ...facts.undeclaredModels.map(toUndeclaredItem),
  ...facts.configurations.flatMap(configurationItem),
  ...facts.documents.flatMap(documentItem),
  ...facts.keys.map(key => keyItem(key, facts.now)),
  ...facts.sequences.flatMap(sequenceItem),
]

const createItem = (
  kind: DriftKind,
  id: string,
  drift: DriftClass,
  evidence: string,
): DriftItem => ({
  kind,
  id,
  class: drift,
  evidence,
})

const cellItem = ({ id, ...cell }: DriftFacts['cells'][number]): DriftItem => {
  if (cell.isQuarantined) return createItem('cell', id, 'LIVE_SHIM', 'enrolled, and in quarantine')
  if (!cell.isPresent) return createItem('cell', id, 'CRUFT', 'enrolled, and not connected')
  if (cell.isDrained)
    return createItem('cell', id, 'LIVE_SHIM', 'connected, and taken out of routing by an operator')
  return createItem('cell', id, 'LEGIT', 'enrolled and connected')
}

const modelItem = ({ id, isServed, requests }: DriftFacts['catalogue'][number]): DriftItem =>
  isServed
    ? createItem(
        'model',
        id,
        'LEGIT',
        `in the catalogue and served; ${requests} requests in 24 hours`,
      )
    : createItem(
        'model',
        id,
        'CRUFT',
        `in the catalogue, and no cell serves it; ${requests} requests`,
      )

const toUndeclaredItem = ({
  id,
  cellId,
  isLoaded,
}: DriftFacts['undeclaredModels'][number]): DriftItem =>
  isLoaded
    ? createItem('model', id, 'PEARL', `loaded on ${cellId}, and not in the catalogue`)
    : createItem('model', id, 'CRUFT', `offered by ${cellId}, not loaded, and not in the catalogue`)

/** A cell that has not reported yet is neither. */
const configurationItem = ({
  cellId,
  isApplied,
  reason,
}: DriftFacts['configurations'][number]): DriftItem[] => {
  if (isApplied === undefined) return []
  return isApplied
    ? [createItem('configuration', cellId, 'LEGIT', 'the cell applied its desired settings')]
    : [createItem('configuration', cellId, 'CRUFT', `desired settings are not in force: ${reason}`)]
}

const documentItem = ({ scope, name, isUsed }: DriftFacts['documents'][number]): DriftItem[] => {
  const id = `${scope}:${name}`
  if (!isUsed)
    return [createItem('configuration', id, 'CRUFT', 'settings that no enrolled cell has')]
  if (scope === 'cell')
    return [
      createItem('configuration', id, 'LIVE_SHIM', 'settings of one cell over those of the fleet'),
    ]
  return [createItem('configuration', id, 'LEGIT', `settings of the ${scope}, in use`)]
}

const keyItem = (key: DriftFacts['keys'][number], now: number): DriftItem => {
  const { id, createdAt, lastUsedAt, expiresAt } = key
  const unusedDays = Math.floor((now - (lastUsedAt ?? createdAt)) / DAY_MS)
  if (unusedDays > UNUSED_DAYS)
    return createItem('key', id, 'CRUFT', `valid, and not used for ${unusedDays} days`)
  if (expiresAt !== undefined)
    return createItem('key', id, 'LIVE_SHIM', `temporary, until ${iso(expiresAt)}`)
  const used = lastUsedAt === undefined ? 'not used yet' : `used ${unusedDays} days ago`
  return createItem('key', id, 'LEGIT', `valid, ${used}`)
}
