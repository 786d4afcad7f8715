import { ShoalError } from '../../../shared/errors.ts'
import { createUnknownError } from '../../../shared/reference-errors.ts'
import { FIRST_CAPABILITY, NEEDS, requireLevel } from '../../../shared/wire/capability.ts'
import { type Cell, isRoutable } from '../../fleet/cells/cell.ts'
import type { Fleet } from '../../fleet/cells/fleet.ts'

/**
 * Cells that run a module: the named one, or every connected one that knows modules.
 * @throws ShoalError not_found or conflict for a named cell that cannot; cell_unavailable without any
 */
export const chooseCells = (
  fleet: Pick<Fleet, 'cell' | 'cells'>,
  cellId: string | undefined,
  moduleId: string,
): string[] => {
  const what = `module ${moduleId}`
  if (cellId !== undefined) {
    const cell = fleet.cell(cellId)
    if (cell === undefined) throw createUnknownError('cell', cellId)
    requireLevel(cellId, levelOf(cell), NEEDS.discovery, what)
    return [cellId]
  }
  const able = [...fleet.cells()]
    .filter(cell => isRoutable(cell) && levelOf(cell) >= NEEDS.discovery)
    .map(({ id }) => id)
  if (able.length > 0) return able.sort()
  throw new ShoalError('cell_unavailable', `no connected cell can run ${what}`)
}

const levelOf = ({ announce }: Cell): number => announce?.capability ?? FIRST_CAPABILITY
