import { Helper, type HelperOptions } from './helper.ts'
import type { SpawnHelper } from './helper-child.ts'
import { HELPER_CLASSES, type HelperClass } from './helper-class.ts'

interface HelpersOptions extends Omit<HelperOptions, 'spawn'> {
  spawn: (helperClass: HelperClass) => SpawnHelper
}

/** Helpers of all classes. They share nothing, so that no class waits for another. */
export class Helpers {
  readonly #byClass: ReadonlyMap<HelperClass, Helper>

  constructor({ spawn, ...options }: HelpersOptions) {
    this.#byClass = new Map(
      HELPER_CLASSES.map(each => [each, new Helper({ ...options, spawn: spawn(each) })]),
    )
  }

  get(helperClass: HelperClass): Helper {
    return this.#byClass.get(helperClass) as Helper
  }

  /** Ends all processes and calls; later calls are refused. */
  stop(): void {
    for (const helper of this.#byClass.values()) helper.stop()
  }
}
