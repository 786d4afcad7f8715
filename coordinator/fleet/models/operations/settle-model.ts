import { setTimeout as pause } from 'node:timers/promises'
import { ShoalError } from '../../../../shared/errors.ts'
import { NOT_TAKEN_UP } from '../../../../shared/not-taken-up.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import { engineReports } from '../../cells/cell.ts'
import { isPresent } from '../../cells/presence.ts'
import { describeModel } from './model-view.ts'

type Standing = Pick<
  ReturnType<typeof describeModel>['cells'][number],
  'state' | 'phase' | 'reason' | 'refused' | 'memory_bytes'
>

const LOOK_MS = 200
/** Time that cells get to take up a model and to open its file. */
const LOOKS = 35
/** Looks after which a model that is not loaded counts as one that its first request loads. */
const COLD_LOOKS = 15

/**
 * Waits until the connected cells know whether they can open a model that was added, for seconds at
 * most, and takes it out again when none can.
 *
 * @throws ShoalError invalid_request
 */
export const settleModel = async (context: Context, id: string): Promise<void> => {
  for (let look = 0; look < LOOKS; look++) {
    const { cells, weights } = describeModel(context, id)
    const isFile = weights.startsWith('/')
    const verdict = judgeStandings(cells, isFile && look < COLD_LOOKS)
    if (verdict === 'kept') return
    if (verdict === 'refused') return refuse(context, id, cells)
    await pause(LOOK_MS, undefined, { signal: context.signal })
  }
}

/** @param waitsForCold true while the file of a model that is not loaded may still be looked at */
export const judgeStandings = (
  cells: readonly Standing[],
  waitsForCold: boolean,
): 'kept' | 'refused' | 'open' => {
  const connected = cells.filter(({ state, reason }) => state !== null || reason === NOT_TAKEN_UP)
  if (connected.length === 0 || connected.some(canOpen)) return 'kept'
  if (connected.every(({ refused }) => refused)) return 'refused'
  const isOpen = ({ state, phase }: Standing): boolean =>
    state === null ||
    (state === 'loading' && phase !== 'downloading') ||
    (state === 'cold' && waitsForCold)
  return connected.some(isOpen) ? 'open' : 'kept'
}

const canOpen = ({ state, memory_bytes }: Standing): boolean =>
  state === 'ready' || (state === 'cold' && memory_bytes !== null)

const refuse = async (context: Context, id: string, cells: readonly Standing[]): Promise<void> => {
  await context.models.change({ act: 'remove', id }, context.actor)
  // what they report of it now must not be taken for a report of the next try
  for (let look = 0; look < LOOKS && isReported(context, id); look++)
    await pause(LOOK_MS, undefined, { signal: context.signal })
  const reason = cells.find(({ refused }) => refused)?.reason ?? 'no reason given'
  throw new ShoalError('invalid_request', `${id} is not added, as no cell can open it: ${reason}`, {
    param: 'source',
  })
}

const isReported = ({ fleet }: Pick<Context, 'fleet'>, id: string): boolean =>
  [...fleet.cells()].some(
    cell =>
      isPresent(cell.presence) && engineReports(cell).some(({ models }) => models.includes(id)),
  )
