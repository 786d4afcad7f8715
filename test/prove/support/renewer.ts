import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

/** A process that renews the credential in a state folder again and again. */
export class Renewer {
  renewals = 0
  refusals = 0
  readonly #args: string[]
  #child: ChildProcess | undefined
  #onMessage: () => void = () => {}

  constructor(stateDir: string, url: string) {
    this.#args = [join(import.meta.dirname, 'renewing-child.ts'), stateDir, url]
  }

  start(): void {
    const child = spawn(process.execPath, this.#args, { stdio: ['ignore', 'pipe', 'inherit'] })
    this.#child = child
    createInterface({ input: child.stdout }).on('line', line => {
      if (line === 'renewed') this.renewals++
      if (line === 'auth_required') this.refusals++
      this.#onMessage()
    })
  }

  /** Resolves with the next renewal, or when the cell is refused. */
  async anotherRenewal(): Promise<void> {
    const before = this.renewals
    while (this.renewals === before && this.refusals === 0)
      await new Promise<void>(resolve => {
        this.#onMessage = resolve
      })
  }

  async kill(): Promise<void> {
    const child = this.#child
    if (child === undefined || child.exitCode !== null) return
    const exit = once(child, 'exit')
    child.kill('SIGKILL')
    await exit
  }
}
