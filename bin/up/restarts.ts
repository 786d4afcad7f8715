import { backOffMs } from '../../shared/back-off.ts'

/** A child that ran this long was sound: its next pause is the shortest. */
export const SOUND_MS = 30_000

/** Pause before restart n (from 0): 250 ms, 500 ms, 1 s … at most 10 s. */
export const restartMs = (restart: number): number =>
  backOffMs({ firstMs: 250, maxMs: 10_000 }, restart)

/** Codes of sysexits.h that another try does not change: usage, data, port, files, access, configuration. */
const FINAL = [64, 65, 69, 73, 74, 77, 78]

/** True when a child that was never ready ended with a code that only a person can do something about. */
export const isPermanentFailure = (code: number | null): boolean =>
  code !== null && FINAL.includes(code)
