import type { Observation } from '../../fleet/alerts/alert-rules.ts'
import type { RefusedDevice } from '../../fleet/broker/admit-devices.ts'
import type { Cell } from '../../fleet/cells/cell.ts'
import { isPresent } from '../../fleet/cells/presence.ts'
import type { DeviceInventory } from './device-inventory.ts'

interface Parts {
  cells: Iterable<Pick<Cell, 'id' | 'presence' | 'announce'>>
  inventory: Pick<DeviceInventory, 'get'>
  /** Devices that the newest birth of a cell was refused. */
  refused: ReadonlyMap<string, readonly RefusedDevice[]>
}

/** Devices that a message names at most. */
const MAX_NAMED = 5

/** Findings about connected cells that announce what is not a device of theirs. */
export const observeRefused = function* ({
  cells,
  inventory,
  refused,
}: Parts): Generator<Observation> {
  for (const cell of cells) {
    if (!isPresent(cell.presence)) continue
    const all = [...(refused.get(cell.id) ?? []), ...listForeign(cell, inventory)]
    if (all.length === 0) continue
    const named = all.slice(0, MAX_NAMED).map(({ name, reason }) => `${name}: ${reason}`)
    const more = all.length > named.length ? `; and ${all.length - named.length} more` : ''
    yield {
      rule: 'device_refused',
      cellId: cell.id,
      part: undefined,
      state: 'bad',
      message: `devices of the cell are refused: ${named.join('; ')}${more}`.slice(0, 500),
    }
  }
}

/** Devices that the cell announces and that the inventory has for others only. */
const listForeign = (
  { id: cellId, announce }: Pick<Cell, 'id' | 'announce'>,
  inventory: Parts['inventory'],
): RefusedDevice[] =>
  (announce?.devices ?? []).flatMap(({ device_id, name }) => {
    const known = inventory.get(device_id)
    if (known === undefined || known.cellId === cellId || known.alsoOn.includes(cellId)) return []
    return [
      { name: JSON.stringify(name), reason: `its id ${device_id} was made by ${known.cellId}` },
    ]
  })
