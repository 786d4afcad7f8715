import type { RefusalCode } from '../protocol.ts'

/** A request that this model cannot serve; told to the caller as it stands. */
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
