import type { Catalogue } from '../../../shared/catalogue.ts'
import type { Observation } from '../alerts/alert-rules.ts'
import type { Cell } from './cell.ts'
import type { Fleet } from './fleet.ts'
import { isPresent } from './presence.ts'

/** A model that clients may name because the catalogue has it. */
export interface PromisedModel {
  id: string
  /** True while at least one cell serves it or can load it. */
  served: boolean
}

/** Lists the models that the catalogue promises, each with whether a cell serves it now. */
export const listPromisedModels = (
  catalogue: Catalogue,
  fleet: Pick<Fleet, 'serves'>,
): PromisedModel[] => catalogue.map(({ id }) => ({ id, served: fleet.serves(id) }))

/**
 * Findings about promised models that no cell serves. `isUnsure` means that cells may be connected
 * to another coordinator, or have not come back yet.
 */
export const observeModels = function* (
  models: readonly PromisedModel[],
  cells: Iterable<Pick<Cell, 'presence'>>,
  isUnsure: boolean,
): Generator<Observation> {
  const unserved = models.filter(({ served }) => !served)
  if (unserved.length === 0) return
  const isNoneServed = unserved.length === models.length
  if (isUnsure || isNoneServed) yield { ...observation('model_unserved'), state: 'hold' }
  if (isUnsure) yield { ...observation('no_model_served'), state: 'hold' }
  else if (isNoneServed)
    yield { ...observation('no_model_served'), message: describeFleet([...cells]) }
  else
    for (const { id } of unserved)
      yield {
        ...observation('model_unserved'),
        part: id,
        message: `no cell serves ${id}, which the catalogue promises; shoal models show ${id} says why`,
      }
}

const observation = (rule: Observation['rule']): Observation => ({
  rule,
  cellId: undefined,
  part: undefined,
  state: 'bad',
  message: '',
})

const describeFleet = (cells: readonly Pick<Cell, 'presence'>[]): string => {
  const count = (test: (cell: Pick<Cell, 'presence'>) => boolean) => cells.filter(test).length
  const connected = count(({ presence }) => isPresent(presence))
  const stopped = count(({ presence }) => presence === 'stopped')
  const facts =
    cells.length === 0
      ? 'no cell is enrolled; shoal tokens create makes a join token'
      : `${connected} of ${cells.length} cells are connected, ${stopped} stopped; shoal cells list shows them`
  return `no cell serves any model of the catalogue: ${facts}`
}
