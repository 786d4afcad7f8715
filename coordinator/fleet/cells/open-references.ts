import type { ResolveReferences } from '../../calls/invoke/resolve-references.ts'
import type { CellNames } from './named-cells.ts'
import { createResolveCells } from './resolve-cells.ts'

interface OpenReferences {
  resolveReferences: ResolveReferences
}

/** How calls find the cells that their input names. */
export const openReferences = ({ cells, fleet }: CellNames): OpenReferences => ({
  resolveReferences: createResolveCells({ cells, fleet }),
})
