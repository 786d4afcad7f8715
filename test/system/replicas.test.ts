import { randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createToken } from '../../coordinator/enrolment/join-tokens.ts'
import { bootstrap } from '../../coordinator/keys/bootstrap.ts'
import { openStore } from '../../coordinator/store/store.ts'
import { MEMORY_FOLDER } from '../support/memory-folder.ts'
import { findFreePort } from '../support/mosquitto.ts'
import { createDatabase, postgresMissing } from '../support/postgres.ts'
import { Process } from '../support/stack.ts'
import { waitUntil } from '../support/wait-until.ts'

interface Running {
  url: string
  program: Process
}

/** Three coordinators and a cell that was told the address of the first one only. */
const startFleet = async (t: Test) => {
  const folder = mkdtempSync(join(MEMORY_FOLDER, 'shoal-replicas-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))
  const database = await createDatabase(t)
  const store = await openStore(database)
  const { keys } = await bootstrap(store)
  const once = { uses: 1, ttlMinutes: 10 }
  const { secret } = await createToken(store.ledger, once, { actor: 'test' })
  await store.close()
  const sealingKey = randomBytes(32).toString('base64')
  const start = async (name: string): Promise<Running> => {
    const stateDir = join(folder, name)
    mkdirSync(stateDir)
    writeFileSync(join(stateDir, 'sealing.key'), sealingKey, { mode: 0o600 })
    const port = String(await findFreePort())
    const url = `http://127.0.0.1:${port}`
    const program = new Process('shoal-coordinator', () => ['--state-dir', stateDir], {
      SHOAL_STORE_URL: `postgres://postgres@localhost/${database.database}?host=${database.host}`,
      SHOAL_HTTP_PORT: port,
      SHOAL_REPLICA_ADDRESS: url,
    })
    program.start()
    t.teardown(() => program.end('SIGKILL'))
    await program.line(/"url":"http/)
    return { url, program }
  }
  const coordinators = await Promise.all(['a', 'b', 'c'].map(start))
  const cell = new Process('shoald', () => ['--state-dir', join(folder, 'cell')], {
    SHOAL_COORDINATOR_URL: coordinators[0]?.url ?? '',
    SHOAL_COORDINATOR_JOIN_TOKEN: secret,
    SHOAL_NAME: 'cell',
  })
  cell.start()
  t.teardown(() => cell.end('SIGKILL'))
  return { coordinators, keys }
}

t.test('a cell serves the requests of three coordinators', { skip: postgresMissing }, async t => {
  const { coordinators, keys } = await startFleet(t)
  const [first, second, third] = coordinators as [Running, Running, Running]
  const read = async (url: string, path: string) => {
    const headers = { authorization: `Bearer ${keys.operator}` }
    return (await fetch(`${url}${path}`, { headers })).json() as Promise<Record<string, unknown>>
  }
  const complete = async ({ url }: Running) => {
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${keys.enterprise}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: 'auto',
        messages: [{ role: 'user', content: 'hi' }],
        max_tokens: 4,
      }),
    })
    await response.text()
    return response.status
  }
  const serves = async (url: string) =>
    read(url, '/v1/health').then(
      ({ cells, status }) => cells === 1 && status !== 'unavailable',
      () => false,
    )

  await t.test('each of which it has met', async t => {
    await waitUntil('all three have the cell', async () => {
      const served = await Promise.all(coordinators.map(({ url }) => serves(url)))
      return served.every(Boolean)
    })
    for (const one of coordinators) t.equal(await complete(one), 200)
  })

  await t.test('and goes on without the one that it was told, which is killed', async t => {
    await first.program.end('SIGKILL')
    const statuses: number[] = []
    for (let n = 0; n < 10; n++)
      for (const one of [second, third]) statuses.push(await complete(one))
    t.strictSame(new Set(statuses), new Set([200]))
    await waitUntil('it is no longer listed', async () => {
      const { replicas } = await read(second.url, '/v1/replicas')
      return (replicas as unknown[]).length === 2
    })
  })

  await t.test('and meets it again when it is back', async t => {
    first.program.start()
    await waitUntil('it has the cell', () => serves(first.url))
    t.equal(await complete(first), 200)
  })
})
