import type { EstopBehaviour, PropertyValue } from '../../../shared/wire/device.ts'
import { type Activity, DONE, refuseOperation, requireState, type SimMachine } from './machine.ts'
import type { SimOperation } from './operations.ts'

type Print = Extract<SimOperation, { op: 'print' }>

interface Job {
  print: Print
  done_s: number
}

const ROOM_CELSIUS = 22
/** Share of the difference to its target by which a heater changes in a second. */
const HEAT_PER_S = 0.05
/** Difference to the target within which a print begins, in degrees Celsius. */
const WARM_CELSIUS = 3

/** Printer with a job, a nozzle and a bed. It keeps the last line of machine code. */
export class Printer implements SimMachine {
  #job: Job | undefined
  #isPaused = false
  #nozzle = { celsius: ROOM_CELSIUS, target: ROOM_CELSIUS }
  #bed = { celsius: ROOM_CELSIUS, target: ROOM_CELSIUS }
  #lastLine: string | null = null

  perform(operation: SimOperation): Activity {
    if (operation.op === 'halt') this.halt(operation.behaviour)
    else if (operation.op === 'print') this.#print(operation)
    else if (operation.op === 'gcode') this.#run(operation.line)
    else if (operation.op === 'cancel') this.#cancel()
    else if (operation.op === 'pause' || operation.op === 'resume')
      this.#pause(operation.op === 'pause')
    else refuseOperation(`a printer cannot ${operation.op}`)
    return DONE
  }

  step(seconds: number): void {
    for (const heater of [this.#nozzle, this.#bed])
      heater.celsius += (heater.target - heater.celsius) * Math.min(1, HEAT_PER_S * seconds)
    if (this.#job === undefined || this.#isPaused || !this.#isWarm()) return
    this.#job.done_s += seconds
    if (this.#job.done_s >= this.#job.print.duration_s) this.#endJob()
  }

  /** Every stop ends the job and turns the heaters off. */
  halt(behaviour: EstopBehaviour): void {
    if (behaviour !== 'none') this.#endJob()
  }

  isAtRest(): boolean {
    return this.#job === undefined || this.#isPaused
  }

  read(): Record<string, PropertyValue> {
    const { print, done_s = 0 } = this.#job ?? {}
    return {
      printer_state: print === undefined ? 'idle' : this.#isPaused ? 'paused' : 'printing',
      job: print?.file ?? null,
      progress_percent: print === undefined ? null : (100 * done_s) / print.duration_s,
      nozzle_celsius: this.#nozzle.celsius,
      bed_celsius: this.#bed.celsius,
      last_line: this.#lastLine,
    }
  }

  #isWarm(): boolean {
    return [this.#nozzle, this.#bed].every(
      ({ celsius, target }) => Math.abs(celsius - target) < WARM_CELSIUS,
    )
  }

  #print(print: Print): void {
    requireState(this.#job === undefined, 'a job is running')
    this.#job = { print, done_s: 0 }
    this.#nozzle.target = print.nozzle_celsius
    this.#bed.target = print.bed_celsius
  }

  #pause(isPaused: boolean): void {
    requireState(this.#job !== undefined, 'no job is running')
    this.#isPaused = isPaused
  }

  #cancel(): void {
    requireState(this.#job !== undefined, 'no job is running')
    this.#endJob()
  }

  #run(line: string): void {
    requireState(this.#job === undefined, 'a job is running')
    this.#lastLine = line
  }

  #endJob(): void {
    this.#job = undefined
    this.#isPaused = false
    this.#nozzle.target = ROOM_CELSIUS
    this.#bed.target = ROOM_CELSIUS
  }
}
