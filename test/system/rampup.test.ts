import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { stringify } from 'yaml'
import { createUsage } from '../../coordinator/access/quota/usage.ts'
import { openStore } from '../../coordinator/kernel/store/store.ts'
import { startStack } from '../support/stack.ts'
import { waitUntil } from '../support/wait-until.ts'

/* A real coordinator and two real daemons. */

type Json = Record<string, unknown>

const rampup = (intervalSeconds: number, holdSeconds: number) => ({
  document: { telemetry: { interval_seconds: intervalSeconds } },
  stages_percent: [50, 100],
  apply_seconds: 600,
  hold_seconds: holdSeconds,
  min_requests: 10,
})

t.test('a ramp-up of real cells', async t => {
  const settings = { rampup: rampup(2, 1) }
  const stack = await startStack({
    cells: 2,
    inference: { preload: false },
    settings,
    cellSettings: { probation_seconds: 1 },
  })
  t.teardown(() => stack.stop())
  const { url, keys, coordinator } = stack

  const ask = async (key: string, path: string, body?: Json) => {
    const response = await fetch(`${url}${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    })
    return { status: response.status, json: (await response.json()) as Json }
  }
  const control = (action: string) => ask(keys.operator, '/v1/skills/rampup-control', { action })
  /** The newest ramp-up once it is right; while the coordinator starts there is none. */
  const rampUpIs = (what: string, isRight: (rampUp: Json) => boolean) =>
    waitUntil(
      `a ramp-up that ${what}`,
      async () => {
        const { json } = await control('status').catch(() => ({ json: {} as Json }))
        const found = json.ramp_up as Json | null | undefined
        return found && isRight(found) && found
      },
      500,
    )
  const start = async () => {
    const asked = await control('start')
    t.match(asked, { status: 202, json: { status: 'pending', gate_id: 'gate.production-deploy' } })
    const { request_id } = asked.json
    await ask(keys.approver_a, `/v1/gates/requests/${request_id}/approve`, {})
    const started = await control('start')
    t.match(started, { status: 200, json: { ramp_up: { state: 'running', stage: 1 } } })
    return started.json.ramp_up as { stages: { cell_ids: string[] }[] }
  }
  const documentOf = async (id: string) => {
    const { json } = await ask(keys.operator, `/v1/cells/${id}/config`)
    const sources = json.sources as { scope: string; document: Json }[]
    return sources.find(({ scope }) => scope === 'cell')?.document
  }
  // both serve requests: a plan that is asked for sooner has one cell
  const isReady = () =>
    waitUntil('a plan for two cells', async () => {
      const asked = ask(keys.operator, '/v1/rampup/plan').catch(() => ({ json: {} as Json }))
      const { stages = [] } = (await asked).json as { stages?: { cell_ids: string[] }[] }
      return stages.flatMap(({ cell_ids }) => cell_ids).length === 2
    })
  await isReady()

  await t.test('goes on after kill -9 as it was planned and reaches every cell', async t => {
    const { stages } = await start()
    await coordinator.end('SIGKILL')
    // the ramp-up that runs keeps its plan
    writeFileSync(stack.config, stringify({ log: { level: 'info' }, rampup: rampup(3, 3600) }))
    coordinator.start()
    await coordinator.line(/coordinator is up/)
    const ended = await rampUpIs('has ended', ({ state }) => state !== 'running')
    t.match(ended, { state: 'done', reason: null, stage: 2 })
    for (const id of stages.flatMap(({ cell_ids }) => cell_ids))
      t.strictSame(await documentOf(id), { telemetry: { interval_seconds: 2 } })
  })

  await t.test('is aborted when requests fail, and restores the settings', async t => {
    const { stages } = await start()
    await rampUpIs('holds', ({ holding }) => holding === true)
    const [first = '', second = ''] = stages.flatMap(({ cell_ids }) => cell_ids)
    t.strictSame(await documentOf(first), { telemetry: { interval_seconds: 3 } })
    await failRequests(join(stack.folder, 'coordinator'), first, 12)
    const ended = await rampUpIs('has ended', ({ state }) => state !== 'running')
    t.match(ended, { state: 'aborted', reason: /^100.0 percent of 12 requests failed/, stage: 1 })
    for (const id of [first, second])
      t.strictSame(await documentOf(id), { telemetry: { interval_seconds: 2 } })
  })
})

/** Requests that a cell has failed just now. */
const failRequests = async (stateDir: string, cellId: string, count: number): Promise<void> => {
  const store = await openStore(stateDir, { mustExist: true, pollMilliseconds: 0 })
  const rows = Array.from({ length: count }, (_, n) => ({
    id: `use_${n}`,
    at: Date.now(),
    key_id: 'k',
    tenant_id: 'demo',
    model: 'model-a:7b',
    cell_id: cellId,
    route: '/v1/chat/completions',
    status: 'failed' as const,
    prompt_tokens: null,
    completion_tokens: null,
    cached_tokens: null,
    duration_ms: 1,
    request_id: `r${n}`,
  }))
  const usage = createUsage(store)
  await usage.recordRows(rows)
  await usage.anchor()
  await store.close()
}
