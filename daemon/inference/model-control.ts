import { ShoalError } from '../../shared/errors.ts'
import type { ModelFacts } from '../../shared/wire/model-facts.ts'
import type { ModelStanding } from '../../shared/wire/model-standing.ts'
import type { Clock } from './clock.ts'
import { describeModel } from './describe-model.ts'
import type { Engine } from './engine.ts'
import type { Engines } from './engines.ts'
import type { Pins } from './pins.ts'

/**
 * Operations on one model of a cell, all idempotent. They throw ShoalError model_not_found for a
 * model that is not in the cell's catalogue.
 */
export interface ModelControl {
  /** Begins to load it; answers when it is loaded, or soon. */
  load(model: string): Promise<ModelStanding>
  /** @throws ShoalError conflict while it is pinned or answers requests */
  unload(model: string): Promise<ModelStanding>
  /**
   * Loads a model and keeps it loaded, over restarts too.
   *
   * @throws ShoalError store_unavailable when that cannot be written down, as `unpin` does
   */
  pin(model: string): Promise<ModelStanding>
  unpin(model: string): Promise<ModelStanding>
  /** Downloads the weights without loading them; answers when they are there, or soon. */
  pull(model: string): Promise<ModelStanding>
  /** Forgets the pins of models that the cell does not have any more. */
  forgetPins(models: ReadonlySet<string>): Promise<void>
  /** @throws ShoalError conflict while the weights are not on the disk or cannot be read */
  facts(model: string): Promise<ModelFacts>
}

/**
 * Time to wait before answering: a small model is loaded by then, and the answer shows its state.
 */
const LOOK_MS = 2000

interface ModelControlParts {
  engines: Pick<Engines, 'engine' | 'pin'>
  pins: Pins
  clock: Clock
}

export const createModelControl = ({ engines, pins, clock }: ModelControlParts): ModelControl => {
  const find = (model: string): Engine => {
    const engine = engines.engine(model)
    if (engine !== undefined) return engine
    throw new ShoalError('model_not_found', `this cell has no model ${model}`)
  }
  const waitBriefly = (done: Promise<void>): Promise<void> =>
    new Promise(resolve => {
      const callOff = clock.callAfter(LOOK_MS, resolve)
      void done.finally(() => {
        callOff()
        resolve()
      })
    })
  const load = async (model: string): Promise<ModelStanding> => {
    await waitBriefly(find(model).load())
    return describeStanding(model, find(model))
  }
  let last: Promise<unknown> = Promise.resolve()
  /** Changes pins one at a time, as concurrent writes would overwrite each other. */
  const changePins = (change: (before: ReadonlySet<string>) => Set<string>): Promise<void> => {
    const done = last.then(async () => {
      const before = await pins.read()
      const after = change(before)
      if (before.size !== after.size) await pins.write(after)
      engines.pin(after)
    })
    last = done.catch(() => {})
    return done
  }
  const setPinned = (model: string, pinned: boolean): Promise<void> =>
    changePins(before => {
      find(model)
      return pinned ? new Set(before).add(model) : new Set([...before].filter(id => id !== model))
    })
  return {
    load,
    unload: async model => {
      const engine = find(model)
      if (engine.pinned) throw new ShoalError('conflict', `${model} is pinned; unpin it first`)
      engine.unload()
      return describeStanding(model, engine)
    },
    pin: async model => {
      await setPinned(model, true)
      return load(model)
    },
    unpin: async model => {
      await setPinned(model, false)
      return describeStanding(model, find(model))
    },
    forgetPins: models => changePins(before => new Set([...before].filter(id => models.has(id)))),
    pull: async model => {
      await waitBriefly(find(model).pull())
      return describeStanding(model, find(model))
    },
    facts: async model => describeModel(find(model)),
  }
}

const describeStanding = (model: string, engine: Engine): ModelStanding => {
  const { state, phase, progress_percent, remaining_seconds, reason } = engine.report()
  return {
    model,
    state,
    pinned: engine.pinned,
    ...(phase !== undefined && { phase }),
    ...(progress_percent !== undefined && { progress_percent }),
    ...(remaining_seconds !== undefined && { remaining_seconds }),
    ...(reason !== undefined && { reason }),
  }
}
