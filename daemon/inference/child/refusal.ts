import type { RefusalCode } from '../protocol.ts'

/** Error for a request that this model cannot serve; its message is shown to the caller. */
export class Refusal extends Error {
  readonly code: RefusalCode
  readonly param: string | undefined

  constructor(code: RefusalCode, message: string, param?: string) {
    super(message)
    this.name = 'Refusal'
    this.code = code
    this.param = param
  }
}
