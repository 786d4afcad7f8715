import { ShoalError } from '../../shared/errors.ts'
import { firstIssue } from '../../shared/first-issue.ts'
import {
  MODEL_FACTS_NAME,
  MODEL_FACTS_PATH,
  ModelFactsInput,
} from '../../shared/wire/model-facts.ts'
import type { Question } from '../questions/question.ts'
import type { ModelControl } from './model-control.ts'

/** Exposes the facts of the cell's weights files as a question. */
export const createModelQuestion = (models: Pick<ModelControl, 'facts'>): Question => ({
  prefix: MODEL_FACTS_PATH,
  async *ask(name, given) {
    if (name !== MODEL_FACTS_NAME) throw new ShoalError('not_found', `unknown question ${name}`)
    const { data, error } = ModelFactsInput.safeParse(given)
    if (error !== undefined)
      throw new ShoalError('invalid_request', firstIssue(error, given).message)
    yield { type: 'item', value: await models.facts(data.model) }
  },
})
