import { ShoalError } from '../../../shared/errors.ts'
import type { HostProbe } from '../../../shared/probes/probe.ts'
import { systemRuntime } from '../../../shared/runtime.ts'
import {
  HOST_DATA_MAX_BYTES,
  HOST_PROBE_PATH,
  HOST_PROBE_SECONDS,
  HostProbeAnswer,
} from '../../../shared/wire/host-probe.ts'
import type { Fleet } from '../cells/fleet.ts'
import { askCell, createCellUnavailableError } from './ask-cell.ts'

/** Bytes of an answer around its data. */
const FRAME_BYTES = 4096

/**
 * The answer of a host probe of a cell, over its link. For a daemon that does not know the probe it
 * is not available. Throws `not_found` for a cell that is not enrolled, `invalid_request` for input
 * that the cell refuses, `cell_unavailable` for one that is away, busy, late or answers nonsense.
 */
export const askForProbe = async (
  fleet: Pick<Fleet, 'cell'>,
  cellId: string,
  { id }: HostProbe,
  input: object,
  signal: AbortSignal,
): Promise<HostProbeAnswer> => {
  const query = new URLSearchParams({ input: JSON.stringify(input) })
  const { status, text } = await askCell(
    fleet,
    cellId,
    {
      path: `${HOST_PROBE_PATH}${id}?${query}`,
      what: `host probe ${id}`,
      maxBytes: HOST_DATA_MAX_BYTES + FRAME_BYTES,
      maxSeconds: HOST_PROBE_SECONDS,
    },
    signal,
  )
  if (status === 404) return createTooOldAnswer(id)
  if (status === 429) throw createCellUnavailableError(cellId, 'is running too many host probes')
  if (status === 422)
    throw new ShoalError('invalid_request', `cell ${cellId} does not accept this input for ${id}`)
  if (status !== 200) throw createCellUnavailableError(cellId, `answered ${status}`)
  return readAnswer(cellId, text)
}

const createTooOldAnswer = (id: string): HostProbeAnswer => ({
  available: false,
  reason: `the daemon of this cell is too old for host probe ${id}`,
  taken_at: systemRuntime.now(),
  data: null,
})

const readAnswer = (cellId: string, text: string): HostProbeAnswer => {
  try {
    return HostProbeAnswer.parse(JSON.parse(text))
  } catch (cause) {
    throw createCellUnavailableError(cellId, 'sent an invalid answer to a host probe', cause)
  }
}
