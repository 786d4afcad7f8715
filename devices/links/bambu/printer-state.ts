import type { DeviceState } from '../../../shared/wire/device.ts'
import {
  findLockReason,
  findRefusal,
  mergeStatus,
  type PrinterReport,
  PrintStatus,
  readProperties,
} from './report.ts'

type Readings = DeviceState['readings']

/** State of a printer: its status, merged from deltas, and whether it accepts commands. */
export class PrinterState {
  readonly #now: () => number
  #status: PrintStatus = PrintStatus.parse({})
  #isWhole = false
  #readings: Readings = {}
  #seenAt: number | null = null
  #lock: string | undefined
  #refusal: string | undefined

  /** `now`: unix milliseconds. */
  constructor(now: () => number) {
    this.#now = now
  }

  /** True when a full status came since the last connect. */
  get isWhole(): boolean {
    return this.#isWhole
  }

  get seenAt(): number | null {
    return this.#seenAt
  }

  get readings(): Readings {
    return this.#readings
  }

  /** Reason why the printer accepts no commands; undefined when it does, as far as is known. */
  get lockReason(): string | undefined {
    return this.#refusal ?? this.#lock
  }

  /** A new connection: deltas were missed, so that only a full status makes it whole again. */
  startOver(): void {
    this.#isWhole = false
    this.#status = PrintStatus.parse({})
    this.#refusal = undefined
  }

  accept(report: PrinterReport): void {
    this.#seenAt = this.#now()
    if (report.kind === 'reply') {
      if (report.reply.result?.toLowerCase() === 'success') this.#refusal = undefined
      else this.#refusal = findRefusal(report.reply) ?? this.#refusal
      return
    }
    const { status, isFull } = report
    this.#isWhole ||= isFull
    this.#status = isFull ? status : mergeStatus(this.#status, status)
    if (this.#status.fun !== undefined) this.#lock = findLockReason(this.#status)
    // once the status is whole, a field that a delta omits has not changed
    this.#readings = { ...this.#readings, ...this.#read(this.#isWhole ? this.#status : status) }
  }

  #read(status: PrintStatus): Readings {
    const at = this.#seenAt ?? 0
    const values = Object.entries(readProperties(status))
    return Object.fromEntries(values.map(([name, value]) => [name, { value, at }]))
  }
}
