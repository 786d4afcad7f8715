import { ShoalError } from '../../../../shared/errors.ts'
import { lookUntil } from '../../../../shared/look-until.ts'
import { NOT_TAKEN_UP } from '../../../../shared/not-taken-up.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import { engineReports } from '../../cells/cell.ts'
import type { FleetViews } from '../../cells/open.ts'
import { isPresent } from '../../cells/presence.ts'
import type { ModelViews } from '../open.ts'
import { describeModel } from './model-view.ts'

type Standing = Pick<
  ReturnType<typeof describeModel>['cells'][number],
  'state' | 'phase' | 'reason' | 'refused' | 'memory_bytes'
>

const LOOK_MS = 200
/** Time that cells get to take up a model and to open its file. */
const SETTLE_MS = 7000
/** Time after which a model that is not loaded counts as one that its first request loads. */
const COLD_MS = 3000

/**
 * Waits until the connected cells know whether they can open a model that was added, for seconds at
 * most, and takes it out again when none can.
 *
 * @throws ShoalError invalid_request
 */
export const settleModel = async (
  context: Context & FleetViews & ModelViews,
  id: string,
): Promise<void> => {
  const look = async (waitedMs: number) => {
    const { cells, weights } = describeModel(context, id)
    const isFile = weights.startsWith('/')
    const verdict = judgeStandings(cells, isFile && waitedMs < COLD_MS)
    return verdict === 'open' ? undefined : { verdict, cells }
  }
  const settled = await lookWithin(context, look)
  if (settled?.verdict === 'refused') await refuse(context, id, settled.cells)
}

/** @throws the reason of the signal when the caller has left */
const lookWithin = async <T>(
  { signal, runtime }: Pick<Context, 'signal' | 'runtime'>,
  look: (waitedMs: number) => Promise<T | undefined>,
): Promise<T | undefined> => {
  const answer = await lookUntil(look, { everyMs: LOOK_MS, timeoutMs: SETTLE_MS, signal, runtime })
  if (answer === undefined) signal.throwIfAborted()
  return answer
}

/** @param waitsForCold true while the file of a model that is not loaded may still be looked at */
const judgeStandings = (
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

const refuse = async (
  context: Context & FleetViews & ModelViews,
  id: string,
  cells: readonly Standing[],
): Promise<void> => {
  await context.models.change({ act: 'remove', id }, context.actor)
  // what they report of it now must not be taken for a report of the next try
  await lookWithin(context, async () => (isReported(context, id) ? undefined : 'forgotten'))
  const reason = cells.find(({ refused }) => refused)?.reason ?? 'no reason given'
  throw new ShoalError('invalid_request', `${id} is not added, as no cell can open it: ${reason}`, {
    param: 'source',
  })
}

const isReported = ({ fleet }: Pick<FleetViews, 'fleet'>, id: string): boolean =>
  [...fleet.cells()].some(
    cell =>
      isPresent(cell.presence) && engineReports(cell).some(({ models }) => models.includes(id)),
  )
