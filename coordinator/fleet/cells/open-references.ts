import type { ResolveReferences } from '../../calls/invoke/resolve-references.ts'
import { resolveCells } from './resolve-cells.ts'

interface OpenReferences {
  resolveReferences: ResolveReferences
}

/** How calls find the cells that their input names. */
export const openReferences = (): OpenReferences => ({ resolveReferences: resolveCells })
