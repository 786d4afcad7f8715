import { ShoalError } from '../../../shared/errors.ts'

/** A line of a file that cannot be imported. */
export interface LineFault {
  /** Counts from 1. */
  line: number
  /** Field of the record; null for a fault of the whole line. */
  param: string | null
  message: string
}

/** Most faults of a file that are kept; the others are counted. */
const MAX_FAULTS = 100
/** Faults in the message of a refusal. */
const SHOWN_FAULTS = 5

/** Faults of one file, in the order of its lines. */
export class FaultList {
  readonly faults: LineFault[] = []
  count = 0

  add(fault: LineFault): void {
    this.count++
    if (this.faults.length < MAX_FAULTS) this.faults.push(fault)
  }

  /** The refusal of an import with faults. */
  toError(): ShoalError {
    const shown = this.faults.slice(0, SHOWN_FAULTS)
    const lines = shown.map(({ line, message }) => `line ${line}: ${message}`)
    const more = this.count > shown.length ? '; a dry run lists more' : ''
    const param = shown[0]?.param ?? undefined
    return new ShoalError(
      'invalid_request',
      `nothing was imported, because ${this.count} ${this.count === 1 ? 'record is' : 'records are'} invalid: ${lines.join('; ')}${more}`,
      param === undefined ? {} : { param },
    )
  }
}
