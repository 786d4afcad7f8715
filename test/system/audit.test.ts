import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { sql } from 'kysely'
import t from 'tap'
import { bootstrap } from '../../coordinator/access/keys/bootstrap.ts'
import { appendAudit } from '../../coordinator/kernel/audit/audit.ts'
import { restartSequence } from '../../coordinator/kernel/store/sequences.ts'
import { openStore } from '../../coordinator/kernel/store/store.ts'
import { placeEmptyStore } from '../support/empty-store.ts'
import { MEMORY_FOLDER } from '../support/memory-folder.ts'
import { Process, startStack } from '../support/stack.ts'
import { waitUntil } from '../support/wait-until.ts'

t.test('a cell reveals an audit that was cut while the coordinator was down', async t => {
  const stack = await startStack({ inference: { preload: false } })
  t.teardown(stack.stop)
  const ask = async (path: string, body: object) => {
    const headers = {
      authorization: `Bearer ${stack.keys.operator}`,
      'content-type': 'application/json',
    }
    const init = { method: 'POST', headers, body: JSON.stringify(body) }
    const response = await fetch(`${stack.url}${path}`, init)
    return { status: response.status, json: (await response.json()) as Record<string, unknown> }
  }
  t.equal((await ask('/v1/persons', { name: 'Ada' })).status, 200)
  const kept = join(stack.folder, 'cell-0', 'audit-head.json')
  await waitUntil('the cell keeps a head of the audit', () => existsSync(kept))

  await stack.coordinator.end('SIGKILL')
  const stateDir = join(stack.folder, 'coordinator')
  const store = await openStore(stateDir)
  await store.ledger.sealed.write(async trx => {
    await sql`drop trigger audit_no_delete`.execute(trx)
    await trx.deleteFrom('audit').where('seq', '>', 3).execute()
    await restartSequence(trx, 'audit', 3)
  })
  await store.close()
  // who has the disk has the counter and this file too; only the cell knows better
  rmSync(join(stateDir, 'audit-head.json'))

  stack.coordinator.start()
  await stack.coordinator.line(/row \d+ was seen and is gone.*the audit was tampered with/)
  await stack.waitForHealth(({ cells }) => cells === 1)
  const refused = await ask('/v1/persons', { name: 'Bob' })
  t.match(refused, { status: 503, json: { error: { code: 'audit_broken' } } })
  const message = { role: 'user', content: 'What is a cell?' }
  const chat = await ask('/v1/chat/completions', { model: 'model-a:7b', messages: [message] })
  t.equal(chat.status, 200, 'what only reads goes on, with the quota that is left')

  await stack.coordinator.end('SIGKILL')
  stack.coordinator.start()
  await stack.waitForHealth(({ cells }) => cells === 1)
  t.match(await ask('/v1/persons', { name: 'Bob' }), { status: 503 }, 'a new start ends nothing')
  t.equal(
    (await ask('/v1/chat/completions', { model: 'model-a:7b', messages: [message] })).status,
    200,
  )
})

t.test('a coordinator purges expired rows at its start, and logs it', async t => {
  const folder = mkdtempSync(join(MEMORY_FOLDER, 'shoal-purge-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))
  placeEmptyStore(folder)
  const store = await openStore(folder)
  const old = { actor: 'a', action: 'test.run', subject: 's', outcome: 'done' } as const
  const at = Date.now() - 3 * 365 * 86_400_000
  for (let n = 0; n < 3; n++)
    await store.ledger.sealed.write(trx => appendAudit(trx, { ...old, at: at + n }))
  const { keys } = await bootstrap(store)
  await store.close()

  const args = ['--state-dir', folder, '--http-port', '0']
  const coordinator = new Process('shoal-coordinator', () => args)
  coordinator.start()
  t.teardown(() => coordinator.end('SIGTERM'))
  const purged = { seq: 3, rows: 3, retention_days: 400, last_at: new Date(at + 2).toISOString() }
  const fetchVerification = async () => {
    const [, url = ''] = await coordinator.line(/"url":"(http:\/\/127\.0\.0\.1:\d+)"/)
    const headers = { authorization: `Bearer ${keys.operator}` }
    return (await fetch(`${url}/v1/audit/verify`, { headers })).json()
  }
  await coordinator.line(/"rows":3.*expired audit rows were purged/)
  t.match(await fetchVerification(), { ok: true, purged, reason: null })
  await coordinator.end('SIGTERM')
  coordinator.start()
  t.match(
    await fetchVerification(),
    { ok: true, purged, reason: null },
    'and believes itself later',
  )
})

t.test('rows cut after a clean stop are reported at each start', async t => {
  const folder = mkdtempSync(join(MEMORY_FOLDER, 'shoal-cut-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))
  const args = ['--state-dir', folder, '--http-port', '0']
  const coordinator = new Process('shoal-coordinator', () => args)
  t.teardown(() => coordinator.end('SIGKILL'))
  placeEmptyStore(folder)
  const prepared = await openStore(folder)
  await bootstrap(prepared)
  await prepared.close()
  coordinator.start()
  await coordinator.line(/coordinator is up/)
  await coordinator.end('SIGTERM')
  t.ok(existsSync(join(folder, 'audit-head.json')), 'the stop has signed a head')

  const store = await openStore(folder)
  await store.ledger.sealed.write(async trx => {
    await sql`drop trigger audit_no_delete`.execute(trx)
    await trx.deleteFrom('audit').where('seq', '>', 3).execute()
  })
  await store.close()
  rmSync(join(folder, 'audit-head.json'))
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    coordinator.start()
    await coordinator.line(/row \d+ was numbered and is gone.*the audit was tampered with/)
    await coordinator.end(signal)
  }
})
