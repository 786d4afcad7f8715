import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { bootstrap } from '../../coordinator/access/keys/bootstrap.ts'
import { createToken } from '../../coordinator/fleet/enrolment/join-tokens.ts'
import { openStore } from '../../coordinator/kernel/store/store.ts'
import { createDeviceId } from '../../devices/device-id.ts'
import { createApiCaller, startDeviceCell } from '../support/device-fleet.ts'
import { placeEmptyStore } from '../support/empty-store.ts'
import { FakeLink } from '../support/fake-link.ts'
import { MEMORY_FOLDER } from '../support/memory-folder.ts'
import { Process } from '../support/stack.ts'
import { waitUntil } from '../support/wait-until.ts'

/* A coordinator as a process that is killed, and a cell in this process with a device. */

const CART = createDeviceId('cart')
type Json = Record<string, unknown>

const AT_REST = { state: 'at_rest' as const, at: 1_800_000_000_000, values: { speed_m_s: 0 } }

const openFleet = async (t: Test) => {
  const folder = mkdtempSync(join(MEMORY_FOLDER, 'shoal-restart-'))
  const stateDir = join(folder, 'coordinator')
  placeEmptyStore(stateDir)
  const store = await openStore(stateDir)
  const { keys } = await bootstrap(store)
  const once = { uses: 1, ttlMinutes: 5 }
  const { secret: joinToken } = await createToken(store.ledger, once, { actor: 'test' })
  await store.close()
  let port = '0'
  const coordinator = new Process('shoal-coordinator', () => [
    ...['--state-dir', stateDir, '--http-port', port],
  ])
  const start = async (): Promise<string> => {
    coordinator.start()
    const [, url = '', chosen = ''] = await coordinator.line(
      /"url":"(http:\/\/127\.0\.0\.1:(\d+))"/,
    )
    port = chosen
    return url
  }
  const url = await start()
  const link = new FakeLink()
  link.add(CART)
  link.seen = AT_REST
  const stopCell = startDeviceCell(
    { links: [link] },
    { stateDir: join(folder, 'cell'), url, joinToken },
  )
  const { call } = createApiCaller(url, keys)
  t.teardown(async () => {
    await stopCell()
    await coordinator.end('SIGTERM')
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  })
  await waitUntil('the device can be planned for', async () => {
    const input = { command: 'look', params: {} }
    const { body } = await call('operator', 'POST', `/v1/devices/${CART}/plan`, input)
    return body.passes === true
  })
  return { link, call, coordinator, start, stopCell }
}
t.setTimeout(120_000)

t.test('a coordinator that is killed while a command is under way', async t => {
  const { link, call, coordinator, start, stopCell } = await openFleet(t)
  const show = async (id: unknown) => (await call('operator', 'GET', `/v1/commands/${id}`)).body

  await t.test('learns its outcome later, and answers a repeated call with it', async t => {
    const begun = Promise.withResolvers<void>()
    const release = Promise.withResolvers<void>()
    link.execution = async () => {
      begun.resolve()
      await release.promise
      return { image: 1 }
    }
    const path = `/v1/devices/${CART}/commands`
    const look = () => call('operator', 'POST', path, { command: 'look', params: {} }, 'one-key')
    const first = look()
    await begun.promise
    const { body } = await call('operator', 'GET', '/v1/commands')
    const [{ id } = {} as Json] = body.commands as Json[]
    await Promise.all([t.rejects(first), coordinator.end('SIGKILL')])
    release.resolve()
    await start()
    const wanted = { id, state: 'succeeded', result: { image: 1 }, seen: { state: 'at_rest' } }
    const repeated = await waitUntil(
      'the repetition is answered',
      async () => {
        const answer = await look()
        return answer.status !== 409 && answer
      },
      250,
    )
    t.match(repeated, { status: 200, body: wanted })
    t.match(await show(id), wanted)
    t.equal(link.executed.length, 1, 'it was carried out once')
  })

  await t.test('keeps the alert of a stop that no cell has answered', async t => {
    await stopCell()
    const { body } = await call('operator', 'POST', `/v1/devices/${CART}/stop`, {})
    t.match(body, { state: 'queued', reason: 'unconfirmed' })
    const listAlerts = async () => (await call('operator', 'GET', '/v1/alerts')).body.alerts
    const alert = { rule: 'stop_unconfirmed', part: CART, cleared_at: null }
    const [raised] = await waitUntil('the alert is raised', async () => {
      const alerts = (await listAlerts()) as Json[]
      return alerts.length > 0 && alerts
    })
    t.match(raised, alert)
    await coordinator.end('SIGKILL')
    await start()
    t.match(await listAlerts(), [{ ...alert, id: raised?.id }])
  })
})
