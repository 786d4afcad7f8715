import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { request } from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { bootstrap } from '../../coordinator/access/keys/bootstrap.ts'
import { createToken } from '../../coordinator/fleet/enrolment/join-tokens.ts'
import { openStore } from '../../coordinator/kernel/store/store.ts'
import { LINK_PATH, MQTT_PATH } from '../../shared/wire/link.ts'
import { placeEmptyStore } from '../support/empty-store.ts'
import { MEMORY_FOLDER } from '../support/memory-folder.ts'
import { RawMqtt } from '../support/raw-mqtt.ts'
import { spawnShoal } from '../support/shoal-program.ts'
import { Process } from '../support/stack.ts'
import { waitUntil } from '../support/wait-until.ts'

/*
 * Real programs at their most talkative, and every kind of secret in every place where it may be
 * put by mistake: no log, audit row, event or metric has one, or all but two of its characters.
 */

const folder = mkdtempSync(join(MEMORY_FOLDER, 'shoal-secrets-'))
const stateDir = join(folder, 'coordinator')
const cellDir = join(folder, 'cell')
t.teardown(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))

/** Sends the secret in every part of a REST request. */
const tryRest = async (url: string, key: string, secret: string): Promise<void> => {
  const good = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const call = (path: string, init: RequestInit = {}) =>
    fetch(`${url}${path}`, { headers: good, ...init }).then(response => response.text())
  const post = (path: string, body: object | string) =>
    call(path, {
      method: 'POST',
      body: typeof body === 'string' ? body : JSON.stringify(body),
    })
  const at = encodeURIComponent(secret)
  const basic = Buffer.from(`${secret}:${secret}`).toString('base64')
  for (const header of [
    { authorization: `Bearer ${secret}` },
    { authorization: `Basic ${basic}` },
    { authorization: secret },
    { 'x-svc-tenant': secret },
    { 'x-request-id': secret },
    { 'user-agent': secret },
    { traceparent: secret },
    { 'idempotency-key': secret },
  ])
    await call('/v1/models', { headers: { ...good, ...header } })
  for (const path of [`/v1/models?key=${at}`, `/v1/${at}`, `/v1/keys/${at}`, `/v1/cells/${at}`])
    await call(path)
  await post('/v1/chat/completions', { model: secret, messages: [{ role: 'user', content: 'x' }] })
  await post('/v1/chat/completions', `{"model": ${secret}`)
  await post('/v1/skills/fleet-utilization', { [secret]: secret })
  await post('/v1/cells/enrol', { token: secret, name: secret, public_key: secret, proof: secret })
  const rpc = { jsonrpc: '2.0', id: secret }
  await post('/mcp', { ...rpc, method: 'tools/call', params: { name: secret, arguments: {} } })
  await post('/a2a', { ...rpc, method: secret, params: { message: { contextId: secret } } })
}

/** Asks for both upgrades with the secret as cell, credential and start. */
const tryUpgrades = async (url: string, secret: string): Promise<void> => {
  const authorization = `Basic ${Buffer.from(`${secret}:${secret}`).toString('base64')}`
  for (const [path, upgrade] of [
    [LINK_PATH, 'shoal-link/1'],
    [MQTT_PATH, 'mqtt'],
  ]) {
    const headers = { connection: 'Upgrade', upgrade, authorization, 'x-shoal-boot-id': secret }
    const asked = request(`${url}${path}`, { headers, agent: false }).end()
    const [response] = await once(asked, 'response')
    response.resume()
    await once(response, 'end')
  }
}

interface Login {
  clientId: string
  username: string
  password: Buffer
}

/** Connects to the plain MQTT port with the secret in every field, and as a cell misuses topics. */
const tryMqtt = async (mqttUrl: string, cell: Login, secret: string): Promise<void> => {
  const dial = async (): Promise<RawMqtt> => {
    const socket = connect(Number(new URL(mqttUrl).port), '127.0.0.1')
    await once(socket, 'connect')
    return new RawMqtt(socket)
  }
  const will = { topic: secret, payload: Buffer.from(secret), qos: 0, retain: false } as const
  for (const login of [
    { clientId: secret, username: secret, password: Buffer.from(secret) },
    { ...cell, clientId: secret },
    { ...cell, password: Buffer.from(secret) },
    { ...cell, will },
  ]) {
    const client = await dial()
    await client.connect(login).catch(() => {})
    client.socket.destroy()
  }
  for (const misuse of [
    (client: RawMqtt) => client.publish(secret, secret).closed,
    (client: RawMqtt) => client.subscribe(secret),
    (client: RawMqtt) => client.publish(`shoal/v1/cells/${cell.clientId}/birth`, secret).ping(),
  ]) {
    const client = await dial()
    if ((await client.connect(cell)).returnCode === 0) await misuse(client)
    client.socket.destroy()
  }
}

