import type { RefusalCode } from '../protocol.ts'

/** Error for a request that this model cannot serve; its message is shown to the caller. */
export class UnservableError extends Error {
  readonly code: RefusalCode
  readonly param: string | undefined

  constructor(code: RefusalCode, message: string, param?: string) {
    super(message)
    this.name = 'UnservableError'
    this.code = code
    this.param = param
  }
}

/** Begins as OpenAI's message does: programs look for its words to shorten what they send. */
export const createTooLongError = (
  contextLength: number,
  what: string,
  param: string,
): UnservableError =>
  new UnservableError(
    'context_length_exceeded',
    `This model's maximum context length is ${contextLength} tokens. However, ${what}.`,
    param,
  )
