import { MAX_WAITING_PER_LANE } from '../../shared/wire/command.ts'

/** A queued command. Neither function rejects. */
export interface LaneJob {
  /** The signal aborts with an `Interruption` when the job must end. */
  run(interrupted: AbortSignal): Promise<void>
  /** Runs instead of `run` for a waiting job that is overtaken. */
  drop(): Promise<void>
}

/** Cause that ends a running job: an urgent command of its lane, or an e-stop of its device. */
export type Interruption = 'overtaken' | 'estopped'

interface Lane {
  running: AbortController
  waiting: LaneJob[]
}

/** Most lanes that run at the same time; each has its own queue. */
const MAX_LANES = 64
/** Most jobs of a kind beside the lanes. */
const MAX_ASIDE = MAX_WAITING_PER_LANE

/**
 * Runs jobs one at a time per lane, and lanes in parallel. A lane is a device, or the cell itself.
 * An urgent job does not wait: it aborts the running job of its lane and drops the waiting ones.
 */
export class DeviceLanes {
  readonly #lanes = new Map<string, Lane>()
  readonly #aside = new Map<string, number>()
  readonly #work = new Set<Promise<void>>()

  /** Reason why a lane accepts no more jobs; undefined when it does. */
  findOverload(lane: string): string | undefined {
    const found = this.#lanes.get(lane)
    if (found === undefined)
      return this.#lanes.size < MAX_LANES ? undefined : `${MAX_LANES} devices are busy`
    if (found.waiting.length < MAX_WAITING_PER_LANE) return undefined
    return `${MAX_WAITING_PER_LANE} commands are waiting`
  }

  /** Reason why no more jobs of a kind run beside the lanes; undefined when they do. */
  findAsideOverload(kind: string): string | undefined {
    return (this.#aside.get(kind) ?? 0) < MAX_ASIDE
      ? undefined
      : `${MAX_ASIDE} commands are running`
  }

  isIdle(lane: string): boolean {
    return !this.#lanes.has(lane)
  }

  /** Runs a job after the earlier ones in its lane. */
  add(lane: string, job: LaneJob): void {
    const found = this.#lanes.get(lane)
    if (found === undefined) this.#track(this.#runLane(lane, job))
    else found.waiting.push(job)
  }

  /** Runs a job immediately, beside the lanes. */
  runAside(kind: string, job: LaneJob): void {
    this.#aside.set(kind, (this.#aside.get(kind) ?? 0) + 1)
    const run = async (): Promise<void> => {
      await job.run(new AbortController().signal)
      const left = (this.#aside.get(kind) ?? 1) - 1
      if (left === 0) this.#aside.delete(kind)
      else this.#aside.set(kind, left)
    }
    this.#track(run())
  }

  /** Aborts the running job of a lane and drops the waiting ones. */
  overtake(lane: string): void {
    const found = this.#lanes.get(lane)
    if (found === undefined) return
    found.running.abort('overtaken' satisfies Interruption)
    for (const job of found.waiting.splice(0)) this.#track(job.drop())
  }

  /** Aborts the running jobs of these lanes because of an e-stop; the waiting ones follow. */
  stopRunning(isStopped: (lane: string) => boolean): void {
    for (const [lane, { running }] of this.#lanes)
      if (isStopped(lane)) running.abort('estopped' satisfies Interruption)
  }

  /** Resolves when nothing runs or waits. */
  async waitUntilIdle(): Promise<void> {
    while (this.#work.size > 0) await Promise.all(this.#work)
  }

  async #runLane(key: string, first: LaneJob): Promise<void> {
    const lane: Lane = { running: new AbortController(), waiting: [] }
    this.#lanes.set(key, lane)
    for (let job: LaneJob | undefined = first; job !== undefined; job = lane.waiting.shift()) {
      lane.running = new AbortController()
      await job.run(lane.running.signal)
    }
    this.#lanes.delete(key)
  }

  #track(work: Promise<void>): void {
    this.#work.add(work)
    void work.finally(() => this.#work.delete(work))
  }
}