/** Creates a webhook and returns its secret, which is shown once. */
const createWebhook = async (url: string, key: string): Promise<string> => {
  const answer = await fetch(`${url}/v1/webhooks`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ url: 'https://127.0.0.1/hook', types: ['shoal.cell.*'] }),
  })
  return ((await answer.json()) as { secret: string }).secret
}

t.test('no secret in any place ends up in a log, the audit, the events or metrics', async t => {
  placeEmptyStore(stateDir)
  const store = await openStore(stateDir)
  const { keys } = await bootstrap(store)
  const newToken = async () =>
    (await createToken(store.ledger, { uses: 2, ttlMinutes: 10 }, { actor: 'test' })).secret
  const tokens = [await newToken(), await newToken()]
  await store.close()

  const coordinator = new Process('shoal-coordinator', () => [
    ...['--state-dir', stateDir, '--http-port', '0', '--log-level', 'debug'],
    ...['--mqtt-enabled', 'true', '--mqtt-port', '0', '--outbound-allow', '127.0.0.1:443'],
  ])
  const cell = new Process(
    'shoald',
    () => [
      ...['--state-dir', cellDir, '--coordinator-url', url, '--log-level', 'debug'],
      ...['--inference-preload', 'false'],
    ],
    { SHOAL_COORDINATOR_JOIN_TOKEN: tokens[0] as string },
  )
  t.teardown(async () => {
    await cell.end('SIGTERM')
    await coordinator.end('SIGTERM')
  })
  coordinator.start()
  const [line] = await coordinator.line(/.*coordinator is up.*/)
  const { url, mqtt_url: mqttUrl } = JSON.parse(line)
  cell.start()
  await cell.line(/"msg":"enrolled"/)
  const identity = await waitUntil('the identity of the cell', () =>
    JSON.parse(readFileSync(join(cellDir, 'identity.json'), 'utf8')),
  )
  const clientId = identity.cell_id as string
  const login = { clientId, username: clientId, password: Buffer.from(identity.credential) }

  const secrets: string[] = [
    ...Object.values(keys),
    ...tokens,
    identity.credential,
    await createWebhook(url, keys.operator),
    readFileSync(join(stateDir, 'sealing.key'), 'utf8').trim(),
    'postgres://shoal:a-password-of-the-database@db/shoal',
  ]
  for (const secret of secrets) {
    await tryRest(url, keys.operator, secret)
    await tryUpgrades(url, secret)
    await tryMqtt(mqttUrl, login, secret)
    const told = await spawnShoal({ SHOAL_URL: url, SHOAL_KEY: secret }, ['cells', 'list'])
    t.notOk(`${told.out}${told.err}`.includes(secret.slice(0, -2)), 'the command line')
  }

  const scraped = await fetch(`${url}/metrics`, {
    headers: { authorization: `Bearer ${keys.operator}` },
  })
  const metrics = await scraped.text()
  t.equal(scraped.status, 200)
  await cell.end('SIGTERM')
  await coordinator.end('SIGTERM')
  const kept = await openStore(stateDir)
  const read = (table: 'audit' | 'events') =>
    kept.ledger.read.selectFrom(table).selectAll().execute()
  const rows = JSON.stringify([await read('audit'), await read('events')])
  await kept.close()

  const places = {
    metrics,
    'audit and events': rows,
    'log of the coordinator': coordinator.lines.join('\n'),
    'log of the cell': cell.lines.join('\n'),
  }
  t.ok(coordinator.lines.length > 10 && rows.includes(clientId), 'there is something to search')
  for (const [place, text] of Object.entries(places))
    for (const secret of new Set([...secrets, 'a-password-of-the-database'])) {
      t.notOk(text.includes(secret.slice(0, -2)), `${place}: the beginning of a secret`)
      t.notOk(text.includes(secret.slice(2)), `${place}: the end of a secret`)
    }
})
