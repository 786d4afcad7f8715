import { ShoalError } from '../../shared/errors.ts'
import type { HostProbe } from '../../shared/probes/probe.ts'
import {
  HOST_DATA_MAX_BYTES,
  HOST_PROBE_PATH,
  HOST_PROBE_SECONDS,
  HostProbeAnswer,
} from '../../shared/wire/host-probe.ts'
import { askCell, unavailable } from './ask-cell.ts'
import type { Fleet } from './fleet.ts'

/** What stands around the data. */
const FRAME_BYTES = 4096

/**
 * What a host probe of a cell tells, over its link. A daemon that does not know the probe answers
 * that it is not available. Throws `not_found` for a cell nobody enrolled, `invalid_request` for
 * what the cell refuses, `cell_unavailable` for one that is away, busy, late or answers nonsense.
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
      what: `host probe ${id} within ${HOST_PROBE_SECONDS} s`,
      maxBytes: HOST_DATA_MAX_BYTES + FRAME_BYTES,
    },
    AbortSignal.any([signal, AbortSignal.timeout(HOST_PROBE_SECONDS * 1000)]),
  )
  if (status === 404) return tooOld(id)
  if (status === 429) throw unavailable(cellId, 'has too many host probes to do')
  if (status === 422)
    throw new ShoalError('invalid_request', `cell ${cellId} takes other input for ${id}`)
  if (status !== 200) throw unavailable(cellId, `answered ${status}`)
  return readAnswer(cellId, text)
}

const tooOld = (id: string): HostProbeAnswer => ({
  available: false,
  reason: `the daemon of this cell is too old for host probe ${id}`,
  taken_at: Date.now(),
  data: null,
})

const readAnswer = (cellId: string, text: string): HostProbeAnswer => {
  try {
    return HostProbeAnswer.parse(JSON.parse(text))
  } catch (cause) {
    throw unavailable(cellId, 'answered what is no answer of a host probe', cause)
  }
}
