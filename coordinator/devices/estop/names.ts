import type { Cell } from '../../fleet/cells/cell.ts'
import type { Stop } from './estop.table.ts'

type KnownCell = Pick<Cell, 'id' | 'announce'>

/** Name of what a stop holds, beside its id; null where its target is a name, or nothing known. */
export const nameTarget = (
  { scope, target }: Pick<Stop, 'scope' | 'target'>,
  cells: Iterable<KnownCell>,
): string | null => {
  if (target === undefined || scope === 'site' || scope === 'all') return null
  const names = [...cells].flatMap(cell =>
    scope === 'cell'
      ? cell.id === target
        ? (cell.announce?.name ?? [])
        : []
      : (nameDevice(target, cell) ?? []),
  )
  return names[0] ?? null
}

export const nameDevice = (deviceId: string, { announce }: KnownCell): string | undefined =>
  announce?.devices?.find(one => one.device_id === deviceId)?.name

/** Name and id for people: `rover-1 (dev_…)`. */
export const describeNamed = (id: string, name: string | null | undefined): string =>
  name == null || name === id ? id : `${name} (${id})`
