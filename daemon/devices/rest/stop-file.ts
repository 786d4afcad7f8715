import { join } from 'node:path'
import * as z from 'zod'
import { readPrivate, replacePrivate } from '../../../shared/private-file.ts'
import { EstopBehaviour, MAX_DEVICES } from '../../../shared/wire/device.ts'
import { encodeLine, parseLine } from '../../checked-line.ts'

/** A stop whose device was not seen at rest, as it outlives the daemon. */
const StoredStop = z.strictObject({
  device_id: z.string().max(64),
  behaviour: EstopBehaviour,
  /** Reason of the stop, for people. */
  reason: z.string().max(500),
  /** Time of the first order, in unix milliseconds. */
  since: z.int().nonnegative(),
  /** The stop may not have reached the device; absent once the device has heard it. */
  is_unsent: z.literal(true).exactOptional(),
  /** The cell gave the stop by itself; absent for the stop of a person. */
  is_own: z.literal(true).exactOptional(),
})
type StoredStop = z.infer<typeof StoredStop>

const StoredStops = z.strictObject({ stops: z.array(StoredStop).max(MAX_DEVICES) })

/** File of the stops that are not confirmed; tests substitute a failing disk. */
export interface StopFile {
  /** Reads the whole file; undefined when it does not exist. */
  read(): Promise<string | undefined>
  /** Replaces the file in one step; it is on the disk when this resolves. */
  replace(text: string): Promise<void>
}

export const openStopFile = (stateDir: string): StopFile => {
  const path = join(stateDir, 'unconfirmed-stops')
  return { read: () => readPrivate(path), replace: text => replacePrivate(path, text) }
}

export const encodeStops = (stops: readonly StoredStop[]): string => encodeLine({ stops })

/** Decodes the text of the file; undefined when it is damaged. */
export const decodeStops = (text: string): readonly StoredStop[] | undefined => {
  try {
    return StoredStops.safeParse(parseLine(text.trimEnd())).data?.stops
  } catch {
    return undefined
  }
}
