import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { unpackOlder } from './support/older-version.ts'
import { send } from './support/recorder.ts'
import { ReplicaSet } from './support/replica-set.ts'

/** Time between two steps of the upgrade. */
const STEP_MS = 2000
const CLIENTS = 4
/** Few enough requests for the limits of a key. */
const PAUSE_MS = 150

/**
 * Coordinators of an older commit on a database of this version, replaced one after another under
 * load through the balancer: no request fails with 5xx.
 */
export const main = async (argv: string[]): Promise<boolean> => {
  const options = { old: { type: 'string' } } as const
  const older = unpackOlder(parseArgs({ args: argv, options }).values.old)
  try {
    return await upgrade(older)
  } finally {
    older.remove()
  }
}

const upgrade = async ({ commit, program }: ReturnType<typeof unpackOlder>): Promise<boolean> => {
  // the set's own store has the newest schema; the last coordinator is of this version
  const programOf = (index: number) => (index === 2 ? 'shoal-coordinator' : program)
  const set = await ReplicaSet.start({ programOf })
  try {
    const load = startLoad(set)
    await sleep(STEP_MS)
    for (const index of [0, 1]) {
      await set.replica(index).process.end('SIGTERM')
      set.replica(index).process.useProgram('shoal-coordinator')
      await set.restart(index)
      await sleep(STEP_MS)
    }
    const statuses = await load.stop()
    const failed = [...statuses].filter(([name]) => / 5\d\d/.test(name))
    console.log(`commit ${commit} and this one on one database, upgraded under load:`)
    for (const [name, count] of [...statuses].toSorted()) console.log(`  ${name}: ${count}`)
    return failed.length === 0 && statuses.size > 0
  } finally {
    await set.stop()
  }
}

/** Requests of several kinds through the balancer, counted by kind and status. */
const startLoad = (set: ReplicaSet) => {
  const { pro, enterprise, operator } = set.keys
  const participants = [{ id: 'ada', type: 'person', name: 'Ada' }]
  const messages = [{ role: 'user', content: 'x' }]
  const kinds = {
    models: () => send(`${set.url}/v1/models`, pro),
    usage: () => send(`${set.url}/v1/usage`, pro),
    chat: () =>
      send(`${set.url}/v1/chat/completions`, pro, { body: { model: 'model-a:7b', messages } }),
    conversation: () =>
      send(`${set.url}/a2a/conversations`, enterprise, { body: { participants } }),
    gates: () => send(`${set.url}/v1/gates/requests`, operator),
  }
  const statuses = new Map<string, number>()
  const over = new AbortController()
  const client = async (): Promise<void> => {
    while (!over.signal.aborted)
      for (const [kind, ask] of Object.entries(kinds)) {
        const { status, body } = await ask()
        const { code = '' } = (body.error ?? {}) as { code?: string }
        const name = `${kind} ${status} ${code}`.trim()
        statuses.set(name, (statuses.get(name) ?? 0) + 1)
        await sleep(PAUSE_MS)
      }
  }
  const clients = Array.from({ length: CLIENTS }, client)
  const stop = async () => {
    over.abort()
    await Promise.all(clients)
    return statuses
  }
  return { stop }
}
