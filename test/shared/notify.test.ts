import { PassThrough } from 'node:stream'
import t from 'tap'
import { LIFELINE, onLauncherGone } from '../../shared/lifeline.ts'
import { notifySystemd } from '../../shared/notify.ts'

const WATCHED = { NOTIFY_SOCKET: '/x', WATCHDOG_USEC: '9000000' }

t.test('systemd', async t => {
  const run = async (
    env: Record<string, string>,
    stalls: number[],
    healthy: () => boolean = () => true,
  ) => {
    const sent: string[] = []
    const pauses: number[] = []
    const stop = new AbortController()
    let round = 0
    await notifySystemd({
      env,
      send: line => sent.push(line),
      signal: stop.signal,
      longestStallMs: () => stalls[round - 1] ?? 0,
      isHealthy: healthy,
      wait: async milliseconds => {
        pauses.push(milliseconds)
        if (++round > stalls.length) stop.abort()
      },
    })
    return { sent, pauses }
  }

  t.strictSame(await run({}, [0]), { sent: [], pauses: [] }, 'nothing is sent without systemd')
  t.strictSame(
    await run(WATCHED, [0, 4499, 4500, 10]),
    {
      sent: ['READY=1', 'WATCHDOG=1', 'WATCHDOG=1', 'WATCHDOG=1', 'STOPPING=1'],
      pauses: [3000, 3000, 3000, 3000, 3000],
    },
    'the watchdog is fed only while the event loop is responsive',
  )
  const answers = [true, false, true]
  t.strictSame(
    (await run(WATCHED, [0, 0, 0], () => answers.shift() ?? true)).sent,
    ['READY=1', 'WATCHDOG=1', 'WATCHDOG=1', 'STOPPING=1'],
    'the watchdog is not fed while the process is unhealthy',
  )
  t.strictSame((await run({ NOTIFY_SOCKET: '/x' }, [])).sent, ['READY=1'], 'without a watchdog')
})

t.test('a process on a lifeline is notified when its launcher ends', async t => {
  const isNotified = async (env: Record<string, string>): Promise<boolean> => {
    const stdin = new PassThrough()
    let told = false
    onLauncherGone(env, stdin, () => {
      told = true
    })
    stdin.write('nobody reads this')
    stdin.end()
    await new Promise(done => stdin.destroy().once('close', done))
    return told
  }
  t.equal(await isNotified({ [LIFELINE]: '1' }), true)
  t.equal(await isNotified({}), false, 'and no other')
})
