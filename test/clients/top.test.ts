import t from 'tap'
import { drawRepeatedly } from '../../clients/cli/live-screen.ts'
import type { CliSession } from '../../clients/cli/session.ts'
import { top } from '../../clients/cli/top.ts'
import { type TopCell, type TopData, topView } from '../../clients/cli/top-view.ts'
import { ShoalError } from '../../shared/errors.ts'
import { temporaryFolder } from '../coordinator/kernel/store/temporary.ts'
import { fakeCoordinator } from '../support/fake-coordinator.ts'
import { hasPython, runInTerminal, SHOAL } from '../support/shoal-program.ts'

const cell = (name: string, other: Partial<TopCell> = {}): TopCell => ({
  id: `cell_${name}`,
  name,
  presence: 'ready',
  drained: false,
  labels: {},
  models: ['m'],
  gpu_percent: 50,
  vram_used_percent: 96,
  slots_busy_percent: 0,
  queued: 0,
  ...other,
})

const fleet = (cells: TopCell[], alerts: TopData['alerts']['alerts'] = []): TopData => ({
  cells,
  utilization: {
    composite_percent: 48.6,
    gpu_percent: null,
    vram_percent: 12,
    slots_busy_percent: 0,
    items_per_hour: 7,
    active_cells: 1,
  },
  alerts: { fleet_degraded: alerts.length > 1, alerts },
})

const alert = (message: string) => ({
  level: 'warn',
  rule: 'vram_warn',
  cell_id: 'cell_a',
  message,
  raised_at: '2026-11-20T00:00:00.000Z',
  cleared_at: null,
})

const PLAIN = { columns: 200, rows: 30, colour: false }

t.test('the fleet view', async t => {
  t.test('has a summary, the newest alert and one line per cell, worst first', async t => {
    const cells = [
      cell('b'),
      cell('a', { gpu_percent: null, vram_used_percent: null, queued: null }),
      cell('gone', { presence: 'dead' }),
      cell('old', { presence: 'revoked' }),
    ]
    const lines = topView(fleet(cells, [alert('GPU 0 is full')]), PLAIN).split('\n')
    t.equal(lines[0], 'cells 1/3  load 49 %  gpu -  vram 12 %  slots 0 %  requests/h 7')
    t.equal(lines[1], '1 alert; newest: cell_a: GPU 0 is full')
    t.match(lines[4], /^gone +dead /)
    t.match(lines[5], /^a +ready +- +- +\.{10} +0 % +-$/)
    t.match(lines[6], /^b +ready +#{5}\.{5} +50 % +#{10} +96 % +\.{10} +0 % +0$/)
    t.equal(lines.length, 7)
  })

  t.test('fits the screen and uses colour only where it is supported', async t => {
    const cells = Array.from({ length: 100 }, (_, i) => cell(`c${i}`))
    const small = topView(fleet(cells), { columns: 20, rows: 10, colour: false }).split('\n')
    t.equal(small.length, 9)
    t.equal(small.at(-1), 'and 96 more')
    t.ok(small.slice(0, 4).every(line => line.length <= 20))
    for (const columns of [64, 80, 93, 200]) {
      const lines = topView(fleet(cells), { ...PLAIN, columns }).split('\n')
      t.ok(
        lines.every(line => line.length <= columns),
        `${columns} columns`,
      )
      t.match(lines[4], /50 %.*96 %/, 'a narrow one has the figures at least')
    }
    t.notOk(topView(fleet(cells), PLAIN).includes('\u001b'))
    t.ok(topView(fleet(cells), { ...PLAIN, colour: true }).includes('\u001b[31m##########'))
  })

  t.test('shows a hostile name as plain text', async t => {
    const view = topView(fleet([cell('\u001b]0;x\u0007')], [alert('\u001b[2J')]), PLAIN)
    t.notOk(view.includes('\u001b'))
  })
})

const sessionOf = (answers: (() => unknown)[], written: string[]): CliSession => {
  const next = async (path: string) => {
    if (path === '/v1/cells') answers[0]?.()
    const { cells, utilization, alerts } = fleet([cell('a')])
    if (path === '/v1/cells') return { cells }
    return path === '/v1/alerts' ? alerts : utilization
  }
  const api = { get: next, call: ({ path }: { path: string }) => next(path) }
  return {
    api: api as unknown as CliSession['api'],
    format: 'text',
    write: piece => written.push(piece),
    print: () => {},
  }
}

t.test('shoal top', async t => {
  t.test('redraws until the user leaves, and restores the screen', async t => {
    const written: string[] = []
    const left = new AbortController()
    let draws = 0
    const terminal = {
      isTTY: true,
      screen: () => PLAIN,
      signal: left.signal,
      wait: async () => {
        if (++draws === 3) left.abort()
      },
    }
    await top(sessionOf([], written), terminal, false)
    t.equal(written.length, 5)
    t.match(written[0], /1049h/)
    t.match(written.at(-1), /1049l/)
  })

  t.test('waits for an unreachable coordinator, but exits for a wrong key', async t => {
    for (const [code, ends] of [
      ['coordinator_unavailable', false],
      ['rate_limited', false],
      ['auth_required', true],
      ['forbidden', true],
    ] as const) {
      const written: string[] = []
      const left = new AbortController()
      const fail = () => {
        throw new ShoalError(code, 'no')
      }
      const terminal = {
        isTTY: true,
        screen: () => PLAIN,
        signal: left.signal,
        wait: async () => left.abort(),
      }
      const shown = top(sessionOf([fail], written), terminal, false)
      if (ends) await t.rejects(shown, { code })
      else await shown
      t.equal(
        written.some(piece => piece.includes('trying again')),
        !ends,
      )
      t.match(written.at(-1), /1049l/, 'the screen is put back')
    }
  })

  t.test('reads keys while it draws, and gives the terminal back', async t => {
    for (const answer of [undefined, () => Promise.reject(new ShoalError('forbidden', 'no'))]) {
      const left = new AbortController()
      const seen: string[] = []
      const readKeys = () => {
        seen.push('raw')
        return () => void seen.push('restored')
      }
      const wait = async () => left.abort()
      const { signal } = left
      const terminal = { isTTY: true, screen: () => PLAIN, signal, wait, readKeys }
      const draw = drawRepeatedly(terminal, () => {}, answer ?? (async () => ''))
      await (answer === undefined ? draw : t.rejects(draw, { code: 'forbidden' }))
      t.strictSame(seen, ['raw', 'restored'])
    }
  })

  t.test('ends with q, without an echo of it', { skip: !hasPython }, async t => {
    const { url } = await fakeCoordinator(t, ({ path }) => {
      const { cells, utilization, alerts } = fleet([cell('a')])
      if (path === '/v1/cells') return [200, { cells }]
      return [200, path === '/v1/alerts' ? alerts : utilization]
    })
    const env = { HOME: await temporaryFolder(t), SHOAL_URL: url, SHOAL_KEY: 'k' }
    for (const key of ['q', '\u0003', '\u0004']) {
      const steps = [{ wait: 'cells 1/1', type: key }]
      const { code, out } = await runInTerminal([process.execPath, SHOAL, 'top'], { env, steps })
      t.equal(code, 0)
      t.ok(out.endsWith('\u001b[?1049l'), 'the screen is put back, and nothing stands behind it')
    }
  })

  t.test('prints one screen into a pipe', async t => {
    const written: string[] = []
    const { signal } = new AbortController()
    await top(sessionOf([], written), { isTTY: false, screen: () => PLAIN, signal }, false)
    t.equal(written.length, 1)
    t.notOk(written[0]?.includes('\u001b'))
  })
})
