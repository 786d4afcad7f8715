import type { Format } from '../../shared/print.ts'

export type Environment = Record<string, string | undefined>

/** Flags of the program itself. */
export interface GlobalOptions {
  url?: string
  key?: string
  tenant?: string
  profile?: string
  caFile?: string
  format: Format
  version?: boolean
}
