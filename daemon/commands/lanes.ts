import { MAX_WAITING_PER_LANE } from '../../shared/wire/command.ts'

/** One command on its way. Neither function rejects. */
export interface Job {
  /** The signal aborts when an urgent command of the same lane overtakes it. */
  run(overtaken: AbortSignal): Promise<void>
  /** Called in place of `run` for a job that waited when it was overtaken. */
  drop(): Promise<void>
}

interface Lane {
  running: AbortController
  waiting: Job[]
}

/** Lanes in which something runs at once; each has room of its own. */
const MAX_LANES = 64
/** Jobs beside the lanes, by what they are. */
const MAX_ASIDE = MAX_WAITING_PER_LANE

/**
 * Runs one job after another in each lane, and the lanes beside each other. A lane is a device, or
 * the cell itself. An urgent job waits for nothing: it ends what its lane runs, and what waits there.
 */
export class Lanes {
  readonly #lanes = new Map<string, Lane>()
  readonly #aside = new Map<string, number>()
  readonly #work = new Set<Promise<void>>()

  /** Why a lane takes no more; undefined when it does. */
  fullness(lane: string): string | undefined {
    const found = this.#lanes.get(lane)
    if (found === undefined)
      return this.#lanes.size < MAX_LANES ? undefined : `${MAX_LANES} devices are busy`
    if (found.waiting.length < MAX_WAITING_PER_LANE) return undefined
    return `${MAX_WAITING_PER_LANE} commands wait`
  }

  /** Why no more jobs of a kind run beside the lanes; undefined when they do. */
  asideFullness(kind: string): string | undefined {
    return (this.#aside.get(kind) ?? 0) < MAX_ASIDE ? undefined : `${MAX_ASIDE} are under way`
  }

  isIdle(lane: string): boolean {
    return !this.#lanes.has(lane)
  }

  /** Runs a job when those before it in its lane have ended. */
  add(lane: string, job: Job): void {
    const found = this.#lanes.get(lane)
    if (found === undefined) this.#track(this.#runLane(lane, job))
    else found.waiting.push(job)
  }

  /** Runs a job at once, beside the lanes. */
  runAside(kind: string, job: Job): void {
    this.#aside.set(kind, (this.#aside.get(kind) ?? 0) + 1)
    const run = async (): Promise<void> => {
      await job.run(new AbortController().signal)
      const left = (this.#aside.get(kind) ?? 1) - 1
      if (left === 0) this.#aside.delete(kind)
      else this.#aside.set(kind, left)
    }
    this.#track(run())
  }

  /** Ends what a lane runs, and drops what waits in it. */
  overtake(lane: string): void {
    const found = this.#lanes.get(lane)
    if (found === undefined) return
    found.running.abort()
    for (const job of found.waiting.splice(0)) this.#track(job.drop())
  }

  /** Resolves when nothing runs or waits any more. */
  async idle(): Promise<void> {
    while (this.#work.size > 0) await Promise.all(this.#work)
  }

  async #runLane(key: string, first: Job): Promise<void> {
    const lane: Lane = { running: new AbortController(), waiting: [] }
    this.#lanes.set(key, lane)
    for (let job: Job | undefined = first; job !== undefined; job = lane.waiting.shift()) {
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
