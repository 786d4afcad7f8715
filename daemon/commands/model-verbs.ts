import * as z from 'zod'
import type { ModelControl } from '../inference/model-control.ts'
import type { Verb } from './verb.ts'

type ModelAct = 'load' | 'unload' | 'pin' | 'unpin' | 'pull'

const Params = z.strictObject({ model: z.string().min(1).max(128) })

/** Creates the verbs for the models that a cell serves. */
export const createModelVerbs = (models: ModelControl): Verb[] => {
  const createVerb = (act: ModelAct, description: string): Verb => ({
    verb: `model-${act}`,
    hazard: 'safe',
    description,
    timeout_seconds: 30,
    params: Params,
    plan: params => ({ operations: [Params.parse(params)], bounds: {} }),
    run: ({ operations: [operation] }) => models[act](Params.parse(operation).model),
  })
  return [
    createVerb('load', 'Loads a model of the catalogue.'),
    createVerb('unload', 'Unloads an idle model.'),
    createVerb('pin', 'Loads a model and keeps it loaded until it is unpinned.'),
    createVerb('unpin', 'Allows a model to be unloaded again.'),
    createVerb('pull', 'Downloads the weights of a model without loading it.'),
  ]
}
