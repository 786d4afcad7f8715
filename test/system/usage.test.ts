import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { startStack } from '../support/stack.ts'
import { waitUntil } from '../support/wait-until.ts'

t.test('a start reports the hours whose usage is gone with the records', async t => {
  const stack = await startStack({ inference: { preload: false } })
  t.teardown(stack.stop)
  const ask = async (path: string, key: string, body?: object) => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    const init = body && { method: 'POST', body: JSON.stringify(body) }
    const response = await fetch(`${stack.url}${path}`, { headers, ...init })
    return (await response.json()) as Record<string, unknown>
  }
  const { enterprise, operator } = stack.keys
  const messages = [{ role: 'user', content: 'What is a cell?' }]
  for (let n = 0; n < 3; n++)
    await ask('/v1/chat/completions', enterprise, { model: 'model-a:7b', messages, max_tokens: 2 })
  t.match(await ask('/v1/usage', enterprise), { usage: [{ requests_ok: 3 }] })

  await stack.coordinator.end('SIGKILL')
  const stateDir = join(stack.folder, 'coordinator')
  for (const name of readdirSync(stateDir))
    if (name.startsWith('records.db')) rmSync(join(stateDir, name))
  stack.coordinator.start()
  await stack.coordinator.line(
    /"hour":"[\d-]+T\d\d:00:00.000Z","requests_expected":3,"requests_found":0.*usage of an hour is missing/,
  )
  await stack.waitForHealth(({ cells }) => cells === 1)
  t.match(await ask('/health', operator), { status: 'degraded', usage: 'incomplete' })
  const raised = await waitUntil('the alert is raised', async () => {
    const { alerts } = await ask('/v1/alerts', operator)
    return (alerts as { rule: string }[]).find(({ rule }) => rule === 'usage_missing')
  })
  t.match(raised, { level: 'critical', message: /one hour: .* has 0 of 3 requests/ })
  t.equal((await fetch(`${stack.url}/readyz`)).status, 200, 'requests are served')
})
