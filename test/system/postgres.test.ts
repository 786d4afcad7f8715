import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { MEMORY_FOLDER } from '../support/memory-folder.ts'
import { administer, Cluster, postgresMissing } from '../support/postgres.ts'
import { coordinator } from '../support/shoal-program.ts'
import { Process } from '../support/stack.ts'
import { waitUntil } from '../support/wait-until.ts'

t.test('a coordinator on PostgreSQL', { skip: postgresMissing }, async t => {
  const cluster = (await Cluster.create()) as Cluster
  t.teardown(() => cluster.stop())
  await administer(cluster.folder, 'create database shoal')
  const folder = mkdtempSync(join(MEMORY_FOLDER, 'shoal-postgres-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const url = `postgres://postgres@localhost/shoal?host=${cluster.folder}`
  const stateDir = (name: string) => ['--state-dir', join(folder, name)]
  const run = async (state: string, env: Record<string, string>, ...args: string[]) => {
    const { code, out, err } = await coordinator(env, [...stateDir(state), ...args])
    return { code, err, json: code === 0 ? JSON.parse(out) : undefined }
  }
  const json = ['--format', 'json']
  const onPostgres = { SHOAL_STORE_URL: url }

  const made = await run('a', {}, 'init', '--tenant', 'acme', ...json)
  const copy = ['store', 'copy', '--from', 'sqlite', '--to', 'postgres', ...json]
  const copied = await run('a', onPostgres, ...copy)
  t.match(copied, { code: 0, json: { tables: Number, audit_rows: Number } }, copied.err)
  const again = await run('a', onPostgres, ...copy)
  t.match(again, { code: 65, err: /must be empty/ }, 'a store that has rows is not written')

  const program = new Process('shoal-coordinator', () => stateDir('a'), {
    ...onPostgres,
    SHOAL_HTTP_PORT: '0',
  })
  program.start()
  t.teardown(() => program.end('SIGKILL'))
  const [, address = ''] = await program.line(/"url":"(http[^"]+)"/)
  const ask = (path: string, secret: string) =>
    fetch(`${address}${path}`, { headers: { authorization: `Bearer ${secret}` } })

  await t.test('serves what was copied, and what commands write beside it', async t => {
    const { person, tenant } = made.json
    const createKey = ['key', 'create', '--tenant', tenant, '--person', person, ...json]
    const list = await ask('/v1/keys', made.json.secret)
    t.match(await list.json(), { keys: [{ id: made.json.id }] })
    const more = await run('a', onPostgres, ...createKey)
    await waitUntil('the new key works', async () => (await ask('/v1/usage', more.json.secret)).ok)
  })

  await t.test(
    'refuses what needs the database while it is away, and goes on when it is back',
    async t => {
      t.equal((await ask('/v1/models', made.json.secret)).status, 200, 'the key is known')
      const measure = async (what: string, run: () => Promise<boolean>) => {
        const startedMs = performance.now()
        await waitUntil(what, run)
        return performance.now() - startedMs
      }
      await cluster.crash()
      const readiness = async () => (await fetch(`${address}/readyz`)).status
      const awayMs = await measure('it is not ready', async () => (await readiness()) === 503)
      t.ok(awayMs < 3000, `not ready after ${Math.round(awayMs)} ms`)
      t.match(await (await fetch(`${address}/readyz`)).text(), /the database is unavailable/)
      const refused = await ask('/v1/keys', made.json.secret)
      t.match(refused, { status: 503 })
      t.ok(refused.headers.get('retry-after'))
      t.equal((await ask('/v1/keys', 'unknown')).status, 401, 'what is no key is refused as ever')
      t.equal(
        (await ask('/v1/models', made.json.secret)).status,
        200,
        'a key that was known serves',
      )
      t.equal((await fetch(`${address}/healthz`)).status, 200, 'the process is well')
      await cluster.start()
      const backMs = await measure('it is ready', async () => (await readiness()) === 200)
      t.ok(backMs < 2000, `ready after ${Math.round(backMs)} ms`)
      const served = await ask('/v1/keys', made.json.secret)
      t.equal(served.status, 200, await served.text())
    },
  )

  await t.test('can be copied back when it has stopped', async t => {
    const back = ['store', 'copy', '--from', 'postgres', '--to', 'sqlite', ...json]
    const keyless = await run('b', onPostgres, ...back)
    t.match(keyless, { code: 78, err: /sealing\.key is missing.*copy sealing\.key from/ })
    const [from, to] = ['a', 'b'].map(name => join(folder, name, 'sealing.key'))
    copyFileSync(from as string, to as string)
    const running = await run('b', onPostgres, ...back)
    t.match(running, { code: 65, err: /coordinator uses the store/ })
    await program.end('SIGTERM')
    const after = await run('b', onPostgres, ...back)
    t.equal(after.code, 0, after.err)
    const keys = await run('b', {}, 'key', 'list', ...json)
    t.equal(keys.json.length, 2)
    t.equal((await run('b', {}, 'audit', 'verify', ...json)).json.head, after.json.head)
  })
})
