import { join } from 'node:path'
import * as z from 'zod'
import { readPrivate, replacePrivate } from '../../shared/private-file.ts'
import { ESTOP_ID, LatchedStop, MAX_STOPS, ReleasedStop } from '../../shared/wire/estop.ts'
import { encodeLine, parseLine } from '../checked-line.ts'

/** A stop as the latch keeps it; which devices failed is known only while the daemon runs. */
const KeptStop = LatchedStop.omit({ failed: true })
export type KeptStop = z.infer<typeof KeptStop>

const LatchState = z.strictObject({
  /** Version of the newest document of the coordinator that was applied; 0 before the first. */
  version: z.int().nonnegative(),
  stops: z.array(KeptStop).max(MAX_STOPS),
  /** Stops released on this machine that no document of the coordinator has named yet. */
  released: z.array(ReleasedStop).max(MAX_STOPS),
  /** Newest stops that documents have ended: they never come back, whichever document names them. */
  ended: z.array(z.string().regex(ESTOP_ID)).max(MAX_STOPS),
})
export type LatchState = z.infer<typeof LatchState>

/** File of the latch; tests substitute a failing disk. */
export interface LatchFile {
  /** Reads the whole file; undefined when it does not exist. */
  read(): Promise<string | undefined>
  /** Replaces the file in one step; it is on the disk when this resolves. */
  replace(text: string): Promise<void>
}

export const LATCH_FILE = 'estop.latch'

export const openLatchFile = (stateDir: string): LatchFile => {
  const path = join(stateDir, LATCH_FILE)
  return { read: () => readPrivate(path), replace: text => replacePrivate(path, text) }
}

export const encodeLatch = (state: LatchState): string => encodeLine(state)

/** Decodes the text of the file; undefined when it is damaged. */
export const decodeLatch = (text: string): LatchState | undefined => {
  try {
    return LatchState.safeParse(parseLine(text.trimEnd())).data
  } catch {
    return undefined
  }
}
