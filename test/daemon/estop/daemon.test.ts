import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { estopCommand } from '../../../daemon/cli/estop.ts'
import { DaemonConfig } from '../../../daemon/config.ts'
import { daemon } from '../../../daemon/daemon.ts'
import type { InferenceBackend } from '../../../daemon/daemon-parts.ts'
import { writeIdentity } from '../../../daemon/identity.ts'
import { createSigner, generatePrivateKey } from '../../../shared/signing.ts'
import { type EstopBody, EstoppedBody, signEstop } from '../../../shared/wire/estop.ts'
import { topicFor } from '../../../shared/wire/topics.ts'
import { logger, newIdentity, standIn, waitUntilTrue } from '../stand-in.ts'
import { engaged, NOW, released } from './scene.ts'

const coordinatorKey = createSigner(generatePrivateKey())

const inference = {
  name: 'inference',
  start: async () => {},
  reports: () => [],
  onChange: () => () => {},
  handle: () => {},
} as unknown as InferenceBackend

/** A real daemon with two simulated devices, and a coordinator that the test plays. */
const scene = async (t: Test) => {
  const folder = mkdtempSync(join(tmpdir(), 'shoal-estop-daemon-'))
  const coordinator = await standIn()
  const stateDir = join(folder, 'state')
  const identity = newIdentity(coordinator.url)
  await writeIdentity(stateDir, { ...identity, coordinator_key: coordinatorKey.publicKey })
  const running: { stop: AbortController; ended: Promise<void> }[] = []
  t.teardown(async () => {
    for (const { stop } of running) stop.abort()
    await Promise.all(running.map(({ ended }) => ended))
    await coordinator.close()
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  })
  const start = () => {
    const stop = new AbortController()
    const devices = [
      { name: 'rover-1', profile: 'sim-rover' },
      { name: 'switch-1', profile: 'sim-switch' },
    ]
    const config = DaemonConfig.parse({
      name: 'n',
      state_dir: stateDir,
      coordinator: { url: coordinator.url },
      devices: { site: 'hall', links: [{ kind: 'sim', devices }] },
    })
    const signal = stop.signal
    const ended = daemon({ config, env: { PATH: folder }, inference, logger, signal })
    const one = {
      stop,
      ended,
      end: async () => {
        stop.abort()
        await ended
      },
    }
    running.push(one)
    return one
  }
  const reports = (): EstoppedBody[] =>
    coordinator.heard
      .filter(({ topic }) => topic === 'estopped')
      .map(({ message }) => EstoppedBody.parse(message.body))
  const send = (document: Pick<EstopBody, 'version' | 'engaged' | 'released'>): void => {
    const body = { ...document, cell_id: identity.cell_id, issued_at: NOW }
    coordinator.tell(topicFor('estop', identity.cell_id), 'estop', signEstop(body, coordinatorKey))
  }
  const shoald = async (...argv: string[]): Promise<string> => {
    let text = ''
    const write = (said: string): void => {
      text += said
    }
    const signal = new AbortController().signal
    await estopCommand({ argv: [...argv, '--state-dir', stateDir], env: {}, write, logger, signal })
    return text
  }
  const isReady = () => coordinator.heard.some(({ topic }) => topic === 'state')
  return { coordinator, start, reports, send, shoald, isReady }
}

t.test('a daemon latches a stop of the fleet over its restart, until it is released', async t => {
  const { coordinator, start, reports, send, isReady } = await scene(t)
  const first = start()
  await waitUntilTrue(isReady)
  const stop = engaged({ scope: 'site', target: 'hall' })
  send({ version: 3, engaged: [stop], released: [] })
  await waitUntilTrue(() => reports().some(({ latched }) => latched[0]?.failed.length === 0))
  t.match(reports().at(-1), { version: 3, latched: [{ estop_id: stop.estop_id, is_local: false }] })
  await first.end()
  coordinator.heard.length = 0
  start()
  await waitUntilTrue(() => reports().length > 0)
  t.match(reports()[0], { version: 3, latched: [{ estop_id: stop.estop_id }] })
  send({ version: 4, engaged: [], released: [released(stop)] })
  await waitUntilTrue(() => reports().at(-1)?.latched.length === 0)
})

t.test('a daemon without its coordinator is stopped and released on the machine', async t => {
  const { coordinator, start, reports, shoald, isReady } = await scene(t)
  start()
  await waitUntilTrue(isReady)
  coordinator.state.refuse = { status: 503, body: '{}' }
  coordinator.cut()
  t.match(
    await shoald('--device', 'rover-1', '--reason', 'smoke'),
    /rover-1 \(dev_\w+\) .*local:.*: smoke/,
  )
  t.match(await shoald('--reason', 'fire'), /all .*: fire/)
  t.equal(reports().length, 0)
  coordinator.state.refuse = undefined
  await waitUntilTrue(() => reports().length > 0)
  t.match(reports()[0], { latched: [{ is_local: true, scope: 'device' }, { scope: 'all' }] })
  t.match(await shoald('release', '--reason', 'done'), 'No e-stop is latched.')
  await waitUntilTrue(() => reports().at(-1)?.latched.length === 0)
  t.match(reports().at(-1), { released: [{ reason: 'done' }, { reason: 'done' }] })
})
