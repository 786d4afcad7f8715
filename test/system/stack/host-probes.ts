import { readdirSync, readFileSync } from 'node:fs'
import type { Test } from 'tap'
import { operations } from '../../../coordinator/surfaces/catalogue/operations.ts'
import { HOST_PROBES } from '../../../shared/probes/host-probes.ts'
import type { TestStack } from '../../support/stack.ts'
import { waitUntil } from '../../support/wait-until.ts'

const NEEDED: Record<string, string> = {
  // all of them take seconds, which a busy machine does not have
  versions: '?apps=node',
  'process-load': '?names=node',
  'inet-checksite': '?url=http://127.0.0.1:9/',
  'inet-latency': '?host=127.0.0.1',
}

/** Processes whose parent is this one. */
const childrenOf = (pid: number): number[] =>
  readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .filter(name => parentOf(name) === pid)
    .map(Number)

const parentOf = (pid: string): number | undefined => {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
  } catch {
    return undefined
  }
}

/** Helper processes of the daemon with this number; their class is the last argument. */
const helpersOf = (pid: number, helperClass = ''): number[] =>
  childrenOf(pid).filter(child =>
    readFileSync(`/proc/${child}/cmdline`, 'utf8').includes(`helper/child/main.ts\0${helperClass}`),
  )

/** The last of the tests kills the cell and starts it again. */
export const testHostProbes = async (t: Test, stack: TestStack): Promise<void> => {
  const { url, keys, cells, waitForHealth } = stack
  const headers = { authorization: `Bearer ${keys.operator}` }
  const ask = async (path: string) => {
    const response = await fetch(`${url}/v1/cells${path}`, { headers })
    return { status: response.status, body: JSON.parse(await response.text()) }
  }
  const [cell] = (await ask('')).body.cells
  await waitUntil('the cell is linked', async () => (await ask(`/${cell.id}`)).body.linked)
  const shoald = cells[0]?.pid ?? 0
  const probe = (id: string) => ask(`/${cell.id}/host/${id}${NEEDED[id] ?? ''}`)

  await t.test('no helper runs before the first call', async t => {
    t.strictSame(helpersOf(shoald), [])
  })

  for (const { id } of HOST_PROBES)
    await t.test(`${id} answers over the link`, async t => {
      const { status, body } = await probe(id)
      t.equal(status, 200, JSON.stringify(body))
      const operation = operations.find(each => each.id === `host-${id}`)
      t.ok(operation?.output.safeParse(body).success)
      t.equal(body.cell_id, cell.id)
      if (!body.available) t.match(body.reason, /.{10,}/)
    })

  await t.test('targets are refused until the cell allows some', async t => {
    for (const id of ['inet-checksite', 'inet-latency'])
      t.match((await probe(id)).body, { available: false, reason: /probes\.allowed_targets/ })
  })

  await t.test(
    'one helper serves all calls of a class, and a kill -9 during a call loses nothing',
    async t => {
      const [helper = 0, ...more] = helpersOf(shoald, 'host')
      t.strictSame(more, [])
      const answer = probe('current-load')
      process.kill(helper, 'SIGKILL')
      t.match(await answer, { status: 200, body: { available: true } })
      t.not(helpersOf(shoald, 'host')[0], helper)
    },
  )

  await t.test('the environment of the helper contains no secret of the daemon', async t => {
    const [helper] = helpersOf(shoald)
    const environment = readFileSync(`/proc/${helper}/environ`, 'utf8')
    t.notMatch(environment, /SHOAL_/)
  })

  await t.test('the helper ends with its daemon, whatever the cause', async t => {
    const [helper = 0] = helpersOf(shoald)
    await cells[0]?.end('SIGKILL')
    await waitUntil('the helper has ended', () => parentOf(String(helper)) === undefined)
    t.strictSame(helpersOf(shoald), [])
    cells[0]?.start()
    await cells[0]?.line(/"msg":"engine ready"/)
    await waitForHealth(({ cells, models }) => cells === 1 && models > 0)
  })
}
