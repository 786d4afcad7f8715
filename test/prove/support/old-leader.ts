import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { LEADER_LEASE } from '../../../coordinator/kernel/leader/lease-leader.ts'
import { waitUntil } from '../../support/wait-until.ts'
import type { ReplicaProcess, ReplicaSet } from './replica-set.ts'

/** A process in the leader's network that goes on to write under its epoch. */
export class OldLeader {
  readonly #child: ChildProcess
  readonly #lines: string[] = []

  private constructor(child: ChildProcess) {
    this.#child = child
    if (child.stdout !== null)
      createInterface({ input: child.stdout }).on('line', line => this.#lines.push(line))
  }

  static async start({ store }: ReplicaSet, { network }: ReplicaProcess): Promise<OldLeader> {
    const query = store.ledger.read.selectFrom('leases').select(['owner', 'epoch'])
    const { owner, epoch } = await query.where('name', '=', LEADER_LEASE).executeTakeFirstOrThrow()
    const script = join(import.meta.dirname, 'old-leader-child.ts')
    const args = [script, '127.0.0.1', network?.storePort, owner, epoch].map(String)
    const [command = '', ...words] = [...(network?.wrap ?? []), process.execPath, ...args]
    return new OldLeader(spawn(command, words, { stdio: ['ignore', 'pipe', 'inherit'] }))
  }

  /** Number of its writes that ended so. */
  count(ending: string): number {
    return this.#lines.filter(line => line === ending).length
  }

  /** Resolves when a write ends so from now on. */
  async next(pattern: RegExp): Promise<void> {
    const from = this.#lines.length
    await waitUntil(`a write ends with ${pattern}`, async () =>
      this.#lines.slice(from).some(line => pattern.test(line)),
    )
  }

  async stop(): Promise<void> {
    const ended = once(this.#child, 'exit')
    this.#child.kill('SIGKILL')
    await ended
  }
}
