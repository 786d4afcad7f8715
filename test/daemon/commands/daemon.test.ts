import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import * as z from 'zod'
import type { Verb } from '../../../daemon/commands/verb.ts'
import { DaemonConfig } from '../../../daemon/config.ts'
import { daemon } from '../../../daemon/daemon.ts'
import type { InferenceBackend } from '../../../daemon/daemon-parts.ts'
import { newId } from '../../../shared/ids.ts'
import { createSigner, generatePrivateKey } from '../../../shared/signing.ts'
import { Announce } from '../../../shared/wire/announce.ts'
import { Ack, type Command, isGenuineAck, signCommand } from '../../../shared/wire/command.ts'
import { signDesired } from '../../../shared/wire/desired.ts'
import { envelope } from '../../../shared/wire/envelope.ts'
import { topicFor } from '../../../shared/wire/topics.ts'
import { approvalFor } from '../../support/approval-for.ts'
import { logger, standIn, waitUntilTrue } from '../stand-in.ts'

/* A real daemon that has an unsafe verb, and a coordinator that says what the test wants. */

const signer = createSigner(generatePrivateKey())

const inference: InferenceBackend = {
  name: 'inference',
  start: async () => {},
  reports: () => [],
  onChange: () => () => {},
  handle: () => {},
}

/** `clockAheadMs`: by how much the clock of the coordinator is ahead of the cell's. */
const rig = async (t: Test, clockAheadMs: number | undefined) => {
  const folder = mkdtempSync(join(tmpdir(), 'shoal-unsafe-'))
  const coordinator = await standIn()
  const cellId = newId('cell')
  let cellKey = ''
  coordinator.server.on('request', async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    cellKey = JSON.parse(body).public_key
    response.writeHead(201, { 'content-type': 'application/json' })
    const answer = { cell_id: cellId, credential: 'secret', signing_key: signer.publicKey }
    response.end(JSON.stringify(answer))
  })
  const now = () => Date.now() + (clockAheadMs ?? 0)
  const tell = (topic: string, type: string, body: unknown): void => {
    const payload = JSON.stringify(envelope('coordinator', 1, type, body, now()))
    coordinator.broker.publish(
      { cmd: 'publish', topic, payload, qos: 1, retain: false, dup: false },
      () => {},
    )
  }
  coordinator.state.accept = (topic, message) => {
    if (topic === topicFor('birth', cellId) && clockAheadMs !== undefined) {
      const wanted = { version: 0, document: {}, cell_id: cellId, issued_at: now() }
      const body = signDesired({ ...wanted, answers: message.id }, signer)
      setImmediate(() => tell(topicFor('desired', cellId), 'desired', body))
    }
    return true
  }

  const flights = { count: 0 }
  const fly: Verb = {
    verb: 'fly',
    description: '',
    hazard: 'unsafe',
    timeout_seconds: 5,
    params: z.strictObject({}),
    plan: () => ({ operations: ['fly'], bounds: {} }),
    run: async () => {
      flights.count++
      return { flown: true }
    },
  }
  const config = DaemonConfig.parse({
    name: 'n',
    state_dir: join(folder, 'state'),
    coordinator: { url: coordinator.url, join_token: 'good' },
  })
  const start = () => {
    const stop = new AbortController()
    const env = { PATH: folder }
    const ended = daemon({ config, env, inference, verbs: [fly], logger, signal: stop.signal })
    return async (): Promise<void> => {
      stop.abort()
      await ended
    }
  }
  let end = start()
  t.teardown(async () => {
    await end()
    await coordinator.close()
    rmSync(folder, { recursive: true, force: true })
  })
  const restart = async (between = (_state: string) => {}): Promise<void> => {
    await end()
    between(join(folder, 'state'))
    end = start()
  }

  const acks = (): Ack[] =>
    coordinator.heard
      .filter(({ message }) => message.type === 'ack')
      .map(({ message }) => Ack.parse(message.body))
  const send = (): Command => {
    const issued = now()
    const command = signCommand(
      {
        id: newId('cmd'),
        cell_id: cellId,
        verb: 'fly',
        params: {},
        hazard: 'unsafe',
        mode: 'live',
        issued_at: issued,
        not_before: issued,
        expires_at: issued + 10_000,
        fence: issued,
        approval: approvalFor(
          { cell_id: cellId, verb: 'fly', hazard: 'unsafe', operations: ['fly'] },
          { signer, expiresAt: issued + 60_000 },
        ),
      },
      signer,
    )
    tell(topicFor('cmd', cellId, command.id), 'cmd', command)
    return command
  }
  const countHeard = (topic: string): number =>
    coordinator.heard.filter(one => one.topic === topic).length
  /** The cell has the answer to its birth and has told so. */
  const isAsked = () => clockAheadMs === undefined || countHeard('reported') > 1
  await waitUntilTrue(() => countHeard('telemetry') > 0 && isAsked())
  return { coordinator, cellId, key: () => cellKey, send, tell, acks, flights, restart, countHeard }
}

t.test('an unsafe command', async t => {
  t.test('is executed by a cell whose clock is verified, and never again', async t => {
    const at = await rig(t, 0)
    const birth = at.coordinator.heard.find(({ topic }) => topic === 'birth')?.message.body
    const fly = Announce.parse(birth).verbs?.find(({ verb }) => verb === 'fly')
    t.match(fly, { hazard: 'unsafe' })
    const command = at.send()
    await waitUntilTrue(() => at.acks().some(({ state }) => state === 'succeeded'))
    t.ok(at.acks().every(ack => isGenuineAck(ack, at.key())))

    const births = at.countHeard('birth')
    await at.restart()
    await waitUntilTrue(() => at.countHeard('birth') > births && at.countHeard('reported') > 1)
    const before = at.acks().length
    at.tell(topicFor('cmd', at.cellId, command.id), 'cmd', command)
    await waitUntilTrue(() => at.acks().length > before)
    t.match(at.acks().at(-1), { command_id: command.id, state: 'succeeded' })
    t.equal(at.flights.count, 1)
  })

  for (const [title, aheadMs] of [
    ['is never asked for its time', undefined],
    ['is 3 s ahead', 3000],
    ['is 3 s behind', -3000],
  ] as const)
    t.test(`is refused when the clock of the coordinator ${title}`, async t => {
      const at = await rig(t, aheadMs)
      at.send()
      await waitUntilTrue(() => at.acks().length > 0)
      t.match(at.acks(), [{ state: 'rejected', reason: 'clock_untrusted' }])
      t.equal(at.flights.count, 0)
    })

  t.test('that was executing when the daemon died remains unknown', async t => {
    const at = await rig(t, 0)
    const { id } = at.send()
    await waitUntilTrue(() => at.acks().some(({ state }) => state === 'succeeded'))
    await at.restart(state => {
      const path = join(state, 'commands.journal')
      const lines = readFileSync(path, 'utf8').split('\n')
      // the disk as it was before the end was on it
      writeFileSync(path, lines.filter(line => !line.includes('"succeeded"')).join('\n'))
    })
    await waitUntilTrue(() => at.acks().at(-1)?.state === 'unknown')
    t.match(at.acks().at(-1), { command_id: id, reason: 'interrupted' })
    t.equal(at.flights.count, 1)
  })
})
