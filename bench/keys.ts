/**
 * Measures the check of keys with a million of them in the store: from memory, from the disk, what
 * the cache of 50,000 takes, and how long the store takes to open.
 *
 *   npm run bench -- keys [--keys 1000000]
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { keyTable } from '../coordinator/access/keys/key.table.ts'
import { newKey } from '../coordinator/access/keys/key.ts'
import { Keys } from '../coordinator/access/keys/keys.ts'
import { KEY_PREFIX, newSecret } from '../coordinator/access/keys/secret.ts'
import { createPerson } from '../coordinator/access/people/people.ts'
import { createTenant } from '../coordinator/access/people/tenants.ts'
import type { KeySpec } from '../coordinator/kernel/declaration/key.ts'
import { openStore, type Store } from '../coordinator/kernel/store/store.ts'
import { percentile, type ReportRow, report, round } from './measure.ts'

const BY = { actor: 'bench' }
const SPEC = {
  tenantId: 'one',
  personId: 'ada',
  tier: 'pro',
  roles: ['client'],
  kind: 'person',
  label: 'made for a measurement',
  furtherTenants: [],
} satisfies KeySpec & { furtherTenants: string[] }
/** Capacity of the cache, so that all keys stay in it. */
const CACHED = 50_000
const COLD = 5000
const BATCH = 500
const MB = 1e6

export const main = async (argv: string[]): Promise<void> => {
  const options = { keys: { type: 'string', default: '1000000' } } as const
  const count = Number(parseArgs({ args: argv, options }).values.keys)
  const folder = mkdtempSync(join(tmpdir(), 'shoal-bench-keys-'))
  try {
    const emptyMs = await openMs(folder)
    const secrets = await fillStore(folder, count)
    const fullMs = await openMs(folder)
    const rows = await measureKeys(folder, secrets)
    report('keys', { count }, [
      ...rows,
      row('open the store, empty', emptyMs, 'ms', ''),
      row(`open the store, ${count} keys`, fullMs, 'ms', 'as empty'),
    ])
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const row = (what: string, value: number, unit: string, promised: string): ReportRow => ({
  what,
  value: round(value),
  unit,
  promised,
})

const openMs = async (folder: string): Promise<number> => {
  const before = performance.now()
  const store = await openStore(folder, { pollMilliseconds: 0 })
  new Keys({ store, logger: console }).close()
  const took = performance.now() - before
  await store.close()
  return took
}

/** Fills the store; the secrets of some of the keys, all over it. */
const fillStore = async (folder: string, count: number): Promise<string[]> => {
  const store = await openStore(folder, { pollMilliseconds: 0 })
  await createTenant(store.ledger, { id: 'one', name: 'one' }, BY)
  await createPerson(store.ledger, { id: 'ada', tenantId: 'one', name: 'ada' }, BY)
  const every = Math.max(1, Math.floor(count / (CACHED + COLD)))
  const secrets: string[] = []
  for (let done = 0; done < count; done += BATCH * 40)
    await store.ledger.sealed.write(async trx => {
      for (let n = done; n < Math.min(count, done + BATCH * 40); n += BATCH) {
        const made = Array.from({ length: Math.min(BATCH, count - n) }, () => newSecret(KEY_PREFIX))
        const rows = made.map(({ id, digest }) =>
          keyTable.write(newKey(id, digest, SPEC, Date.now())),
        )
        await trx.insertInto('keys').values(rows).execute()
        for (const [at, { text }] of made.entries()) if ((n + at) % every === 0) secrets.push(text)
      }
    })
  await store.close()
  return secrets
}

const measureKeys = async (folder: string, secrets: readonly string[]): Promise<ReportRow[]> => {
  const store: Store = await openStore(folder, { pollMilliseconds: 0 })
  // the time of each last use is not written here: it is once a minute and key, beside the check
  const keys = new Keys({ store, logger: console, now: () => 1 })
  const check: Check = secret => keys.authenticate(secret)
  const cold = await timesOf(secrets.slice(0, COLD), check)
  const before = heapBytes()
  const kept = secrets.slice(COLD, COLD + CACHED)
  for (const secret of kept) await keys.authenticate(secret)
  const entries = Math.min(CACHED, COLD + kept.length)
  const cacheBytes = ((heapBytes() - before) / (entries - COLD)) * entries
  const warm: number[] = []
  for (let round = 0; round < 20; round++) warm.push(batchUs(kept.slice(-1000), check))
  const holds = holdUs(await keys.authenticate(kept.at(-1) ?? ''), (...answer) =>
    keys.hold(...answer),
  )
  keys.close()
  await store.close()
  return [
    row('check from memory, median', percentile(warm, 50), 'us', '5'),
    row('check from the disk, median', percentile(cold, 50), 'us', '100'),
    row('check from the disk, 99 %', percentile(cold, 99), 'us', ''),
    row(`cache of ${entries} keys`, cacheBytes / MB, 'MB', '50'),
    row('hold and release an open answer', holds, 'us', ''),
  ]
}

type Check = Keys['authenticate']
type Found = Awaited<ReturnType<Check>>

/** Microseconds for each, one after the other. */
const timesOf = async (secrets: readonly string[], check: Check): Promise<number[]> => {
  const times: number[] = []
  for (const secret of secrets) {
    const before = performance.now()
    if ((await check(secret)) === undefined) throw new Error('a key is not known')
    times.push((performance.now() - before) * 1000)
  }
  return times
}

/** Microseconds for one of many that are in memory. */
const batchUs = (secrets: readonly string[], check: Check): number => {
  const before = performance.now()
  for (const secret of secrets)
    if (check(secret) instanceof Promise) throw new Error('a key is not in memory')
  return ((performance.now() - before) * 1000) / secrets.length
}

const holdUs = (key: Found, hold: Keys['hold']): number => {
  if (key === undefined) return Number.NaN
  const rounds = 200_000
  const before = performance.now()
  for (let n = 0; n < rounds; n++) hold(key, { cut: () => {} })()
  return ((performance.now() - before) * 1000) / rounds
}

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

const heapBytes = (): number => {
  collectGarbage()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}
