import type * as z from 'zod'
import { ShoalError } from '../../../shared/errors.ts'
import { createUnknownError } from '../../../shared/reference-errors.ts'
import { FIRST_CAPABILITY, NEEDS, requireLevel } from '../../../shared/wire/capability.ts'
import { DEVICE_QUESTION_PATH } from '../../../shared/wire/device-question.ts'
import { type Cell, isRoutable } from '../cells/cell.ts'
import type { Fleet } from '../cells/fleet.ts'
import { createCellUnavailableError } from './ask-cell.ts'
import { streamFromCell } from './stream-from-cell.ts'

interface DeviceQuestion<A extends z.ZodType> {
  /** Name of the question: `printer-status`. */
  name: string
  /** Body of the request, so that no part of it is in a path or a log. */
  input: object
  answer: A
  maxBytes: number
  maxSeconds: number
}

/**
 * The first item that a cell answers to a question about devices. Throws as `streamFromCell` does,
 * and `cell_unavailable` for an answer of another shape.
 */
export const askDeviceQuestion = async <A extends z.ZodType>(
  fleet: Pick<Fleet, 'cell'>,
  cellId: string,
  { name, input, answer, maxBytes, maxSeconds }: DeviceQuestion<A>,
  signal: AbortSignal,
): Promise<z.output<A>> => {
  const question = {
    path: `${DEVICE_QUESTION_PATH}${name}`,
    body: input,
    what: name,
    maxBytes,
    maxSeconds,
  }
  for await (const event of streamFromCell(fleet, cellId, question, signal)) {
    if (event.type !== 'item') continue
    const found = answer.safeParse(event.value)
    if (found.success) return found.data
    break
  }
  throw createCellUnavailableError(cellId, `did not answer ${name}`)
}

/**
 * Cell that answers a question about devices: the named one, or the only one that can.
 * @throws ShoalError not_found or conflict for a named one that cannot; cell_unavailable without
 *   any; invalid_request, with their ids, when several could answer
 */
export const chooseDeviceCell = (
  fleet: Pick<Fleet, 'cell' | 'cells'>,
  cellId: string | undefined,
  what: string,
): string => {
  if (cellId !== undefined) {
    const cell = fleet.cell(cellId)
    if (cell === undefined) throw createUnknownError('cell', cellId)
    requireLevel(cellId, levelOf(cell), NEEDS.devices, what)
    return cellId
  }
  const able = [...fleet.cells()].filter(cell => isRoutable(cell) && levelOf(cell) >= NEEDS.devices)
  const [first, ...others] = able.map(({ id }) => id).sort()
  if (first === undefined)
    throw new ShoalError('cell_unavailable', `no connected cell can answer ${what}`)
  if (others.length === 0) return first
  const named = [first, ...others].slice(0, MAX_NAMED).join(', ')
  const message = `${able.length} cells can answer ${what}; name one of them: ${named}`
  throw new ShoalError('invalid_request', message, { param: 'cell' })
}

/** Most cells that a message names. */
const MAX_NAMED = 20

const levelOf = ({ announce }: Cell): number => announce?.capability ?? FIRST_CAPABILITY
