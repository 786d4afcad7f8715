import { newId } from '../../shared/ids.ts'
import type { KeptStop } from './latch-file.ts'

/** Order of a person on the machine, or of the daemon itself. */
export interface LocalOrder {
  /** Device that is stopped; every device of the cell when absent. */
  deviceId?: string | undefined
  reason: string
  by: string
}

/**
 * Creates a stop that was engaged on the machine. One for the whole cell has scope `all`: the
 * machine need not have an identity, and a local stop never reaches beyond its cell.
 */
export const createLocalStop = ({ deviceId, reason, by }: LocalOrder, now: number): KeptStop => ({
  estop_id: newId('est', now),
  scope: deviceId === undefined ? 'all' : 'device',
  target: deviceId ?? null,
  engaged_at: now,
  engaged_by: by.slice(0, 128),
  reason: reason.slice(0, 300),
  is_local: true,
})
