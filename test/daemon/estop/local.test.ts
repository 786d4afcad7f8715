import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { createConnection } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { estopCommand } from '../../../daemon/cli/estop.ts'
import { EstopLatch } from '../../../daemon/estop/latch.ts'
import { openLatchFile } from '../../../daemon/estop/latch-file.ts'
import { MAX_REQUEST_BYTES } from '../../../daemon/estop/local-request.ts'
import { openEstopSocket } from '../../../daemon/estop/local-socket.ts'
import { createDeviceId } from '../../../devices/device-id.ts'
import { lockState } from '../../../shared/state-lock.ts'
import { silent } from '../../support/cell.ts'
import { DEV_A, DEV_B } from '../../support/device-ids.ts'
import { cellWith, device } from './scene.ts'

const folderOf = (t: Test): string => {
  const folder = mkdtempSync(join(tmpdir(), 'shoal-estop-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Runs `shoald estop` on a state folder; resolves with what it prints. */
const shoald = async (stateDir: string, ...argv: string[]): Promise<string> => {
  let text = ''
  await estopCommand({
    argv: [...argv, '--state-dir', stateDir],
    env: {},
    write: said => {
      text += said
    },
    logger: silent,
    signal: new AbortController().signal,
  })
  return text
}

/** A daemon, as far as e-stops need it: the lock, the latch and the socket. */
const running = async (
  t: Test,
  devices = [device(DEV_A), device(DEV_B)],
  stateDir = folderOf(t),
) => {
  const stop = new AbortController()
  t.teardown(() => stop.abort())
  await lockState(stateDir, stop.signal)
  const file = openLatchFile(stateDir)
  const at = await cellWith(devices, { ...memoryDisk, file })
  await openEstopSocket({ stateDir, estop: at.estop, signal: stop.signal, logger: silent })
  return { ...at, stateDir, stop }
}

const memoryDisk = {
  disk: { text: undefined, fault: undefined, wait: Promise.resolve(), writes: 0 },
}

const readLatch = async (stateDir: string) => {
  const file = openLatchFile(stateDir)
  return (await EstopLatch.open({ file, now: Date.now, logger: silent })).list()
}

t.test('a person on the machine stops and releases the cell without the coordinator', async t => {
  const { stateDir, stopped, stoppedIds } = await running(t)
  t.match(await shoald(stateDir, 'status'), 'No e-stop is latched.')
  t.match(await shoald(stateDir, '--reason', 'smoke'), /Latched e-stops:\nest_\S+ {2}all .*smoke/)
  t.strictSame(stopped, [DEV_A, DEV_B])
  t.match(await readLatch(stateDir), [{ scope: 'all', is_local: true, reason: 'smoke' }])
  t.match(await shoald(stateDir, 'release', '--reason', 'done'), /Released est_/)
  t.strictSame(stoppedIds(), [])
  t.strictSame(await readLatch(stateDir), [])
})

t.test('one device is stopped by its name', async t => {
  const { stateDir, stoppedIds } = await running(t)
  await shoald(stateDir, '--device', `name of ${DEV_B}`, '--reason', 'smoke')
  t.strictSame(stoppedIds(), [DEV_B])
  t.match(await shoald(stateDir, 'status'), `name of ${DEV_B} (${DEV_B})`, 'and shown by it')
  await t.rejects(shoald(stateDir, '--device', 'nobody', '--reason', 'smoke'), {
    message: /no device "nobody"; without --device the whole cell stops/,
  })
  await t.rejects(shoald(stateDir, 'relase', '--reason', 'done'), {
    code: 'wrong_usage',
    message: /"relase" is not a subcommand of shoald estop.* status and release/,
  })
})

t.test('every device of a name is stopped, and nobody needs a reason', async t => {
  const { stateDir, stoppedIds } = await running(t, [
    { ...device(DEV_A), name: 'Lamp' },
    { ...device(DEV_B), name: 'lamp' },
    device(createDeviceId('c')),
  ])
  t.match(await shoald(stateDir, '--device', 'lamp'), /: no reason given/)
  t.strictSame(stoppedIds(), [DEV_A, DEV_B])
  t.match(await shoald(stateDir, 'release'), /Released est_\w+\.\nReleased est_/)
  t.strictSame(stoppedIds(), [])
})

t.test('the socket belongs to its owner alone, and ends bad requests', async t => {
  const { stateDir, stoppedIds } = await running(t)
  t.equal(statSync(join(stateDir, 'estop.sock')).mode & 0o777, 0o600)
  for (const text of ['nonsense\n', '{}\n', 'x'.repeat(MAX_REQUEST_BYTES + 1)]) {
    const socket = createConnection(join(stateDir, 'estop.sock'))
    let answer = ''
    socket.write(text)
    for await (const chunk of socket.setEncoding('utf8')) answer += chunk
    t.match(JSON.parse(answer), { error: String })
  }
  t.strictSame(stoppedIds(), [])
})

t.test('a daemon that does not run starts with the stop that was engaged meanwhile', async t => {
  const stateDir = folderOf(t)
  t.match(await shoald(stateDir, '--reason', 'smoke'), 'The daemon does not run')
  const { stoppedIds, stopped, stop } = await running(t, undefined, stateDir)
  t.strictSame(stoppedIds(), [DEV_A, DEV_B])
  t.strictSame(stopped, [DEV_A, DEV_B])
  stop.abort()
  t.match(await shoald(stateDir, 'release', '--reason', 'done'), 'No e-stop is latched.')
})
