import { createServer } from 'node:http'
import t, { type Test } from 'tap'
import { type ModuleRunParts, runModule } from '../../../daemon/discovery/run-module.ts'
import { createSpawner } from '../../../daemon/helper/helper-child.ts'
import { Helpers } from '../../../daemon/helper/helpers.ts'
import { ScanItem } from '../../../shared/wire/findings.ts'
import { hasPython } from '../../support/shoal-program.ts'
import { SilentPort } from '../../support/silent-port.ts'
import { waitUntil } from '../../support/wait-until.ts'

const skip = hasPython ? false : 'python3 is not installed: it opens the pseudo-terminal'

const openHelpers = (t: Test): Helpers => {
  const helpers = new Helpers({ spawn: createSpawner(process.env) })
  t.teardown(() => helpers.stop())
  return helpers
}

interface Caller {
  onProgress?: () => void
  signal?: AbortSignal
}

const scan = async (
  helpers: Helpers,
  id: string,
  input: object,
  parts: Partial<ModuleRunParts> = {},
  { onProgress = () => {}, signal = new AbortController().signal }: Caller = {},
): Promise<ScanItem[]> => {
  const all = {
    helpers,
    config: { enabled: true, modules: {} },
    scope: { read: () => ({ entries: [] }) },
    ...parts,
  }
  const items: ScanItem[] = []
  for await (const event of runModule(all, id, input, signal))
    if (event.type === 'item') items.push(ScanItem.parse(event.value))
    else onProgress()
  return items
}

const configOf = ({ path }: SilentPort): ModuleRunParts['config'] => ({
  enabled: true,
  modules: { 'ble-scan': { uart: { port: path, baud_rate: 115_200 }, is_simulated: true } },
})

t.test('a controller that never answers is reported as such', { skip }, async t => {
  await using silent = await SilentPort.open()
  const config = configOf(silent)
  const items = await scan(openHelpers(t), 'ble-scan', { timeout: 1 }, { config })
  t.match(items, [{ type: 'unavailable', reason: /Bluetooth/ }])
})

t.test('a radio helper that hangs delays no other scan, and is replaced', { skip }, async t => {
  await using silent = await SilentPort.open()
  const helpers = openHelpers(t)
  const config = configOf(silent)
  const server = createServer((_request, response) => response.end('hello'))
  await new Promise<void>(done => server.listen(0, '127.0.0.1', done))
  t.teardown(() => server.close())
  const started = Promise.withResolvers<void>()
  const leave = new AbortController()
  let isHanging = true
  const hanging = scan(
    helpers,
    'ble-scan',
    { timeout: 60 },
    { config },
    {
      onProgress: started.resolve,
      signal: leave.signal,
    },
  )
  const ended = hanging.finally(() => {
    isHanging = false
  })
  await started.promise
  const pid = helpers.get('radio').pid as number
  process.kill(pid, 'SIGSTOP')
  const { port } = server.address() as { port: number }
  // a page that is late on a busy machine is a warning
  const findPage = async () => {
    const items = await scan(helpers, 'http-fingerprint', { host: '127.0.0.1', port })
    return items.find(({ type }) => type === 'row')
  }
  t.match(await waitUntil('the other helper finds the page', findPage), { row: { port } })
  t.ok(isHanging, 'the other helper answered meanwhile')
  leave.abort()
  await t.rejects(ended, { message: 'it was cancelled' })
  await waitUntil('the hung process is gone', () => !isRunning(pid))
  t.ok((await scan(helpers, 'wifi-scan', {})).length > 0, 'a new process answers')
})

const isRunning = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
