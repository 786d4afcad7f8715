import { ShoalError } from './errors.ts'

/** OpenAI's body for a model that does not exist; its clients decide by status and code. */
export const createMissingModelError = (id: string): ShoalError =>
  new ShoalError(
    'model_not_found',
    `The model ${JSON.stringify(id)} does not exist; GET /v1/models lists the available models`,
    { reason: 'model_unknown', next: 'shoal models list' },
  )
