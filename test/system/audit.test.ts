import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { sql } from 'kysely'
import t from 'tap'
import { openStore } from '../../coordinator/store/store.ts'
import { pause, startStack } from '../support/stack.ts'

t.test('a cell gives away an audit that was cut while the coordinator was down', async t => {
  const stack = await startStack({})
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
  while (!existsSync(kept)) await pause()

  await stack.coordinator.end('SIGKILL')
  const stateDir = join(stack.folder, 'coordinator')
  const store = await openStore(stateDir)
  await store.ledger.write(async trx => {
    await sql`drop trigger audit_no_delete`.execute(trx)
    await trx.deleteFrom('audit').where('seq', '>', 3).execute()
  })
  await store.close()
  // whoever has the disk has this file too; only the cell knows better
  rmSync(join(stateDir, 'audit-head.json'))

  stack.coordinator.start()
  await stack.coordinator.line(/row \d+ was seen and is gone.*the audit was tampered with/)
  await stack.until(({ cells, models }) => cells === 1 && models > 0)
  const refused = await ask('/v1/persons', { name: 'Bob' })
  t.match(refused, { status: 503, json: { error: { code: 'audit_broken' } } })
  const message = { role: 'user', content: 'What is a cell?' }
  const chat = await ask('/v1/chat/completions', { model: 'model-a:7b', messages: [message] })
  t.equal(chat.status, 200, 'what only reads goes on, with the quota that is left')
})
