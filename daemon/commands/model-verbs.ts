import * as z from 'zod'
import type { ModelControl } from '../inference/model-control.ts'
import type { Verb } from './verb.ts'

const Params = z.strictObject({ model: z.string().min(1).max(128) })

/** What a cell that serves models can be commanded to do with each of them. */
export const modelVerbs = (models: ModelControl): Verb[] => {
  const verb = (act: keyof ModelControl, description: string): Verb => ({
    verb: `model-${act}`,
    hazard: 'safe',
    description,
    timeout_seconds: 30,
    params: Params,
    plan: params => ({ operations: [Params.parse(params)], bounds: {} }),
    run: ({ operations: [operation] }) => models[act](Params.parse(operation).model),
  })
  return [
    verb('load', 'Loads a model of the catalogue.'),
    verb('unload', 'Unloads a model that nobody uses now.'),
    verb('pin', 'Loads a model, and keeps it loaded until it is unpinned.'),
    verb('unpin', 'Lets a model be unloaded again.'),
  ]
}
