import { httpStatus, type ShoalError } from '../../../../shared/errors.ts'
import type { AnswerForm } from '../translated-answer.ts'

/** Body of an error in Ollama's API. */
export const ollamaError = ({ message }: ShoalError): { error: string } => ({ error: message })

/** True for a path of Ollama's API. */
export const isOllamaPath = (path: string): boolean => path.startsWith('/api/')

/** Status of an error in Ollama's API, which has 400 for a body that cannot be served. */
export const ollamaStatus = ({ code }: Pick<ShoalError, 'code'>): number =>
  // programs look for 404 before they offer to download a model
  code === 'invalid_model' ? 404 : withoutUnprocessable(httpStatus(code))

const withoutUnprocessable = (status: number): number => (status === 422 ? 400 : status)

export const OLLAMA_FORM: AnswerForm = {
  streamHeaders: { 'content-type': 'application/x-ndjson' },
  format: line => `${JSON.stringify(line)}\n`,
  errorBody: ollamaError,
  errorStatus: ollamaStatus,
  status: withoutUnprocessable,
}
