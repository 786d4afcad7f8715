import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { sql } from 'kysely'
import { NEWER_MIGRATION, unpackNewer } from './support/newer-version.ts'
import { send } from './support/recorder.ts'
import { ReplicaSet } from './support/replica-set.ts'
import { unpackTree } from './support/unpack-tree.ts'

/** Time between two steps of the upgrade. */
const STEP_MS = 2000
const CLIENTS = 4
/** Few enough requests for the limits of a key. */
const PAUSE_MS = 150

/** Program of this tree, which is replaced. */
const PROGRAM = 'shoal-coordinator'

/**
 * Coordinators are replaced one after another by a newer version, under load through the balancer, and
 * no request fails: from this tree to one that extends the schema while the others serve, and before,
 * with `--old COMMIT`, from an older commit to this tree.
 */
export const main = async (argv: string[]): Promise<boolean> => {
  const options = { old: { type: 'string' } } as const
  const { old } = parseArgs({ args: argv, options }).values
  const newer = unpackNewer()
  const older = old === undefined ? undefined : unpackTree(old)
  try {
    const fromOlder =
      older === undefined || (await upgrade(older.program, PROGRAM, `from ${older.name}`))
    const toNewer = await upgrade(PROGRAM, newer.program, `to ${newer.name}`, hasMigrated)
    return fromOlder && toNewer
  } finally {
    older?.remove()
    newer.remove()
  }
}

type Check = (set: ReplicaSet) => Promise<boolean>

/** The last one is of the new version from the start, unless that has more to do at its start. */
const upgrade = async (from: string, to: string, title: string, check?: Check) => {
  const programOf = (index: number) => (index === 2 && check === undefined ? to : from)
  const set = await ReplicaSet.start({ programOf })
  try {
    const load = startLoad(set)
    await sleep(STEP_MS)
    for (const index of set.replicas.keys()) {
      if (programOf(index) === to) continue
      await set.replica(index).process.end('SIGTERM')
      set.replica(index).process.useProgram(to)
      await set.restart(index)
      if (check !== undefined && !(await check(set))) return false
      await sleep(STEP_MS)
    }
    const statuses = await load.stop()
    const failed = [...statuses].filter(([name]) => / (5\d\d|0)\b/.test(name))
    console.log(`upgraded under load ${title}:`)
    for (const [name, count] of [...statuses].toSorted()) console.log(`  ${name}: ${count}`)
    return failed.length === 0 && statuses.size > 0
  } finally {
    await set.stop()
  }
}

/** True when the newer version's migration is done. */
const hasMigrated: Check = async ({ store }) => {
  const { rows } = await sql`select 1 from kysely_migration_ledger
    where name = ${NEWER_MIGRATION}`.execute(store.ledger.read)
  return rows.length === 1
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
