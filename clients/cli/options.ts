import type { Format } from '../../shared/print.ts'

export type Environment = Record<string, string | undefined>

/** Flags of the program itself. */
export interface GlobalOptions {
  url?: string
  key?: string
  tenant?: string
  profile?: string
  caFile?: string
  /** `text` or `json`, or a format of the command. */
  format: string
  version?: boolean
}

/** Format of answers that are no text of their own. */
export const formatOf = ({ format }: GlobalOptions): Format => (format === 'json' ? 'json' : 'text')
