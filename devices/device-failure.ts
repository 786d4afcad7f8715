import { ShoalError } from '../shared/errors.ts'
import type { DeviceOutcome } from '../shared/wire/device-outcome.ts'

/** Reason of a stop, or of a verb, whose end was not observed. */
export const UNCONFIRMED = 'unconfirmed'

/** Reason of a stop that is not repeated, because a person has taken the device over since. */
export const TAKEN_OVER = 'taken_over'

/** Failure of an operation on a device, with what was asked of it and observed. */
export class DeviceFailure extends Error {
  /** Reason of the acknowledgement: an `ErrorCode`, `unconfirmed`, `taken_over`, or the link's own. */
  readonly reason: string
  readonly outcome: DeviceOutcome

  constructor(
    reason: string,
    message: string,
    outcome: DeviceOutcome,
    options: { cause?: unknown } = {},
  ) {
    super(message, options)
    this.name = 'DeviceFailure'
    this.reason = reason
    this.outcome = outcome
  }
}

/** Adds an outcome to an error of a link; one that has its own outcome keeps it. */
export const toDeviceFailure = (error: unknown, outcome: DeviceOutcome): DeviceFailure => {
  if (error instanceof DeviceFailure) return error
  const message = error instanceof Error ? error.message : String(error)
  return new DeviceFailure(error instanceof ShoalError ? error.code : 'error', message, outcome, {
    cause: error,
  })
}
